/// How many rows went in, and how many stored ones were changed or had nothing to be changed.
///
/// Where nothing drops rows, those that are unchanged are what is left, and nobody counts them.
struct MergeCounts: Equatable {
    var inserted = 0
    var updated = 0
    var unchanged: Int?

    static func + (one: MergeCounts, other: MergeCounts) -> MergeCounts {
        MergeCounts(
            inserted: one.inserted + other.inserted,
            updated: one.updated + other.updated,
            unchanged: one.unchanged.flatMap { mine in other.unchanged.map { mine + $0 } }
        )
    }
}
