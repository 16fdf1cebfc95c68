import BulkheadTesting
import Postgres
import Testing

@Suite struct ClaimTests {
    @Test func jobsAreClaimedByPriorityThenId() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "select bulkhead.enqueue('k', priority => p) from unnest('{5,0,5,-3,0}'::int[]) p"
            )
            let claimant = try await Claimant(database)
            var order: [Int64] = []
            while let job = try await claimant.claim().first { order.append(job) }
            #expect(order == [4, 2, 5, 1, 3])
        }
    }

    @Test func onlyJobsOfTheQueueTheKindsAndTheHostAreClaimed() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                select bulkhead.enqueue('k', queue => 'other'), bulkhead.enqueue('unknown'),
                    bulkhead.enqueue('k', host => 'elsewhere'), bulkhead.enqueue('k', run_in => '1 hour'),
                    bulkhead.enqueue('k', host => 'h')
                """
            )
            let claimant = try await Claimant(database)
            #expect(try await claimant.claim() == [5])
            #expect(try await claimant.claim().isEmpty)
        }
    }

    @Test func twoClaimersNeverGetTheSameJob() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k') from generate_series(1, 600)")
            let all = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for number in 0..<4 {
                    group.addTask {
                        let claimant = try await Claimant(database)
                        var mine: [Int64] = []
                        while true {
                            let jobs = try await claimant.claim(
                                small: number.isMultiple(of: 2) ? ["k"] : [],
                                bunch: 7
                            )
                            if jobs.isEmpty { return mine }
                            mine += jobs
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(all.count == 600)
            #expect(Set(all).count == 600)
        }
    }

    @Test func aJobWhoseRowIsLockedIsPassedOver() async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k'), bulkhead.enqueue('k')")
            let holder = try await database.session()
            try await holder.run("begin; select bulkhead.cancel(1)")
            let claimant = try await Claimant(database)
            #expect(try await claimant.claim() == [2])
            #expect(try await claimant.claim().isEmpty)
            try await holder.run("rollback")
            #expect(try await claimant.claim() == [1])
        }
    }

    @Test func aBunchHoldsSmallJobsOnly() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                select bulkhead.enqueue(case when n % 50 = 0 then 'k' else 's' end)
                from generate_series(1, 260) n;
                update bulkhead.job set attempt = 1 where id = 3
                """
            )
            let claimant = try await Claimant(database)
            func claim() async throws -> [Int64] {
                try await claimant.claim(kinds: ["k", "s"], small: ["s"])
            }
            let first = try await claim()
            #expect(first.count == 100)
            #expect(!first.contains(50) && !first.contains(100))
            // One that was tried before runs alone, so that it cannot take others down again and again.
            #expect(!first.contains(3))
            #expect(try await claim() == [3])
            #expect(try await claim() == [50])
        }
    }

    @Test func aClaimAfterAKeyLooksOnlyBehindIt() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                "select bulkhead.enqueue('k', priority => p) from unnest('{0,0,1,1}'::int[]) p"
            )
            let claimant = try await Claimant(database)
            #expect(try await claimant.claim(after: (0, 2)) == [3])
            #expect(try await claimant.claim(after: (1, 4)).isEmpty)
            #expect(try await claimant.claim() == [1])
        }
    }

    @Test func aJobThatIsDueIsPromotedAndFoundInFrontOfTheKey() async throws {
        try await TestDatabase.with { database in
            try await database.run(
                """
                select bulkhead.enqueue('k', priority => -2147483648, run_in => '1 hour'),
                    bulkhead.enqueue('k');
                update bulkhead.job set run_at = now() where id = 1
                """
            )
            let claimant = try await Claimant(database)
            #expect(try await claimant.claim(after: (0, 2)) == [1])
        }
    }

    @Test(arguments: ["expired", "missing"])
    func aDaemonWithoutALeaseMayNotClaim(_ way: String) async throws {
        try await TestDatabase.with { database in
            try await database.run("select bulkhead.enqueue('k')")
            let claimant = try await Claimant(database)
            try await database.run(
                way == "missing"
                    ? "delete from bulkhead.daemon"
                    : "update bulkhead.daemon set lease_expires_at = now() - interval '1 s'"
            )
            let error = await #expect(throws: PostgresError.self) { try await claimant.claim() }
            #expect(error?.kind == .fenced)
            try await database.expect("select state from bulkhead.job", "available")
        }
    }
}
