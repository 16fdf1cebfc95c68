public import Postgres

/// The changes of the feed from a place on, each of them once, as long as someone asks for the next.
///
/// It outlives restarts of the server, sockets that die in silence, and a failover that a client can
/// reach by the same address. It holds one page of changes in memory.
///
///     for try await change in ChangeFeed(address, since: .token(kept)) {
///         try await refresh(change)
///         keep(change.token)
///     }
///
/// Every iterator has a connection and a thread of its own, until it goes.
public struct ChangeFeed: AsyncSequence, Sendable {
    /// One change.
    public typealias Element = Change

    /// Where to begin.
    public enum Start: Sendable, Hashable {
        /// With what comes after the iterator has connected.
        case now
        /// With the oldest change that is kept.
        case oldest
        /// After the place that a token names.
        case token(String)
    }

    /// The database.
    public var address: DatabaseAddress
    /// Where to begin.
    public var start: Start
    /// The tables, by the names that the feed gives them; nil for all.
    public var relations: [String]?
    /// How it looks and waits.
    public var settings = FeedSettings()
    /// The most changes that are in memory at once.
    public var page = 500
    /// Describes a feed with the usual settings.
    public init(
        _ address: DatabaseAddress,
        since start: Start = .now,
        of relations: [String]? = nil
    ) {
        self.address = address
        self.start = start
        self.relations = relations
    }

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator {
        Iterator(session: FeedSession(self))
    }

    /// Reads the feed, page by page.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let session: FeedSession
        private var page: ArraySlice<Change> = []

        fileprivate init(session: FeedSession) {
            self.session = session
        }

        /// Connects and finds its place, unless it has.
        ///
        /// - Throws: When the database cannot be reached, or the token is none that it knows.
        public func connect() async throws {
            try await session.start()
        }

        /// The next change, as soon as there is one; nil when the task was cancelled.
        ///
        /// - Throws: `TokenExpired`, or what trying again does not mend. The first connection is not
        ///   tried again.
        public mutating func next() async throws -> Change? {
            if page.isEmpty { page = try await session.nextPage()[...] }
            return page.popFirst()
        }

        /// The same, for a caller that is isolated.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> Change? {
            if page.isEmpty { page = try await session.nextPage()[...] }
            return page.popFirst()
        }
    }
}
