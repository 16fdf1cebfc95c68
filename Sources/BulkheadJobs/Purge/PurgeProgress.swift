internal import Bulkhead

/// What a purge has fixed at its start, and how far it is.
struct PurgeCheckpoint: Codable {
    /// The table, by its oid: another one may take its name.
    let table: Int64
    /// The rows to delete, as SQL over the table's alias.
    let condition: String
    /// Where they are chosen by their age: the value that they are below, as SQL.
    let cutoff: String?
    /// The tables that are walked, by their oids.
    var grounds: [Int64]
    /// Which of them is next.
    var ground = 0
    /// How far the walk through it is; nil before it.
    var position: WalkPosition?
    /// 0 in the first pass, then the number of the sweep.
    var sweep = 0
    /// What this pass has deleted and left.
    var deletedInPass: Int64 = 0
    var leftInPass = Left()
    /// What the pass before it left.
    var leftBefore: Int64?
    /// A partition that is being detached to be dropped.
    var dropping: Int64?
    var isSwept = false

    /// Rows that match and are still there.
    struct Left: Codable {
        /// What refers to them keeps them.
        var blocked: Int64 = 0
        /// Locked by somebody, or kept by a trigger or by row security.
        var kept: Int64 = 0
        /// The first of them.
        var first: String?
    }
}

/// The account of a purge: the `result` of its job.
struct PurgeReport: Codable {
    var deleted: Int64 = 0
    /// Rows of other tables that went with them.
    var cascaded: Int64 = 0
    var archived: Int64?
    /// Partitions that were dropped whole; their rows count as deleted.
    var droppedPartitions: Int64?
    /// Rows that match and were left, since others refer to them.
    var blocked: Int64 = 0
    /// Rows that match and were left for another reason.
    var left: Int64 = 0
    var firstLeft: String?
    /// The share of the table's rows that are dead now, from 0 to 1, as the server's statistics know it.
    var deadShare: Double?

    private enum CodingKeys: String, CodingKey {
        case deleted, cascaded, archived
        case droppedPartitions = "dropped_partitions"
        case blocked, left
        case firstLeft = "first_left"
        case deadShare = "dead_share"
    }
}

/// A purge's committed state, as the engine keeps it.
struct PurgeProgress {
    var checkpoint: PurgeCheckpoint
    var report = PurgeReport()
    var expected: Int64?

    init(_ checkpoint: PurgeCheckpoint, expected: Int64?) {
        self.checkpoint = checkpoint
        self.expected = expected
    }

    /// Reads it back; nil for a job that has not begun.
    init?(_ progress: Progress) throws {
        guard let text = progress.checkpoint else { return nil }
        checkpoint = try text.decode()
        if let text = progress.result { report = try text.decode() }
        expected = progress.rowsTotal
    }

    /// The same for the engine.
    func stored() throws -> Progress {
        Progress(
            checkpoint: try JSONText(encoding: checkpoint),
            rowsDone: report.deleted,
            rowsTotal: expected.map { max($0, report.deleted) },
            result: try JSONText(encoding: report)
        )
    }
}

extension JobContext {
    /// How far the purge is.
    func purgeProgress() throws -> PurgeProgress {
        guard let progress = try PurgeProgress(progress) else {
            throw JobFailure("the checkpoint of this purge is gone")
        }
        return progress
    }

    /// Commits how far the purge is, with nothing else.
    func commit(_ progress: PurgeProgress) async throws {
        let stored = try progress.stored()
        try await batch { _ in stored }
    }
}
