import BulkheadTesting
import Foundation
import Postgres
import PostgresServer
import Testing

/// A purge with an archive and the restore behind it, each under the same fire, while others move the rows.
struct PurgeUnderFire: Sendable {
    enum Archive: String, CaseIterable, Sendable {
        case table, file, cascadesToTables, cascadesToFile

        var isFile: Bool { self == .file || self == .cascadesToFile }
        var hasCascades: Bool { self == .cascadesToTables || self == .cascadesToFile }
        var place: String { isFile ? "kept.jsonl.gz" : "hc.kept" }

        /// The tables that lose rows, each with where a table archive keeps them.
        var tables: [(name: String, kept: String)] {
            [("hc.item", "hc.kept")] + (hasCascades ? [("hc.part", "hc.kept_part")] : [])
        }
    }

    let fire: UnderFire
    let archive: Archive
    private let rows: Int

    /// Purges under the fire of the closure, then restores under it, and looks after each.
    static func with(
        _ archive: Archive,
        on server: PostgresServer? = nil,
        _ body: (PurgeUnderFire) async throws -> Void
    ) async throws {
        try await UnderFire.with(on: server) { fire in
            let run = PurgeUnderFire(fire: fire, archive: archive, rows: UnderFire.rows / 3)
            try await fire.database.run(run.setup)
            let before = try await run.checksums()
            let writer = Task { await run.write() }
            do {
                try await fire.enqueue(
                    "purge",
                    "hc.item",
                    "--where",
                    "kind = 'old'",
                    "--archive",
                    archive.place,
                    "--batch",
                    "200"
                )
                let watcher = Task { try await run.watchWhole() }
                try await body(run)
                try await watcher.value
                try await run.checkPurged()
                let id = try await fire.database.value("select id from bulkhead.job") ?? ""
                try await fire.enqueue("restore", id)
                try await body(run)
                try await run.checkRestored(before)
            } catch {
                writer.cancel()
                throw error
            }
            writer.cancel()
            await writer.value
        }
    }

    func randomMoments() -> [Int] { UnderFire.randomMoments(below: rows * 2 / 3) }

    private var setup: String {
        """
        create schema hc;
        create table hc.item (id int primary key, kind text, note text, size numeric(12, 3));
        insert into hc.item select g, case when g % 3 > 0 then 'old' end, 'back\\slash "' || g || E'"\\n', g / 7.0
        from generate_series(1, \(rows)) g;
        create table hc.part (id int primary key, item_id int not null references hc.item on delete cascade);
        create index on hc.part (item_id);
        create table hc.use (id int primary key, part_id int references hc.part on delete set null, note text);
        create index on hc.use (part_id);
        \(archive.hasCascades ? """
            insert into hc.part select g, g from generate_series(1, \(rows), 2) g;
            insert into hc.use select g, 1 + (g - 1) / 2 * 2, 'u' || g from generate_series(1, \(rows), 5) g;
            """ : "")
        """
    }

    /// Moves rows about and adds others until it is cancelled, whatever becomes of its session.
    private func write() async {
        while !Task.isCancelled {
            do {
                let session = try await fire.database.session()
                var next = 0
                while !Task.isCancelled {
                    next += 1
                    let first = Int.random(in: 1...rows)
                    try await session.run(
                        """
                        update hc.item set note = note where id between \(first) and \(first + 50);
                        update hc.item set note = note where id % 500 = \(next % 500);
                        insert into hc.item select max(id) + 1, 'new', 'n' from hc.item;
                        """
                    )
                    try await Task.sleep(for: .milliseconds(10))
                }
            } catch {
                // The server was killed, or its processes were: it begins again.
                await Task.yield()
            }
        }
    }

    // MARK: What must be true

    private func checksums() async throws -> [String?] {
        try await ["hc.item", "hc.part", "hc.use"].async { table in
            try await fire.database.value(
                """
                select md5(string_agg(t::text, '|' order by t.id)) from \(unsafe: table) t
                where t.id <= \(rows)
                """
            )
        }
    }

    /// Looks in one snapshot after another that each row is in its table or in the archive.
    private func watchWhole() async throws {
        var isOver = false
        while !isOver {
            do {
                isOver =
                    try await fire.database.value(
                        "select state = 'completed' from bulkhead.job order by id desc limit 1"
                    ) == "t"
                for table in archive.tables { try await checkWhole(table) }
            } catch let error as PostgresError
                where [.unavailable, .connectionLost].contains(error.kind)
            {
                // The server is down.
                await Task.yield()
            }
        }
    }

    private func checkWhole(_ table: (name: String, kept: String)) async throws {
        let all = archive.hasCascades && table.name == "hc.part" ? (rows + 1) / 2 : rows
        if archive.isFile {
            let found = try await fire.database.value(
                """
                select (select count(*) from \(unsafe: table.name) where id <= \(rows))
                    + (select coalesce(sum(b.rows), 0) from bulkhead.archive_block b
                        where relation = \(table.name) and operation = 'delete')
                """
            )
            #expect(found == "\(all)", "\(table.name)")
        } else if try await fire.database.value(
            "select to_regclass(\(table.kept)) is not null"
        ) == "t" {
            let found = try await fire.database.rows(
                """
                select count(*), count(distinct id) from (
                    select id from \(unsafe: table.name) union all select id from \(unsafe: table.kept)) t
                where id <= \(rows)
                """
            )
            #expect(found == [["\(all)", "\(all)"]], "\(table.name)")
        }
    }

    private func checkPurged() async throws {
        #expect(
            try await fire.database.value("select count(*) from hc.item where kind = 'old'") == "0"
        )
        for table in archive.tables {
            try await checkWhole(table)
            let gone = try await changed("delete", table.name)
            let kept =
                archive.isFile
                ? try await ArchivedIDs(fire).read(table.name)
                : try await fire.database.rows("select id from \(unsafe: table.kept) order by id")
                    .compactMap { $0[0].flatMap(Int.init) }
            #expect(gone.count > 0)
            #expect(gone == kept, "\(table.name)")
            #expect(Set(gone).count == gone.count, "\(table.name)")
        }
    }

    private func checkRestored(_ before: [String?]) async throws {
        #expect(try await checksums() == before)
        #expect(
            try await fire.database.value(
                "select count(*) from bulkhead.archive_block where restored_by is null"
            ) == "0"
        )
        for table in archive.tables {
            #expect(
                try await changed("insert", table.name) == changed("delete", table.name),
                "\(table.name)"
            )
            guard !archive.isFile else { continue }
            #expect(
                try await fire.database.value("select count(*) from \(unsafe: table.kept)") == "0"
            )
        }
    }

    /// The ids that the feed names for a table, in order.
    private func changed(_ operation: String, _ table: String) async throws -> [Int] {
        try await fire.database.rows(
            """
            select key::int from bulkhead.change c, jsonb_array_elements(c.ids) as e (key)
            where operation = \(operation) and relation = \(table) order by 1
            """
        ).compactMap { $0[0].flatMap(Int.init) }
    }
}

extension Array {
    /// One result after another.
    fileprivate func async<Result>(_ body: (Element) async throws -> Result) async rethrows
        -> [Result]
    {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
