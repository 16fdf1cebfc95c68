internal import Bulkhead

/// What a migration is to do: the `args` of its job, as `bulkhead.migrate` writes them.
struct MigrationArguments: Decodable {
    let files: [File]
    /// Whether these are all files that there are.
    let complete: Bool?
    /// Whether files older than the newest applied one are run all the same.
    let outOfOrder: Bool?
    /// The number up to which files are applied.
    let to: [UInt64]?
    /// The number above which files are taken back.
    let down: [UInt64]?
    private let maxBlockMilliseconds: Int?
    private let lockSeconds: Double?
    let searchPath: String?

    struct File: Decodable {
        let name: String
        let text: String
        let down: String?
        let checksum: String
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case files, complete
        case outOfOrder = "out_of_order"
        case to, down
        case maxBlockMilliseconds = "max_block"
        case lockSeconds = "lock_timeout_total"
        case searchPath = "search_path"
    }

    /// Reads the args of a job; an argument that is unknown is refused, never ignored.
    ///
    /// - Throws: `JobFailure`.
    init(_ args: JSONText) throws {
        self = try args.decodeArguments(
            of: "bulkhead.migrate",
            names: CodingKeys.allCases.map(\.rawValue)
        )
    }

    /// The longest wait for a lock.
    var maxBlock: Duration { .milliseconds(maxBlockMilliseconds ?? 500) }

    /// How long a step tries to get its locks.
    var lockTotal: Duration { .seconds(lockSeconds ?? 900) }
}
