import BulkheadTesting
import Foundation
import Postgres
import Testing

/// The example of a daemon with a handler of one's own, as its package builds it.
@Suite struct OwnHandlerTests {
    private static let example = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../examples/own-handler").standardizedFileURL

    private func withFlights(_ body: (Workplace) async throws -> Void) async throws {
        try await Workplace.with { place in
            let tables = Self.example.appending(path: "tables.sql")
            try await place.database.run(try String(contentsOf: tables, encoding: .utf8))
            try await place.database.run(
                """
                insert into flights (carrier, arr_delay)
                select 'C' || lpad((n % 12)::text, 2, '0'), n % 7 from generate_series(1, 1200) n
                """
            )
            try await body(place)
        }
    }

    @Test func itsJobsRunInBatchesAndPublishWhatChanged() async throws {
        try await withFlights { place in
            let job = try await place.program.run(
                "enqueue",
                "refresh-carriers",
                "{\"batch\": 5}",
                "--any-host"
            )
            #expect(job.output == "1\n")
            let first = try await place.program.runCarrierDaemon("--drain")
            #expect(first.status == 0, "\(first.errors)")
            #expect(
                try await place.database.rows(
                    "select state, batches, rows_done, result::text from bulkhead.job"
                ) == [["completed", "3", "12", "{\"changed\": 12}"]]
            )
            let difference = try await place.database.value(
                """
                select count(*) from carrier_summary s full join (
                    select carrier, count(*) as flights, round(avg(arr_delay), 1) as mean_delay
                    from flights group by carrier) t using (carrier, flights, mean_delay)
                where s is null or t is null
                """
            )
            #expect(difference == "0")
            try await place.database.run(
                """
                truncate bulkhead.change;
                delete from flights where carrier = 'C07' and arr_delay = 0 or carrier = 'C03';
                select bulkhead.enqueue('refresh-carriers')
                """
            )
            _ = try await place.program.runCarrierDaemon("--drain")
            #expect(
                try await place.database.rows(
                    "select relation, operation, ids::text from bulkhead.change order by id"
                ) == [
                    ["public.carrier_summary", "delete", "[\"C03\"]"],
                    ["public.carrier_summary", "update", "[\"C07\"]"],
                ]
            )
        }
    }

    @Test func argsThatAreWrongFailAtOnceAndAreNamed() async throws {
        try await withFlights { place in
            try await place.database.run(
                "select bulkhead.enqueue('refresh-carriers', '{\"batch\": \"many\"}')"
            )
            let daemon = try await place.program.runCarrierDaemon("--drain")
            #expect(daemon.status == 0)
            #expect(
                try await place.database.rows(
                    "select state, attempt, last_error from bulkhead.job_status"
                ) == [
                    [
                        "discarded", "1",
                        "the args of a job of kind refresh-carriers are wrong: batch is not of type Int",
                    ]
                ]
            )
        }
    }

    @Test func itStopsOnASignal() async throws {
        try await withFlights { place in
            let daemon = try place.program.startCarrierDaemon()
            try await daemon.waitForErrors { $0.contains("ready") }
            daemon.send(SIGTERM)
            #expect(await daemon.end() == 0)
            #expect(try await place.database.value("select count(*) from bulkhead.daemon") == "0")
        }
    }

    @Test func withoutASchemaItSaysSo() async throws {
        try await Workplace.with(hasSchema: false) { place in
            let daemon = try await place.program.runCarrierDaemon("--drain")
            #expect(daemon.status == 3)
            #expect(daemon.errors.contains("bulkhead setup"))
        }
    }
}

extension Program {
    fileprivate func startCarrierDaemon(_ arguments: String...) throws -> Running {
        let executable = Self.executable.deletingLastPathComponent().appending(
            path: "carrier-daemon"
        )
        return try start(arguments, of: executable)
    }

    fileprivate func runCarrierDaemon(_ argument: String) async throws -> Result {
        let process = try startCarrierDaemon(argument)
        let status = await process.end()
        return Result(status: status, output: try process.output(), errors: try process.errors())
    }
}
