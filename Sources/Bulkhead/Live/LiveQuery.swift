public import Postgres

/// A query's result, and what it becomes as its tables change.
///
/// The first snapshot is the result as it is; each later one comes when something of it has changed. Of a table
/// with a primary key only the rows that the feed names are read again:
///
///     let late = LiveQuery(
///         address, of: "flights", columns: "flight, arr_delay", where: "arr_delay > \(60)",
///         orderBy: "arr_delay desc"
///     ) { row, n in Flight(number: try row.required(n, 0), delay: try row.required(n, 1)) }
///     for try await snapshot in late { show(snapshot.rows, snapshot.difference) }
///
/// Every snapshot is the result at one moment: what the feed says and the rows are read in one REPEATABLE READ
/// transaction. It changes with what enters the feed: what jobs of Bulkhead do, and of a tracked table
/// (`bulkhead.track`) what anyone does. A filter that names `now()` or another function that changes by itself is
/// evaluated when a row is read, not as time goes by.
///
/// Nothing is queued: who asks late is given the newest snapshot, with its difference from the one they were given
/// before. Every iterator holds the rows of the result in memory, and a connection and a thread of its own, until
/// it goes. The role needs SELECT on the table, and what `bulkhead.grant_reader` gives.
public struct LiveQuery<Row: Sendable & Equatable>: AsyncSequence, Sendable {
    /// The result at one moment.
    public typealias Element = LiveSnapshot<Row>
    /// Makes a row of the sequence from one of the server's, on the iterator's thread.
    public typealias Decode = @Sendable (_ rows: borrowing Rows, _ row: Int) throws -> Row

    let address: DatabaseAddress
    let source: LiveSource
    let decode: Decode

    /// How it follows the feed.
    public var settings = FeedSettings()
    /// How long it waits for more once it has heard of a change, so that changes that come together are one.
    public var burst: Duration = .milliseconds(50)
    /// How long the server may take to read rows before the connection counts as dead.
    public var readingPatience: Duration = .seconds(120)
    /// The most changes of the feed that are in memory at once.
    public var page = 500
    /// What reading and placing one row again is taken to cost: when it would be more than all rows cost last
    /// time, all are read.
    ///
    /// (Measured on a local socket; elsewhere both take longer.)
    package var costOfID: Duration = .microseconds(30)

    /// Describes a query of one table.
    ///
    /// In all parts `t` stands for the table, and interpolated values become parameters.
    ///
    /// - Parameters:
    ///   - address: The database.
    ///   - table: The table's name, as SQL writes it.
    ///   - columns: What `decode` finds in a row, in this order.
    ///   - filter: A condition; all rows when not given.
    ///   - order: What follows ORDER BY. The primary key ends every order, and is the order when none is given.
    ///   - limit: The most rows. With a limit all are read again at each change.
    ///   - decode: Makes a row.
    public init(
        _ address: DatabaseAddress,
        of table: String,
        columns: SQL = "*",
        where filter: SQL? = nil,
        orderBy order: SQL? = nil,
        limit: Int? = nil,
        decode: @escaping Decode
    ) {
        self.address = address
        self.decode = decode
        source = .table(
            LiveTable(name: table, columns: columns, filter: filter, order: order, limit: limit)
        )
    }

    /// Describes a query of any kind, which is run again at each change of its tables.
    ///
    /// - Parameters:
    ///   - address: The database.
    ///   - statement: The query.
    ///   - tables: All tables that it depends on, by their names as SQL writes them.
    ///   - key: A column of the result that tells its rows apart; without one, their whole text does, and a row
    ///     that changes is one that goes and another that comes.
    ///   - decode: Makes a row.
    public init(
        _ address: DatabaseAddress,
        running statement: SQL,
        dependingOn tables: [String],
        key: String? = nil,
        decode: @escaping Decode
    ) {
        self.address = address
        self.decode = decode
        source = .statement(statement, tables: tables, key: key)
    }

    /// Begins to follow it.
    public func makeAsyncIterator() -> Iterator {
        Iterator(session: LiveSession(self))
    }

    /// Gives the snapshots of a query.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let session: LiveSession<Row>

        /// The next snapshot, as soon as it differs from the last; nil when the task was cancelled.
        ///
        /// - Throws: What trying again does not mend, as `PostgresError`: a filter that is none, a column that is
        ///   gone. The first connection is not tried again.
        public func next() async throws -> LiveSnapshot<Row>? {
            try await session.next()
        }

        /// The same, for a caller that is isolated.
        public func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> LiveSnapshot<Row>? {
            try await session.next()
        }
    }
}
