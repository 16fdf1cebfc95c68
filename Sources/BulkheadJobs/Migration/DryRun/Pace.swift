internal import Bulkhead
internal import Postgres

/// How fast this server reads, writes anew and sorts, as it does so with a table of its own: bytes a second.
struct Pace {
    let scan: Double
    let rewrite: Double
    let build: Double

    /// Measures on a table of some 20 MB.
    init(_ connection: Connection) throws {
        try connection.run(
            script: """
                create table public.bulkhead_pace as
                select g as a, md5(g::text) as b, g::bigint as c, repeat('x', 60) as d from generate_series(1, 150000) g
                """
        )
        let bytes: Double = try connection.query(
            "select pg_catalog.pg_relation_size('public.bulkhead_pace')::float8"
        ).required(0, 0)
        func bytesPerSecond(_ statement: String) throws -> Double {
            let start = ContinuousClock.now
            _ = try connection.run(script: statement).count
            return bytes / max((ContinuousClock.now - start) / .seconds(1), 1e-3)
        }
        scan = try bytesPerSecond("select count(*) from public.bulkhead_pace where c < 0")
        rewrite = try bytesPerSecond("alter table public.bulkhead_pace alter column a type bigint")
        build = try bytesPerSecond("create index on public.bulkhead_pace (b)")
        try connection.run(script: "drop table public.bulkhead_pace")
    }

    /// How long a statement keeps a table of a size busy, in seconds.
    func seconds(_ effect: TableEffect, bytes: Int64) -> Double {
        let bytes = Double(bytes)
        var seconds = 0.0
        if effect.isRewritten {
            seconds += bytes / rewrite
        } else if effect.isScanned {
            seconds += bytes / scan
        }
        // A table that is written anew gets all of its indexes anew.
        seconds += Double(effect.builtIndexes.count) * bytes / build
        return seconds
    }
}
