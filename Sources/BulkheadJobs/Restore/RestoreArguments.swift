internal import Bulkhead

/// What a restore is to do: the `args` of its job, under the names of `bulkhead.restore`.
struct RestoreArguments: Decodable {
    /// The purge.
    var job: Int64
    var onConflict: MergePolicy

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case job
        case onConflict = "on_conflict"
    }

    /// Reads the args of a job; an argument that is unknown is refused, never ignored.
    ///
    /// - Throws: `JobFailure`.
    init(_ args: JSONText) throws {
        self = try args.decodeArguments(
            of: "bulkhead.restore",
            names: CodingKeys.allCases.map(\.rawValue)
        )
    }
}
