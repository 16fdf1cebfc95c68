/// How much of a file is held in memory, in bytes.
struct ReadLimits: Sendable, Equatable {
    /// A longer record is passed over, and rejected.
    var record = 64 << 20
    /// The first bytes of such a record, which its reject shows.
    var kept = 64 << 10
    /// What is read at once.
    var chunk = 256 << 10

    static let standard = ReadLimits()

    /// What `record` can be.
    static let records = 1...1 << 30

    /// The same limits, none so small or so great that reading could not go on.
    var sane: ReadLimits {
        ReadLimits(
            record: min(max(record, Self.records.lowerBound), Self.records.upperBound),
            kept: min(max(kept, 0), 1 << 30),
            chunk: min(max(chunk, 4), 1 << 30)
        )
    }
}
