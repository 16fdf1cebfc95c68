internal import Postgres

/// Brings rows up to date with some ids of the feed, inside a transaction that sees one moment.
struct Reread<Row: Sendable & Equatable> {
    let connection: FeedConnection
    let table: LiveTable
    let feedTable: FeedTable
    let key: FeedTable.Key
    let decode: @Sendable (_ rows: borrowing Rows, _ row: Int) throws -> Row
    let patience: Duration

    /// What the ids are now.
    private struct Answer {
        var asked: Set<RowID> = []
        var found: [(id: RowID, row: Row)] = []
    }

    /// The rows as they are now, and where each was before.
    ///
    /// Nil when the server tells another order of the rows that nobody is said to have changed, or lacks one:
    /// someone has changed them unheard.
    func callAsFunction(
        _ ids: Set<RowID>,
        in held: LiveRows<Row>
    ) async throws -> (rows: LiveRows<Row>, origins: [Int?])? {
        let answer = try await read(ids)
        var kept: [Int] = []
        kept.reserveCapacity(held.ids.count)
        var (places, gaps): ([RowID: Int], [RowID: Int]) = ([:], [:])
        for (place, id) in held.ids.enumerated() {
            guard answer.asked.contains(id) else {
                kept.append(place)
                continue
            }
            places[id] = place
            gaps[id] = kept.count
        }
        var placement = Placement(
            among: kept.count,
            guesses: answer.found.map { gaps[$0.id] }
        )
        while !placement.isDone {
            let order = try await order(placement.question()) { member in
                switch member {
                case .known(let place): held.ids[kept[place]]
                case .new(let row): answer.found[row].id
                }
            }
            guard let order, placement.learn(order) else { return nil }
        }
        let arrivals = (placement.order ?? []).map { row in
            (gap: placement.gap(row), id: answer.found[row].id, row: answer.found[row].row)
        }
        return held.keeping(kept, with: arrivals, from: places)
    }

    private func read(_ ids: Set<RowID>) async throws -> Answer {
        var rows = try await connection.query(
            table.some(of: feedTable, key, ids: Self.array(ids)),
            within: patience
        )
        let columns = rows.columnCount - 2
        var answer = Answer()
        var found: [(id: RowID, row: Int)] = []
        for row in 0..<rows.count {
            // No row has a key of NULL.
            guard let text: String = try rows.value(row, columns + 1) else { continue }
            let id = RowID(text)
            answer.asked.insert(id)
            if try rows.value(row, columns) == true { found.append((id, row)) }
        }
        rows.hideLastColumns(2)
        for (id, row) in found { answer.found.append((id, try decode(rows, row))) }
        return answer
    }

    /// Lets the server put rows in order; nil when it does not find all of them.
    private func order(
        _ members: [Placement.Member],
        id: (Placement.Member) -> RowID
    ) async throws -> [Placement.Member]? {
        var byID: [RowID: Placement.Member] = [:]
        for member in members { byID[id(member)] = member }
        let rows = try await connection.query(
            table.order(of: feedTable, key, ids: Self.array(byID.keys)),
            within: patience
        )
        let order = try (0..<rows.count).compactMap { byID[RowID(try rows.required($0, 0))] }
        return order.count == members.count ? order : nil
    }

    private static func array(_ ids: some Sequence<RowID>) -> JSONText {
        JSONText("[" + ids.map(\.text).joined(separator: ",") + "]")
    }
}
