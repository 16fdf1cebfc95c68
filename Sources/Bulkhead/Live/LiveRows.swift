/// The rows of a query's result, in order, each with what tells it from the others.
struct LiveRows<Row: Sendable & Equatable>: Sendable {
    var ids: [RowID] = []
    var rows: [Row] = []

    mutating func append(_ id: RowID, _ row: Row) {
        ids.append(id)
        rows.append(row)
    }

    /// These rows as a snapshot that comes after others, which were read before.
    func snapshot(after old: LiveRows, origins: [Int?]) -> LiveSnapshot<Row> {
        let difference = LiveDifference(origins: origins, oldCount: old.rows.count) {
            old.rows[$0] != rows[$1]
        }
        return LiveSnapshot(rows: rows, ids: ids, difference: difference)
    }

    /// Where each row was in others.
    func origins(in old: LiveRows) -> [Int?] {
        var places: [RowID: Int] = [:]
        for (place, id) in old.ids.enumerated() { places[id] = place }
        return ids.map { places[$0] }
    }

    /// The kept ones of the rows, with others put in among them, and where each was before.
    ///
    /// The others ascend by their gap, the number of kept rows before them.
    func keeping(
        _ kept: [Int],
        with arrivals: [(gap: Int, id: RowID, row: Row)],
        from places: [RowID: Int]
    ) -> (rows: LiveRows, origins: [Int?]) {
        var result = LiveRows()
        result.ids.reserveCapacity(kept.count + arrivals.count)
        result.rows.reserveCapacity(kept.count + arrivals.count)
        var origins: [Int?] = []
        origins.reserveCapacity(kept.count + arrivals.count)
        var done = 0
        func keep(upTo end: Int) {
            for place in kept[done..<end] {
                result.append(ids[place], rows[place])
                origins.append(place)
            }
            done = end
        }
        for arrival in arrivals {
            keep(upTo: arrival.gap)
            result.append(arrival.id, arrival.row)
            origins.append(places[arrival.id])
        }
        keep(upTo: kept.count)
        return (result, origins)
    }
}
