import Testing

@testable import Bulkhead

@Suite struct JobLimitsTests {
    private let now = ContinuousClock.now

    private func verdict(
        _ limits: String,
        _ set: (inout GaugeReadings) -> Void
    ) throws -> JobLimits.Verdict {
        var readings = GaugeReadings(at: now)
        set(&readings)
        return try JobLimits(JSONText(limits)).verdict(on: readings, job: 1)
    }

    @Test func whatIsAboveItsLimitIsNamedWithBoth() throws {
        let shown = try verdict(#"{"replica_lag": 10}"#) { $0[.replicaLag] = .value(41) }
        #expect(shown == .wait(.replicaLag, "replica lag 41 s > 10 s"))
    }

    @Test func theFirstOfSeveralIsNamed() throws {
        let shown = try verdict(#"{"archive_queue": 5, "wal_rate": 1048576, "snapshot_age": 60}"#) {
            $0[.archiveQueue] = .value(6)
            $0[.walRate] = .value(2_500_000)
            $0[.snapshotAge] = .value(61, of: "pid 7")
        }
        #expect(shown == .wait(.walRate, "WAL rate 2.4 MB/s > 1 MB/s"))
    }

    @Test func aHolderIsNamed() throws {
        let shown = try verdict(#"{"snapshot_age": 60}"#) {
            $0[.snapshotAge] = .value(61.26, of: "pid 7")
        }
        #expect(shown == .wait(.snapshotAge, "snapshot age 61.3 s > 60 s (pid 7)"))
    }

    @Test func aValueAtItsLimitGoesOn() throws {
        #expect(try verdict(#"{"lock_waiters": 3}"#) { $0[.lockWaiters] = .value(3) } == .goOn)
    }

    @Test func whatCannotBeReadIsNotHeeded() throws {
        let shown = try verdict(#"{"replica_lag": 10}"#) { $0[.replicaLag] = .unreadable("no") }
        #expect(shown == .goOn)
    }

    @Test func whatWasNotLookedAtYetIsUnknown() throws {
        let shown = try verdict(#"{"replica_lag": 10, "wal_rate": 1}"#) {
            $0[.replicaLag] = .value(0)
        }
        #expect(shown == .unknown)
    }

    @Test func aJobsOwnReadingBeatsThatOfAll() throws {
        let shown = try verdict(#"{"snapshot_age": 1}"#) {
            $0[.snapshotAge] = .value(9)
            $0[.snapshotAge, 1] = .value(0)
            $0[.snapshotAge, 2] = .value(8)
        }
        #expect(shown == .goOn)
    }

    @Test func noLimitsHoldNothingUp() throws {
        #expect(try JobLimits(nil).values.isEmpty)
        #expect(try JobLimits(JSONText(#"{"nice": 2}"#)).nice == 2)
    }
}

@Suite struct WALHistoryTests {
    private let start = ContinuousClock.now

    private func history(_ places: [(second: Double, place: Int64)]) -> WALHistory {
        var history = WALHistory()
        for (second, place) in places { history.add(place, at: start + .seconds(second)) }
        return history
    }

    @Test func aRateIsThatOfTheLastSeconds() {
        #expect(history([(0, 0), (10, 10_000), (12, 12_000), (14, 30_000)]).rate == 5000)
    }

    @Test func oneMarkHasNoRateAndAPauseForgetsIt() {
        #expect(history([]).rate == nil)
        #expect(history([(0, 0)]).rate == nil)
        #expect(history([(0, 0), (60, 1_000_000)]).rate == nil)
    }

    @Test func aPlaceIsAsOldAsTheFirstMarkBehindIt() {
        let history = history([(0, 100), (1, 200), (2, 300)])
        let now = start + .seconds(10)
        #expect(history.age(of: 100, now: now) == 9)
        #expect(history.age(of: 150, now: now) == 9)
        #expect(history.age(of: 50, now: now) == 10)
        #expect(history.age(of: 300, now: now) == 0)
    }

    @Test func itKeepsTenMinutes() {
        let history = history((0..<2000).map { (Double($0), Int64($0)) })
        #expect(history.age(of: 0, now: start + .seconds(2000)) == 600)
    }
}
