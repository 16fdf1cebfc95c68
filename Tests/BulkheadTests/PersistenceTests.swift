import Postgres
import Testing

@testable import Bulkhead

@Suite struct PersistenceTests {
    private func delays(
        _ kind: PostgresError.Kind,
        _ count: Int,
        took: Duration = .zero,
        patience: Duration = .seconds(300),
        random: Double = 1
    ) -> [Duration?] {
        var persistence = Persistence(patience: patience)
        return (0..<count).map { _ in
            if case .tryAgain(let delay) = persistence.failed(kind, took: took, random: random) {
                delay
            } else {
                nil
            }
        }
    }

    @Test func delaysDoubleToFiveSeconds() {
        let delays = delays(.transient, 10).compactMap { $0.map { $0 / .milliseconds(1) } }
        #expect(delays == [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000])
    }

    @Test func halfOfADelayIsRandom() {
        #expect(delays(.transient, 1, random: 0) == [.milliseconds(25)])
        let middle = delays(.transient, 1, random: 0.5).first ?? nil
        #expect(middle.map { Int(($0 / .microseconds(100)).rounded()) } == 375)
    }

    @Test(arguments: [PostgresError.Kind.connectionLost, .transient, .cancelled, .fenced])
    func patienceIsUsedUpByTriesAndDelays(_ kind: PostgresError.Kind) {
        let delays = delays(kind, 4, took: .seconds(1), patience: .seconds(3))
        #expect(delays.map { $0 != nil } == [true, true, false, false])
    }

    @Test func aServerThatIsAwayIsWaitedForWithoutEnd() {
        #expect(!delays(.unavailable, 10_000, took: .seconds(10)).contains(nil))
    }

    @Test(arguments: [PostgresError.Kind.conflict, .badData, .permission, .permanent])
    func whatCannotPassIsGivenUpAtOnce(_ kind: PostgresError.Kind) {
        #expect(delays(kind, 1) == [nil])
    }
}
