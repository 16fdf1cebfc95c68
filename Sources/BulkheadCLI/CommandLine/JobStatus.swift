internal import Bulkhead
internal import Postgres

/// A job as `bulkhead.job_status` shows it.
struct JobStatus {
    let id: Int64
    let kind: String
    let queue: String
    let state: String
    let host: String?
    let percent: Double?
    let rowsDone: Int64
    let rate: Double?
    let secondsLeft: Double?
    let seconds: Double?
    let result: String?
    let lastError: String?
    let attempt: Int32
    /// What it waits for, in words that begin with `waiting:`.
    let waiting: String?
    let json: JSONText

    var isFinished: Bool { ["completed", "cancelled", "discarded"].contains(state) }

    /// - Throws: `UnknownJob`.
    static func find(_ id: Int64, _ connection: Connection) throws -> JobStatus {
        let jobs = try query("where id = \(id)", connection)
        guard let job = jobs.first else { throw UnknownJob(id: id) }
        return job
    }

    /// Jobs by a condition and order.
    static func query(_ suffix: SQL, _ connection: Connection) throws -> [JobStatus] {
        let query: SQL = """
            select id, kind, queue, state, host, percent, rows_done, rows_per_second,
                extract(epoch from eta), extract(epoch from runtime), result::text, last_error, attempt,
                'waiting: ' || waiting, to_jsonb(s)::text
            from bulkhead.job_status s \(suffix)
            """
        return try connection.transaction { connection in
            let rows = try connection.query(query)
            return try (0..<rows.count).map { try JobStatus(rows, $0) }
        }
    }

    private init(_ rows: borrowing Rows, _ row: Int) throws {
        id = try rows.required(row, 0)
        kind = try rows.required(row, 1)
        queue = try rows.required(row, 2)
        state = try rows.required(row, 3)
        host = try rows.value(row, 4)
        percent = try rows.value(row, 5)
        rowsDone = try rows.required(row, 6)
        rate = try rows.value(row, 7)
        secondsLeft = try rows.value(row, 8)
        seconds = try rows.value(row, 9)
        result = try rows.value(row, 10)
        lastError = try rows.value(row, 11)
        attempt = try rows.required(row, 12)
        waiting = try rows.value(row, 13)
        json = JSONText(try rows.required(row, 14))
    }

    /// The figures of the result that are not zero, and the time that it took.
    var summary: String {
        let figures = figures
        var shown = figures.filter { $0.count > 0 }
        // Nothing done is a figure too.
        if shown.isEmpty, let first = figures.first { shown = [first] }
        var parts = shown.map { "\(grouped($0.count)) \($0.name)" }
        if let firstLeft { parts.append("the first that was left is \(firstLeft)") }
        if let seconds { parts.append(Duration.seconds(seconds).shown) }
        return parts.joined(separator: ", ")
    }

    /// The figures of a built-in kind's result; a handler's own may be anything.
    private var figures: [(name: String, count: Int64)] {
        struct Figures: Decodable {
            let read, inserted, updated, unchanged, skipped, rejected: Int64?
            let deleted, cascaded, archived, restored, blocked, left: Int64?
            let dropped_partitions: Int64?
            let steps, rows: Int64?
        }
        guard let result else { return [] }
        do {
            let figures: Figures = try JSONText(result).decode()
            return [
                ("read", figures.read), ("inserted", figures.inserted),
                ("updated", figures.updated), ("unchanged", figures.unchanged),
                ("skipped", figures.skipped), ("rejected", figures.rejected),
                ("deleted", figures.deleted), ("restored", figures.restored),
                ("cascaded", figures.cascaded), ("archived", figures.archived),
                ("partitions dropped", figures.dropped_partitions),
                ("blocked by references", figures.blocked), ("left", figures.left),
                ("steps", figures.steps),
                ("rows changed", kind == "migration" ? figures.rows : nil),
            ].compactMap { name, count in count.map { (name, $0) } }
        } catch {
            return []
        }
    }

    /// The first row that a purge left, if it left any.
    private var firstLeft: String? {
        struct Left: Decodable {
            let first_left: String?
        }
        guard let result else { return nil }
        do {
            return try JSONText(result).decode(Left.self).first_left
        } catch {
            return nil
        }
    }

    /// A sentence when the job's queue is paused, or no daemon that is alive could run it.
    func hindrance(_ connection: Connection) throws -> String? {
        let (isServed, isPaused) = try connection.transaction { connection in
            let row = try connection.query(
                """
                select exists (
                    select from bulkhead.daemon_status
                    where alive and \(queue) = any (queues) and \(kind) = any (kinds)
                        and coalesce(\(host)::text, host) = host),
                    exists (select from bulkhead.queue where name = \(queue) and paused)
                """
            )
            return (try row.required(0, 0, as: Bool.self), try row.required(0, 1, as: Bool.self))
        }
        if isPaused { return "queue \(queue) is paused: bulkhead queue resume \(queue)" }
        if isServed { return nil }
        let place = host.map { " on host \($0)" } ?? ""
        return "no daemon that is alive\(place) runs jobs of kind \(kind) in queue \(queue): "
            + "start one with `bulkhead worker`"
    }
}

/// There is no such job.
struct UnknownJob: Error, CustomStringConvertible {
    let id: Int64

    var description: String { "there is no job \(id)" }
}
