internal import Bulkhead
internal import Glibc
internal import Postgres
internal import Signals

/// Prints the feed as it goes on.
enum WatchVerb: Verb {
    static let name = "watch"
    static let summary = "Print the changes of tables as JSON lines, as they come"
    static let synopsis = "[TABLE]... [--since TOKEN|now|start]"
    static let options: [Option] = [
        .value(
            "--since",
            "WHERE",
            "after this token, from now on (now), or all that is kept (start)"
        )
    ]
    static let example = "bulkhead watch flights --since now"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let feed = try await feed(arguments, terminal)
        let ending = WatchEnding()
        let printing = Task { try await print(feed, terminal) }
        ending.start { printing.cancel() }
        do {
            try await printing.value
        } catch let error as TokenExpired {
            Terminal.error("\(error)")
            return .failed
        }
        return ending.status
    }

    private static func print(_ feed: ChangeFeed, _ terminal: Terminal) async throws {
        var changes = feed.makeAsyncIterator()
        do {
            try await changes.connect()
        } catch let error as PostgresError {
            switch error.kind {
            case .unavailable, .connectionLost:
                throw NoDatabase("cannot connect to \(feed.address): \(error)")
            default:
                // What was given as a token is none.
                throw error.state?.rawValue == "22023" ? UsageError(error.message) : error
            }
        }
        while let change = try await changes.next() {
            try terminal.result(line(change))
        }
    }

    /// Looks everything up first, so that what is wrong is said at once.
    private static func feed(_ arguments: Arguments, _ terminal: Terminal) async throws
        -> ChangeFeed
    {
        let tables = arguments.operands
        let relations: [String] = try await Database.use(arguments) { connection in
            try Installation(connection).requireCurrent()
            return try connection.transaction { connection in
                try tables.map { table in
                    try connection.query(
                        """
                        select k.relation
                        from bulkhead.feed_key(bulkhead.resolve_table(\(table))::regclass) k
                        """
                    ).required(0, 0)
                }
            }
        }
        let start: ChangeFeed.Start =
            switch arguments.text("--since") {
            case nil, "now": .now
            case "start": .oldest
            case let token?: .token(token)
            }
        var feed = ChangeFeed(
            try Database.address(arguments),
            since: start,
            of: tables.isEmpty ? nil : relations
        )
        feed.settings.note = { terminal.note("bulkhead: \($0)") }
        return feed
    }

    /// A change as an object with the names of the table's columns, and the token after it.
    private static func line(_ change: Change) throws -> String {
        let relation = try JSONText(encoding: change.relation)
        let token = try JSONText(encoding: change.token)
        return
            "{\"id\":\(change.id),\"relation\":\(relation),\"operation\":\"\(change.operation.rawValue)\","
            + "\"ids\":\(change.ids?.text ?? "null"),\"job\":\(change.job.map { "\($0)" } ?? "null"),"
            + "\"at\":\"\(change.at)\",\"token\":\(token)}"
    }
}
