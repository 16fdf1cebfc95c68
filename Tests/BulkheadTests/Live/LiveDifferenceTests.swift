import Testing

@testable import Bulkhead

/// A difference makes the new rows of the old ones, and no longer than it need be.
@Suite struct LiveDifferenceTests {
    private func rows(_ numbers: [Int]) -> LiveRows<Line> {
        var rows = LiveRows<Line>()
        for number in numbers { rows.append(RowID("\(number / 10)"), Line("\(number)")) }
        return rows
    }

    @Test(arguments: 0..<300) func anyOrderBecomesAnyOther(_ seed: UInt64) {
        var random = SplitMix(state: seed)
        let old = (0..<random.below(30)).map { $0 * 10 }.shuffled(using: &random)
        var new = old.filter { _ in random.below(3) > 0 }.map { $0 + random.below(2) }
        if random.below(2) == 0 { new.shuffle(using: &random) }
        for number in 100..<100 + random.below(10) {
            new.insert(number * 10, at: random.below(new.count + 1))
        }
        let (before, after) = (rows(old), rows(new))
        let snapshot = after.snapshot(after: before, origins: after.origins(in: before))
        #expect(snapshot.applied(to: before.rows) == after.rows)
        #expect(
            snapshot.difference.deleted.count
                == Set(old.map { $0 / 10 }).subtracting(new.map { $0 / 10 }).count
        )
    }

    @Test func oneRowThatMovesIsOneMove() {
        let before = rows([0, 10, 20, 30, 40])
        for new in [[40, 0, 10, 20, 30], [10, 20, 30, 40, 0], [0, 30, 10, 20, 40]] {
            let after = rows(new)
            let difference = after.snapshot(after: before, origins: after.origins(in: before))
                .difference
            #expect(difference.moved.count == 1)
            #expect(difference.updated.isEmpty)
        }
    }
}
