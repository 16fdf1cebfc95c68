import Bulkhead
import Postgres

/// Brings the table `carrier_summary` up to date with `flights`, some carriers in each batch.
struct RefreshCarriers: JobHandler {
    let kind = "refresh-carriers"

    /// What a job may say in its args: `{"batch": 5}`.
    struct Arguments: Decodable {
        var batch: Int?
    }

    /// Where the next batch starts.
    ///
    /// It commits with the rows, so no carrier is ever left out.
    struct Checkpoint: Codable {
        var after = ""
        var isLast = false
    }

    /// What the job leaves for people to see.
    struct Result: Codable {
        var changed: Int64 = 0
    }

    func run(_ context: JobContext) async throws -> JSONText? {
        let size = try context.arguments(Arguments.self).batch ?? 5
        guard size > 0 else { throw JobFailure("batch must be at least 1, not \(size)") }
        // Asks what is committed, not what a closure did: a batch may run twice, or have committed before.
        while try !checkpoint(context.progress).isLast {
            try await context.batch { batch in
                try refresh(size, after: context.progress, in: batch)
            }
        }
        return nil
    }

    /// Runs one statement for all carriers of the batch; readers hear only of those that changed.
    private func refresh(_ size: Int, after progress: Progress, in batch: Batch) throws -> Progress
    {
        let rows = try batch.connection.query(
            """
            with due as (
                select carrier from (
                    select carrier from flights union select carrier from carrier_summary) as c
                where carrier > \(try checkpoint(progress).after) order by carrier limit \(size)
            ), changed as (
                insert into carrier_summary as s (carrier, flights, mean_delay)
                select carrier, count(*), round(avg(arr_delay), 1)
                from flights join due using (carrier) group by carrier
                on conflict (carrier) do update
                    set flights = excluded.flights, mean_delay = excluded.mean_delay
                    where (s.flights, s.mean_delay)
                        is distinct from (excluded.flights, excluded.mean_delay)
                returning carrier
            ), gone as (
                delete from carrier_summary s using due
                where s.carrier = due.carrier
                    and not exists (select from flights f where f.carrier = due.carrier)
                returning s.carrier
            )
            select (select count(*) from due), (select max(carrier) from due),
                (select count(*) from changed) + (select count(*) from gone),
                (select jsonb_agg(carrier) from changed), (select jsonb_agg(carrier) from gone)
            """
        )
        let table = "public.carrier_summary"
        if let ids: JSONText = try rows.value(0, 3) {
            try batch.publish(.update, of: table, ids: ids)
        }
        if let ids: JSONText = try rows.value(0, 4) {
            try batch.publish(.delete, of: table, ids: ids)
        }
        let seen: Int64 = try rows.required(0, 0)
        var next = try checkpoint(progress)
        next.after = try rows.value(0, 1) ?? next.after
        next.isLast = seen < size
        var result = try progress.result?.decode(Result.self) ?? Result()
        result.changed += try rows.required(0, 2, as: Int64.self)
        return Progress(
            checkpoint: try JSONText(encoding: next),
            rowsDone: progress.rowsDone + seen,
            result: try JSONText(encoding: result)
        )
    }

    private func checkpoint(_ progress: Progress) throws -> Checkpoint {
        try progress.checkpoint?.decode() ?? Checkpoint()
    }
}
