import BulkheadTesting
import Postgres
import Testing

@testable import BulkheadJobs

/// Times and dates as the file means them, whatever the session says.
@Suite struct ValueSettingTests {
    static let table = """
        create schema hc;
        create function hc.note() returns trigger language plpgsql as $$
        begin new.zone := current_setting('TimeZone'); return new; end $$;
        create table hc.t (at timestamptz primary key, day date, zone text default current_setting('TimeZone'));
        """
    static let text = "at,day\n2024-07-01 12:00,02/03/2024\n2024-01-01 12:00+00,31/12/2024\n"

    @Test(arguments: ["error", "update"])
    func aZoneAndAnOrderAreThoseOfTheFileAlone(policy: String) async throws {
        try await ImportBench.with(Self.table) { bench in
            let job = try await bench.load(
                "hc.t",
                Self.text,
                "timezone => 'America/New_York', date_order => 'dmy', on_conflict => '\(policy)'"
            )
            #expect(job.state == "completed", "\(job.error ?? "")")
            #expect(
                try await bench.rows(
                    "select at at time zone 'UTC', day, zone from hc.t order by at desc"
                )
                    == [
                        ["2024-07-01 16:00:00", "2024-03-02", "UTC"],
                        ["2024-01-01 12:00:00", "2024-12-31", "UTC"],
                    ]
            )
            #expect(try job.ids == ["\"2024-01-01 12:00:00+00\"", "\"2024-07-01 16:00:00+00\""])
        }
    }

    @Test func otherwiseADayComesBehindItsMonthOnlyWhereTheYearIsFirst() async throws {
        try await ImportBench.with(Self.table) { bench in
            let job = try await bench.load(
                "hc.t",
                Self.text,
                "date_order => 'mdy', max_rejects => 1"
            )
            #expect(job.totals == ImportTotals(read: 2, inserted: 1, rejected: 1))
            #expect(job.rejects.map(\.column) == ["day"])
            #expect(
                try await bench.rows("select at, day from hc.t") == [
                    ["2024-07-01 12:00:00+00", "2024-02-03"]
                ]
            )
            let usual = try await bench.load("hc.t", Self.text, "max_rejects => 2")
            #expect(usual.totals.rejected == 2)
        }
    }
}
