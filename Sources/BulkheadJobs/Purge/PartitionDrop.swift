internal import Bulkhead

/// Drops partitions whole.
struct PartitionDrop {
    init(_ context: JobContext, _ table: PurgeTable, _ arguments: PurgeArguments) {}
    func run() async throws {}
}
