internal import Postgres

/// Reads gauges from the server; what takes two looks to tell is remembered between them.
struct GaugeReader {
    private var history = WALHistory()
    /// Since when holders of snapshots whose age is not told have been seen at their place.
    private var firstSeen: [String: ContinuousClock.Instant] = [:]

    private typealias Reading = GaugeReadings.Reading

    /// Looks at some gauges, for some jobs.
    ///
    /// - Throws: When the server does not answer; what it refuses to tell is unreadable.
    mutating func read(
        _ wanted: Set<Gauge>,
        for jobs: [Int64],
        _ connection: Connection
    ) throws -> GaugeReadings {
        if !wanted.isDisjoint(with: [.walRate, .replicaLag]) { try noteWAL(connection) }
        var readings = GaugeReadings(at: .now)
        for gauge in wanted {
            do {
                try read(gauge, for: jobs, into: &readings, connection)
            } catch let error as PostgresError where error.kind == .permission {
                readings[gauge] = Self.forbidden
            } catch let error as PostgresError where error.kind == .permanent {
                readings[gauge] = .unreadable(error.message)
            }
        }
        return readings
    }

    private static let forbidden = Reading.unreadable(
        "the daemon's role may not read it: grant pg_monitor to it"
    )

    private mutating func read(
        _ gauge: Gauge,
        for jobs: [Int64],
        into readings: inout GaugeReadings,
        _ connection: Connection
    ) throws {
        switch gauge {
        case .replicaLag:
            readings[gauge] = try replicaLag(connection, now: readings.at)
        case .walRate:
            readings[gauge] = history.rate.map { .value($0) }
        case .archiveQueue:
            let row = try connection.query("select bulkhead.archive_queue()")
            readings[gauge] =
                try row.value(0, 0, as: Int64.self).map { .value(Double($0)) } ?? Self.forbidden
        case .lockWaiters:
            let rows = try connection.query(
                "select j.id, bulkhead.lock_waiters(j.id) from unnest(\(jobs)::bigint[]) as j (id)"
            )
            for row in 0..<rows.count {
                let waiters: Int64 = try rows.required(row, 1)
                readings[gauge, try rows.required(row, 0)] = .value(Double(waiters))
            }
        case .snapshotAge:
            try readSnapshotAge(for: jobs, into: &readings, connection)
        }
    }

    private mutating func noteWAL(_ connection: Connection) throws {
        let row = try connection.query("select bulkhead.wal_position()")
        history.add(try row.required(0, 0), at: .now)
    }

    /// The greatest lag of all replicas.
    private func replicaLag(_ connection: Connection, now: ContinuousClock.Instant) throws
        -> Reading
    {
        let rows = try connection.query(
            "select place, lag, is_current, is_readable from bulkhead.replicas()"
        )
        var greatest = 0.0
        for row in 0..<rows.count {
            guard try rows.required(row, 3, as: Bool.self) else { return Self.forbidden }
            let place: Int64 = try rows.required(row, 0)
            // All is replayed, whatever the lag was when there was something to replay.
            if let end = history.end, place >= end { continue }
            greatest = max(greatest, try rows.value(row, 1) ?? 0)
            // A distance in bytes is no time; when the WAL passed this place is.
            if try !rows.required(row, 2, as: Bool.self) {
                greatest = max(greatest, history.age(of: place, now: now))
            }
        }
        return .value(greatest)
    }

    // MARK: Snapshots

    private struct Holder {
        let pid: Int32?
        let name: String
        let age: Double
    }

    /// A job's own batch does not count for it.
    private mutating func readSnapshotAge(
        for jobs: [Int64],
        into readings: inout GaugeReadings,
        _ connection: Connection
    ) throws {
        let own = try connection.query(
            """
            select j.id, p.pid from unnest(\(jobs)::bigint[]) as j (id)
            cross join lateral bulkhead.batch_processes(j.id) as p (pid)
            """
        )
        guard let holders = try snapshotHolders(connection, now: readings.at) else {
            readings[.snapshotAge] = Self.forbidden
            return
        }
        readings[.snapshotAge] = Self.oldest(of: holders)
        for row in 0..<own.count {
            let pid: Int32 = try own.required(row, 1)
            readings[.snapshotAge, try own.required(row, 0)] = Self.oldest(
                of: holders.filter { $0.pid != pid }
            )
        }
    }

    private static func oldest(of holders: [Holder]) -> Reading {
        guard let oldest = holders.max(by: { $0.age < $1.age }) else { return .value(0) }
        return .value(oldest.age, of: oldest.name)
    }

    /// Nil when one of them may not be looked at.
    private mutating func snapshotHolders(
        _ connection: Connection,
        now: ContinuousClock.Instant
    ) throws -> [Holder]? {
        let rows = try connection.query(
            "select pid, holder, place, age, is_readable from bulkhead.snapshot_holders()"
        )
        var seen: [String: ContinuousClock.Instant] = [:]
        var holders: [Holder] = []
        for row in 0..<rows.count {
            guard try rows.required(row, 4, as: Bool.self) else { return nil }
            let place: String = try rows.required(row, 2)
            let since = firstSeen[place] ?? now
            seen[place] = since
            holders.append(
                Holder(
                    pid: try rows.value(row, 0),
                    name: try rows.required(row, 1),
                    age: try rows.value(row, 3) ?? (now - since) / .seconds(1)
                )
            )
        }
        firstSeen = seen
        return holders
    }
}
