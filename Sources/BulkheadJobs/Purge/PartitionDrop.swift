internal import Bulkhead
internal import Postgres

/// Drops the partitions of which every row is old enough, before any row is deleted.
///
/// A partition is detached first, which nobody has to wait for, and dropped in a transaction of its own.
struct PartitionDrop {
    private let context: JobContext
    private let table: PurgeTable
    private let column: String

    /// - Throws: `JobFailure` when the table's partitions say nothing of the column, or are not the role's to
    ///   drop.
    init(_ context: JobContext, _ table: PurgeTable, column: String) throws {
        guard table.facts.isPartitioned else {
            throw JobFailure(
                "\(table.name) has no partitions to drop: purge without drop_partitions"
            )
        }
        guard table.facts.isOwner else {
            throw JobFailure(
                "only the owner of \(table.name) may drop its partitions: purge without drop_partitions"
            )
        }
        self.context = context
        self.table = table
        self.column = column
    }

    func run() async throws {
        if let unfinished = try context.purgeProgress().checkpoint.dropping {
            try await drop(unfinished)
        }
        let checkpoint = try context.purgeProgress().checkpoint
        // An attempt that goes on with the walk must find the tables in the order in which it left them.
        guard checkpoint.sweep == 0, checkpoint.ground == 0, checkpoint.position == nil else {
            return
        }
        for partition in try await covered() {
            var progress = try context.purgeProgress()
            progress.checkpoint.dropping = partition
            try await context.commit(progress)
            try await drop(partition)
        }
    }

    /// The partitions whose upper bound is not above the cutoff.
    private func covered() async throws -> [Int64] {
        guard let cutoff = try context.purgeProgress().checkpoint.cutoff else { return [] }
        return try await context.read { connection in
            let rows = try connection.query(
                """
                select c.oid::bigint, (pg_catalog.regexp_match(
                    pg_catalog.pg_get_expr(c.relpartbound, c.oid), ' TO \\((.*)\\)$'))[1],
                    \(unsafe: Self.isNeeded)
                from pg_catalog.pg_inherits h
                join pg_catalog.pg_class c on c.oid = h.inhrelid
                join pg_catalog.pg_partitioned_table p on p.partrelid = h.inhparent
                join pg_catalog.pg_attribute a on a.attrelid = h.inhparent and a.attnum = p.partattrs[0]
                where h.inhparent = \(table.oid)::oid and p.partstrat = 'r' and p.partnatts = 1
                    and a.attname = \(column)
                order by c.oid
                """
            )
            if rows.isEmpty {
                throw JobFailure(
                    "\(table.name) is not partitioned by ranges of \(column) alone: purge without drop_partitions"
                )
            }
            var covered: [Int64] = []
            for row in 0..<rows.count {
                guard let end: String = try rows.value(row, 1), end != "MAXVALUE" else { continue }
                // Its rows are deleted one by one instead.
                if try rows.required(row, 2) { continue }
                let isCovered = try connection.query(SQL(unsafe: "select \(end) <= \(cutoff)"))
                if try isCovered.required(0, 0) { covered.append(try rows.required(row, 0)) }
            }
            return covered
        }
    }

    /// Whether a view, a function or a foreign key of its own depends on a partition `c`, so that it cannot be
    /// dropped, as SQL.
    private static let isNeeded = """
        exists (
            select from (select \(PurgeTable.members("c.oid")) as oids) as tree
            join pg_catalog.pg_depend d
            on d.refclassid = 'pg_class'::regclass and d.refobjid = any (tree.oids) and d.deptype = 'n'
            where d.classid = 'pg_proc'::regclass
                or d.classid = 'pg_rewrite'::regclass and exists (
                    select from pg_catalog.pg_rewrite w where w.oid = d.objid and w.ev_class <> all (tree.oids))
                or d.classid = 'pg_constraint'::regclass and exists (
                    select from pg_catalog.pg_constraint k where k.oid = d.objid and k.contype = 'f'
                        and k.conparentid = 0 and k.conrelid <> all (tree.oids)))
        """

    // MARK: One partition

    private struct State {
        let name: String
        let isAttached: Bool
        let isPending: Bool
        let hasDefault: Bool
    }

    private func drop(_ partition: Int64) async throws {
        do {
            try await context.read { try detach(partition, $0) }
        } catch let error as PostgresError where error.state == .foreignKeyViolation {
            // Its rows are deleted one by one instead, and those that others refer to stay.
            var progress = try context.purgeProgress()
            progress.checkpoint.dropping = nil
            try await context.commit(progress)
            return
        }
        try await context.batch { batch in
            var progress = try context.purgeProgress()
            progress.checkpoint.dropping = nil
            guard let state = try state(partition, batch.connection) else {
                return try progress.stored()
            }
            let members = try members(of: partition, batch.connection)
            // Counted before the parent is locked, and no longer written to from then on.
            try batch.connection.run(script: "lock table \(state.name) in share mode")
            let rows: Int64 = try batch.connection.query(
                SQL(unsafe: "select count(*) from \(state.name)")
            ).required(0, 0)
            if state.isAttached {
                try batch.connection.run(
                    script: "alter table \(table.name) detach partition \(state.name)"
                )
            }
            try batch.connection.run(script: "drop table \(state.name)")
            if rows > 0 { try batch.publish(.reset, of: table.name, ids: nil) }
            progress.checkpoint.grounds.removeAll { members.contains($0) }
            progress.report.deleted += rows
            progress.report.droppedPartitions = (progress.report.droppedPartitions ?? 0) + 1
            return try progress.stored()
        }
    }

    private func state(_ partition: Int64, _ connection: Connection) throws -> State? {
        let row = try connection.query(
            """
            select pg_catalog.format('%I.%I', n.nspname, c.relname), h.inhrelid is not null,
                coalesce(h.inhdetachpending, false),
                (select p.partdefid <> 0 from pg_catalog.pg_partitioned_table p where p.partrelid = \(table.oid)::oid)
            from pg_catalog.pg_class c
            join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            left join pg_catalog.pg_inherits h on h.inhrelid = c.oid and h.inhparent = \(table.oid)::oid
            where c.oid = \(partition)::oid
            """
        )
        guard !row.isEmpty else { return nil }
        return State(
            name: try row.required(0, 0),
            isAttached: try row.required(0, 1),
            isPending: try row.required(0, 2),
            hasDefault: try row.required(0, 3)
        )
    }

    private func members(of partition: Int64, _ connection: Connection) throws -> Set<Int64> {
        let rows = try connection.query(
            "select m.oid::bigint from pg_catalog.unnest(\(unsafe: PurgeTable.members("\(partition)::oid"))) as m (oid)"
        )
        return Set(try (0..<rows.count).map { try rows.required($0, 0, as: Int64.self) })
    }

    /// Takes the partition out without making anybody wait; one that a crash left half-way is finished.
    private func detach(_ partition: Int64, _ connection: Connection) throws {
        guard let state = try state(partition, connection), state.isAttached else { return }
        let detach = "alter table \(table.name) detach partition \(state.name)"
        if state.isPending {
            try connection.run(script: "\(detach) finalize")
        } else if !state.hasDefault {
            // With a default partition the server only detaches in a transaction, as the drop then does.
            try connection.run(script: "\(detach) concurrently")
        }
    }
}
