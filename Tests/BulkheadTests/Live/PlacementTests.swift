import Testing

@testable import Bulkhead

/// Places are found by asking for the order of a few.
@Suite struct PlacementTests {
    /// Numbers stand for rows: even ones are known, odd ones are sought.
    private func questions(_ count: Int, _ sought: [Int], guesses: [Int?]) throws -> (
        number: Int, members: Int
    ) {
        func value(_ member: Placement.Member) -> Int {
            switch member {
            case .known(let place): 2 * place
            case .new(let row): sought[row]
            }
        }
        var placement = Placement(among: count, guesses: guesses)
        var (number, members) = (0, 0)
        while !placement.isDone {
            let question = placement.question()
            #expect(Set(question).count == question.count)
            let agrees = placement.learn(question.sorted { value($0) < value($1) })
            try #require(agrees)
            number += 1
            members += question.count
            try #require(number < 30)
        }
        #expect(placement.order?.map { sought[$0] } == sought.sorted())
        for row in sought.indices {
            #expect(placement.gap(row) == min(count, max(0, (sought[row] + 1) / 2)))
        }
        return (number, members)
    }

    @Test(arguments: 0..<200) func placesAreFound(_ seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let count = [0, 1, 2, 3, 10, 1000, 100_000][random.below(7)]
        var sought = Set<Int>()
        for _ in 0..<random.below([2, 10, 1000][random.below(3)]) {
            sought.insert(2 * random.below(count + 2) - 1)
        }
        let guesses = sought.map { _ in
            random.below(2) == 0 ? nil : random.below(count + 1)
        }
        _ = try questions(count, sought.shuffled(using: &random), guesses: guesses)
    }

    @Test func tenAmongAMillionTakeThreeQuestionsAndOneWhereNothingMoves() throws {
        var random = SplitMix(state: 1)
        let sought = Array(Set((0..<10).map { _ in 2 * random.below(1_000_000) + 1 }))
        let far = try questions(1_000_000, sought, guesses: sought.map { _ in nil })
        #expect(far.number <= 3)
        #expect(far.members < 2000)
        let near = try questions(1_000_000, sought, guesses: sought.map { ($0 + 1) / 2 })
        #expect(near.number == 1)
    }

    @Test func anOrderThatContradictsTheKnownOneIsRefused() {
        var placement = Placement(among: 10, guesses: [nil])
        let agrees = placement.learn([.known(5), .new(0), .known(4)])
        #expect(!agrees)
    }
}
