import Bulkhead
import Postgres

@testable import BulkheadJobs

/// What an import left: how it ended, its figures, rejects and changes.
struct LoadedJob: Sendable {
    let id: Int64
    let state: String
    let totals: ImportTotals
    let batches: Int
    let attempt: Int
    /// Of the last attempt.
    let error: String?
    let sqlstate: String?
    let position: String?
    let rejects: [SeenReject]
    /// The ids of the feed, as one JSON array after another; `null` where it says to read again.
    let changes: [String]
    let relations: [String]

    init(_ id: Int64, _ connection: Connection) throws {
        self.id = id
        let job = try connection.query(
            "select state, result::text, batches, attempt from bulkhead.job where id = \(id)"
        )
        state = try job.required(0, 0)
        totals = try job.value(0, 1, as: String.self).map { try JSONText($0).decode() } ?? ImportTotals()
        batches = try job.required(0, 2)
        attempt = try job.required(0, 3)
        let errors = try connection.query(
            """
            select message, sqlstate, "position" from bulkhead.job_error where job = \(id)
            order by id desc limit 1
            """
        )
        error = errors.isEmpty ? nil : try errors.value(0, 0)
        sqlstate = errors.isEmpty ? nil : try errors.value(0, 1)
        position = errors.isEmpty ? nil : try errors.value(0, 2)
        rejects = try Self.rejects(of: id, connection)
        let feed = try connection.query(
            """
            select coalesce(ids::text, 'null'), relation from bulkhead.change where job = \(id) order by id
            """
        )
        changes = try (0..<feed.count).map { try feed.required($0, 0) }
        relations = try (0..<feed.count).map { try feed.required($0, 1) }
    }

    /// The keys in the feed, sorted as text; each as JSON.
    var ids: [String] {
        get throws {
            try changes.flatMap { try JSONText($0).decode([FeedID].self) }.map(\.text).sorted()
        }
    }

    private static func rejects(of job: Int64, _ connection: Connection) throws -> [SeenReject] {
        let rows = try connection.query(
            """
            select file, line, column_name, value, sqlstate, message, encode(raw, 'escape'), byte_offset
            from bulkhead.reject where job = \(job) order by file, line, id
            """
        )
        return try (0..<rows.count).map { row in
            SeenReject(
                file: try rows.required(row, 0),
                line: try rows.required(row, 1),
                column: try rows.value(row, 2),
                value: try rows.value(row, 3),
                sqlstate: try rows.required(row, 4),
                message: try rows.required(row, 5),
                raw: try rows.required(row, 6),
                offset: try rows.required(row, 7)
            )
        }
    }
}

/// One row of `bulkhead.reject`.
struct SeenReject: Sendable, Equatable {
    let file: String
    let line: Int
    let column: String?
    let value: String?
    let sqlstate: String
    let message: String
    let raw: String
    let offset: Int
}

/// A key in the feed: a number, a text, or several.
enum FeedID: Decodable, Equatable {
    case number(Int64)
    case text(String)
    case composite([FeedID])

    init(from decoder: any Decoder) throws {
        if var list = try? decoder.unkeyedContainer() {
            var parts: [FeedID] = []
            while !list.isAtEnd { parts.append(try list.decode(FeedID.self)) }
            self = .composite(parts)
            return
        }
        let value = try decoder.singleValueContainer()
        if let number = try? value.decode(Int64.self) {
            self = .number(number)
        } else {
            self = .text(try value.decode(String.self))
        }
    }

    /// Numbers bare, texts in quotes, so that neither is taken for the other.
    var text: String {
        switch self {
        case .number(let number): "\(number)"
        case .text(let text): "\"\(text)\""
        case .composite(let parts): "[\(parts.map(\.text).joined(separator: ","))]"
        }
    }
}
