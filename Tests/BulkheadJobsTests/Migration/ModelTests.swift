import Bulkhead
import BulkheadTesting
import Foundation
import Postgres
import Testing

@testable import BulkheadJobs

/// From a declared model to steps, and from a database to its model and back.
@Suite struct ModelTests {
    private static let shop = """
        create table plane (tailnum text primary key, seats int);
        create table flight (
            id bigint generated always as identity primary key,
            tailnum text, distance int not null, code varchar(10), at timestamptz not null default now(),
            note text, odd "char", amount numeric(8,2),
            constraint flight_tailnum_fkey foreign key (tailnum) references plane (tailnum) on delete set null,
            constraint far check (distance >= 0)
        );
        create index flight_at on flight (at desc);
        create unique index flight_code on flight (lower(code)) where code is not null;
        insert into plane select 'N' || g, g from generate_series(1, 20) g;
        insert into flight (tailnum, distance, code, note, amount)
        select 'N' || (1 + g % 20), g, 'c' || g, case when g % 3 = 0 then 'x' end, g from generate_series(1, 300) g;
        """

    @Test func theModelOfADatabaseAsksForNothing() async throws {
        try await Self.with(Self.shop) { model, plan, _ in
            #expect(model.tables.keys.sorted() == ["flight", "plane"])
            #expect(model.tables["flight"]?.indexes["flight_at"] == "using btree (at DESC)")
            let nothing = try await plan(model)
            #expect(nothing.isEmpty, "\(nothing.text) \(nothing.problems)")
        }
    }

    /// However a person writes types, defaults and checks.
    @Test func theServerSaysWhatIsTheSame() async throws {
        try await Self.with(Self.shop) { model, plan, _ in
            var own = model
            own.tables["flight"]?.constraints["far"] = "check(distance>=0)"
            own.tables["flight"]?.constraints["flight_tailnum_fkey"] =
                "foreign key(tailnum) references plane on delete set null"
            own.tables["flight"]?.indexes["flight_at"] = "(at desc)"
            own.change("flight", "code") { $0.type = "character varying ( 10 )" }
            own.change("flight", "distance") { $0.type = "int4" }
            own.change("flight", "at") { $0.defaultValue = "CURRENT_TIMESTAMP::timestamptz" }
            let same = try await plan(own)
            #expect(same.problems == [])
            #expect(same.steps.map(\.reason) == ["change the default of flight.at"])
        }
    }

    @Test func everyStepLeadsToTheDeclaredModel() async throws {
        try await Self.with(Self.shop) { model, plan, run in
            var own = model
            own.tables["carrier"] = TableModel(
                columns: [
                    ColumnModel(name: "code", type: "text", isRequired: true),
                    ColumnModel(name: "name", type: "text", isRequired: false),
                ],
                constraints: ["carrier_pkey": "primary key (code)", "known": "check (name <> '')"],
                indexes: ["carrier_name": "(name)"]
            )
            own.change("flight", "note") {
                $0.isRequired = true
                $0.backfill = "'none'"
            }
            own.change("flight", "code") { $0.type = "text" }
            own.change("flight", "amount") {
                $0.type = "double precision"
                $0.backfill = "amount::double precision"
            }
            own.change("flight", "distance") {
                $0.name = "miles"
                $0.renamedFrom = "distance"
            }
            own.tables["flight"]?.constraints["far"] = "check (miles >= 0)"
            own.tables["flight"]?.columns.removeAll { $0.name == "odd" }
            var token = ColumnModel(name: "token", type: "uuid", isRequired: true)
            token.defaultValue = "gen_random_uuid()"
            var carrier = ColumnModel(name: "carrier", type: "text", isRequired: false)
            carrier.defaultValue = "'UA'"
            own.tables["flight"]?.columns += [token, carrier]
            own.tables["flight"]?.constraints["flight_token_key"] =
                "unique nulls not distinct (token)"
            own.tables["flight"]?.constraints["near"] = "check (miles < 10000)"
            own.tables["flight"]?.indexes["flight_at"] = nil
            own.tables["flight"]?.indexes["flight_carrier"] = "using hash (carrier)"
            let steps = try await plan(own)
            #expect(steps.problems == [])
            try await run(steps)
            let after = try await plan(own)
            // A swapped column is the last one, whatever its place in the model.
            #expect(after.isEmpty, "\(after.text) \(after.problems)")
            let sum = try await run.value(
                "select sum(amount)::bigint, count(token), count(*) filter (where note is null) from flight"
            )
            #expect(sum == ["45150", "300", "0"])
            #expect(
                try await run.value("select count(*) from flight where carrier = 'UA'") == ["300"]
            )
        }
    }

    @Test func nothingIsGuessed() async throws {
        try await Self.with(Self.shop) { model, plan, _ in
            var own = model
            own.tables["plane"] = nil
            own.tables["flight"]?.constraints["flight_tailnum_fkey"] = nil
            own.change("flight", "distance") { $0.name = "miles" }
            own.tables["flight"]?.constraints["far"] = nil
            own.change("flight", "amount") { $0.type = "timestamptz" }
            own.change("flight", "id") { $0.identity = nil }
            own.change("flight", "code") { $0.isRequired = true }
            own.tables["flight"]?.columns.append(
                ColumnModel(name: "must", type: "int", isRequired: true)
            )
            let steps = try await plan(own)
            let problems = steps.problems.joined(separator: "\n")
            for part in [
                "flight.miles is required", "flight.must is required",
                "no cast makes it of numeric(8,2)",
                "flight.id gets its values in another way", "flight.code becomes required",
            ] {
                #expect(problems.contains(part), "\(problems)")
            }
            #expect(
                steps.notes == ["plane is not in the model: it is left as it is; drop it by hand"]
            )
            #expect(!steps.text.contains("rename"))
        }
    }

    @Test(arguments: [
        (
            #"{"tables": {"t": {"columns": [{"name": "a", "type": "int", "requird": true}]}}}"#,
            "unknown name requird"
        ),
        (#"{"tables": {"t": {"column": []}}}"#, "unknown name column"),
        (
            #"{"tables": {"t": {"columns": [{"name": "a", "type": "int", "identity": "sometimes"}]}}}"#,
            "identity is always or by default"
        ),
    ])
    func aSlipInAModelIsNamed(text: String, problem: String) throws {
        let error = #expect(throws: DecodingError.self) {
            _ = try JSONText(text).decode(SchemaModel.self)
        }
        #expect("\(error.map { "\($0)" } ?? "")".contains(problem), "\(String(describing: error))")
    }

    @Test func theModelOfSixtyTablesBuildsThemAgain() async throws {
        let script = (0..<60).map(Self.table).joined()
        let built = try await TestDatabase.with(hasSchema: false) { database in
            try await database.run(script)
            let session = try await database.session()
            let model = try await session.use { try CatalogModel(schema: "public", $0).model }
            return (model, try Self.dump(database))
        }
        #expect(built.0.tables.count == 60)
        let text = try JSONText(encoding: built.0)
        let again = try await TestDatabase.with(hasSchema: false) { database in
            let model: SchemaModel = try text.decode()
            let session = try await database.session()
            let plan = try await session.use { try ModelPlanner.plan(model, $0) }
            #expect(plan.problems == [])
            try await Run(database: database)(plan)
            return try Self.dump(database)
        }
        #expect(again.count > 1000)
        #expect(again.difference(from: built.1).isEmpty)
    }

    @Test(arguments: [
        ("smallint", "bigint", true), ("integer", "numeric", true),
        ("integer", "numeric(10,2)", false),
        ("integer", "numeric(12,2)", true), ("numeric(8,2)", "numeric(9,3)", true),
        ("numeric(8,2)", "numeric(8,3)", false), ("numeric(8,2)", "integer", false),
        ("numeric", "numeric(8,2)", false), ("double precision", "real", false),
        ("real", "double precision", true), ("bigint", "integer", false),
        ("text", "varchar(3)", false),
        ("varchar(10)", "varchar(3)", false), ("character(5)", "varchar(5)", true),
        ("character(5)", "varchar(4)", false), ("character(5)", "text", true),
        ("date", "timestamp", true), ("date", "timestamptz", false), ("timestamp", "date", false),
        ("timestamp", "timestamp(0)", false), ("integer", "text", false), ("json", "jsonb", false),
    ])
    func onlyAWiderTypeNeedsNoBackfill(old: String, new: String, isWider: Bool) async throws {
        try await Self.with("create table t (c \(old))") { model, plan, _ in
            var own = model
            own.change("t", "c") { $0.type = new }
            let bare = try await plan(own)
            #expect(bare.problems.isEmpty == isWider, "\(bare.problems)")
            #expect(bare.steps.isEmpty != isWider)
            own.change("t", "c") { $0.backfill = "c::\(new)" }
            #expect(try await plan(own).problems == [])
        }
    }

    /// With the column renamed in the same plan, so that the catalog still has its former name.
    @Test(arguments: [
        ("create view seen as select c from t", "view seen"),
        ("create policy own on t using (c > 0)", "policy own"),
        (
            "create trigger tell before update of c on t for each row execute function suppress_redundant_updates_trigger()",
            "trigger tell"
        ),
        ("create rule r as on update to t where old.c > 0 do nothing", "rule r"),
        ("create publication p for table t (c)", "in publication p"),
        ("create statistics alike on c, d from t", "statistics object alike"),
        ("alter table t add e int generated always as (c + 1) stored", "column e"),
        ("grant select (c) on t to public", "a grant"),
        ("comment on column t.c is 'x'", "a comment"),
        ("alter table t alter c set statistics 7", "its statistics target"),
    ])
    func whatHangsOnAColumnIsNamed(setup: String, what: String) async throws {
        try await Self.with("create table t (c int, d int); \(setup)") { model, plan, _ in
            var own = model
            own.change("t", "c") {
                $0.name = "renamed"
                $0.renamedFrom = "c"
                $0.type = "bigint"
            }
            own.change("t", "e") { $0.generated = "renamed + 1" }
            let steps = try await plan(own)
            #expect(steps.problems.count == 1, "\(steps.problems)")
            #expect(steps.problems.first?.contains(what) == true, "\(steps.problems)")
            #expect(steps.steps.count == 1)
        }
    }

    @Test func stepsMakeNoNameThatIsTakenOrCut() async throws {
        let long = String(repeating: "ä", count: 31)
        let setup = """
            create table t (c int, c_new int, c_old int, "\(long)" int, "\(long)x" int);
            create function t_c_both() returns int language sql return 1;
            insert into t values (1, 2, 3, 4, 5);
            """
        try await Self.with(setup) { model, plan, run in
            var own = model
            own.change("t", "c") { $0.type = "bigint" }
            own.change("t", long) { $0.type = "bigint" }
            own.change("t", "\(long)x") {
                $0.type = "bigint"
            }
            let steps = try await plan(own)
            #expect(steps.problems == [])
            let names = steps.text.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
            #expect(names.allSatisfy { $0.utf8.count <= 63 })
            try await run(steps)
            #expect(try await plan(own).isEmpty)
            #expect(
                try await run.value("select c, c_new, c_old, \(long), \(long)x, t_c_both() from t")
                    == ["1", "2", "3", "4", "5", "1"]
            )
        }
    }

    @Test func aKeyToATableOutsideTheModelIsLeftAsItIs() async throws {
        let setup = """
            create schema far;
            create table far.p (id int primary key);
            create table "p""q" ("references x" int primary key);
            create table c (a int constraint out references far.p, b int constraint own references "p""q", d int);
            """
        try await Self.with(setup) { model, plan, _ in
            #expect(try await plan(model).isEmpty)
            var own = model
            own.change("c", "d") {
                $0.name = "e"
                $0.renamedFrom = "d"
            }
            let renamed = try await plan(own)
            #expect(renamed.problems == [])
            #expect(renamed.steps.map(\.reason) == ["rename c.d to e"])

            own.tables["c"]?.constraints["out"] = nil
            let dropped = try await plan(own)
            #expect(dropped.steps.map(\.reason) == ["rename c.d to e", "drop constraint out of c"])

            own = model
            own.tables["c"]?.constraints["more"] = "foreign key (d) references far.p (id)"
            own.tables["c"]?.constraints["out"]? += " on delete cascade"
            let refused = try await plan(own)
            #expect(refused.steps == [])
            #expect(
                refused.problems.map { $0.prefix(24) }
                    == ["more of c refers to far.p", "out of c refers to far.p,"].map {
                        $0.prefix(24)
                    }
            )
        }
    }

    @Test(arguments: [
        ("foreign key (a) references p", nil, "p"), ("FOREIGN KEY(a)REFERENCES P(b)", nil, "p"),
        ("foreign key (\"references x\") references \"p\"\"q\" (b)", nil, "p\"q"),
        ("foreign key (é) references \"S.x\" . Té (b)", "S.x", "té"),
    ])
    func aForeignKeyIsReadAsTheServerDoes(text: String, schema: String?, table: String) {
        let reference = ForeignReference(text)
        #expect(reference?.schema == schema)
        #expect(reference?.table == table)
    }

    @Test func aPrimaryKeyOverAnOptionalColumnAsksForRequired() async throws {
        try await Self.with("create table t (a int)") { model, plan, _ in
            var own = model
            own.tables["t"]?.constraints["t_pkey"] = "primary key (a)"
            let word = "a primary key's columns are required: write \"required\": true"
            #expect(try await plan(own).problems.first?.contains(word) == true)
            own.change("t", "a") { $0.isRequired = true }
            let stated = try await plan(own).problems
            #expect(stated.count == 1 && !stated[0].contains(word), "\(stated)")
        }
    }

    @Test func aSchemaThatIsNotThereIsNamed() async throws {
        try await Self.with("") { _, plan, _ in
            let error = await #expect(throws: JobFailure.self) {
                _ = try await plan(SchemaModel(schema: "nowhere", tables: [:]))
            }
            #expect(error?.message.hasPrefix("there is no schema nowhere") == true)
        }
    }

    // MARK: Help

    private static func table(_ n: Int) -> String {
        let ids = [
            "serial", "bigserial", "int generated always as identity",
            "bigint generated by default as identity", "uuid default gen_random_uuid()",
        ]
        let types = [
            "text", "varchar(20)", "numeric(10,3)", "timestamptz", "jsonb", "int[]", "bytea",
            "date", "double precision", "inet", "text collate \"C\"",
        ]
        let name = n % 7 == 0 ? "\"Table \(n)\"" : "table_\(String(format: "%02d", n))"
        var columns = ["id \(ids[n % ids.count]) primary key"]
        for c in 0...(n % 5 + 2) {
            columns.append(
                "c\(c) \(types[(n + c) % types.count])\((n + c) % 4 == 0 ? " not null" : "")"
            )
        }
        columns.append("size int not null default \(n)")
        columns.append("twice int generated always as (size * 2) stored")
        columns.append("state text default 'new' check (state in ('new', 'old'))")
        if n > 0, (n - 1) % 5 < 2, (n - 1) % 7 != 0 {
            columns.append(
                "before_id int references table_\(String(format: "%02d", n - 1)) on delete cascade deferrable"
            )
        }
        if n % 3 == 0 { columns.append("unique (size, state)") }
        if n % 4 == 0 {
            columns.append("constraint \"odd \(n)\" check (size > 0 or state is null)")
        }
        return """
            create table \(name) (\(columns.joined(separator: ", ")));
            create index "by \(n)" on \(name) using btree (state desc nulls last, lower(state)) include (size) where size > \(n);
            create unique index unique_\(n) on \(name) (size, id);

            """
    }

    private static func dump(_ database: TestDatabase) throws -> [String] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let server = ProcessInfo.processInfo.environment["BULKHEAD_PG_BIN"]
        let program = (server.map { "\($0)/" } ?? "") + "pg_dump"
        process.arguments = [
            program, "--schema-only", "--no-owner", "--schema=public", database.url,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("\\restrict") && !$0.hasPrefix("\\unrestrict") }
    }

    /// Runs the steps of a plan, whole tables at once.
    struct Run {
        let database: TestDatabase

        func callAsFunction(_ plan: ModelPlan) async throws {
            let file = try MigrationFile(name: "0001_model.sql", text: plan.text)
            let session = try await database.session()
            for step in try MigrationPlan(file).up {
                for statement in step.statements {
                    let text = statement.text.replacingOccurrences(of: "{batch}", with: "true")
                    _ = try await session.rows(SQL(unsafe: text))
                }
            }
        }

        func value(_ query: String) async throws -> [String?] {
            try await database.rows(SQL(unsafe: query))[0]
        }
    }

    private static func with(
        _ setup: String,
        _ body: (SchemaModel, (SchemaModel) async throws -> ModelPlan, Run) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            try await database.run(setup)
            let session = try await database.session()
            let model = try await session.use { try CatalogModel(schema: "public", $0).model }
            try await body(
                model,
                { wanted in try await session.use { try ModelPlanner.plan(wanted, $0) } },
                Run(database: database)
            )
        }
    }
}

extension SchemaModel {
    fileprivate mutating func change(
        _ table: String,
        _ column: String,
        _ body: (inout ColumnModel) -> Void
    ) {
        let place = tables[table]?.columns.firstIndex { $0.name == column }
        guard let place, var found = tables[table]?.columns[place] else { return }
        body(&found)
        tables[table]?.columns[place] = found
    }
}
