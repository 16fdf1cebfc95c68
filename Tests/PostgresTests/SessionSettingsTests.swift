import BulkheadTesting
import Testing

@testable import Postgres

@Suite struct SessionSettingsTests {
    /// What a database or a role may have been given, and what a session must see instead.
    static let odd: KeyValuePairs = [
        "DateStyle": ("'SQL, DMY'", "ISO, YMD"), "IntervalStyle": ("'sql_standard'", "postgres"),
        "TimeZone": ("'America/New_York'", "UTC"), "bytea_output": ("'escape'", "hex"),
        "extra_float_digits": ("-3", "1"), "standard_conforming_strings": ("off", "on"),
        "client_min_messages": ("debug5", "warning"),
        "default_transaction_isolation": ("serializable", "read committed"),
        "default_transaction_read_only": ("on", "off"),
        "default_transaction_deferrable": ("on", "off"), "lock_timeout": ("1", "0"),
        "statement_timeout": ("60000", "0"), "idle_in_transaction_session_timeout": ("60000", "0"),
        "idle_session_timeout": ("60000", "0"), "application_name": ("'odd'", "test"),
    ]

    private func makeOdd(_ database: TestDatabase, role: String) async throws -> TestDatabase {
        let admin = try await database.session()
        try await admin.run("create role \(role) login superuser")
        for (index, setting) in Self.odd.enumerated() {
            // Half of them on the database, half on the role, which wins over it.
            let owner = index.isMultiple(of: 2) ? "database \(database.name)" : "role \(role)"
            try await admin.run("alter \(owner) set \(setting.key) = \(setting.value.0)")
        }
        try await admin.run("alter role \(role) set search_path = odd, public")
        return try database.at(database.url.replacing("postgres@", with: "\(role)@"))
    }

    private func drop(_ role: String, _ database: TestDatabase) async throws {
        // What is set on the database holds for this session too, but for what it sets itself.
        let admin = try await database.session()
        for setting in Self.odd {
            try await admin.run("alter database \(database.name) reset \(setting.key)")
        }
        try await admin.run("drop owned by \(role); drop role \(role)")
    }

    @Test func settingsWinOverThoseOfRoleAndDatabase() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let role = "role_\(database.name)"
            let odd = try await makeOdd(database, role: role)
            try odd.useConnection(SessionSettings(applicationName: "test")) { connection in
                for setting in Self.odd {
                    let seen: String? = try connection.query(
                        "select current_setting(\(setting.key))"
                    )
                    .value(0, 0)
                    #expect(seen == setting.value.1, "\(setting.key)")
                }
                let path: String? = try connection.query("select current_setting('search_path')")
                    .value(0, 0)
                #expect(path == "odd, public")
                try connection.query("create table public.t (b bytea, s text)")
                try connection.transaction {
                    _ = try $0.query("insert into public.t values (\(Bytes([0, 92])), '\\')").count
                }
                let row = try connection.query("select b, s from public.t")
                #expect(try row.value(0, 0) == Bytes([0, 92]))
                #expect(try row.value(0, 1) == "\\")
            }
            try await drop(role, database)
        }
    }

    @Test func localSettingsHoldInATransactionAndLeaveNothingBehind() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let role = "role_\(database.name)"
            let odd = try await makeOdd(database, role: role)
            let settings = SessionSettings(applicationName: "test", isLocal: true)
            try odd.useConnection(settings) { connection in
                func all() throws -> [String?] {
                    try Self.odd.map { setting in
                        try connection.query("select current_setting(\(setting.key))").value(0, 0)
                    }
                }
                let before = try all()
                try connection.transaction { connection in
                    for setting in Self.odd {
                        let seen: String? = try connection.query(
                            "select current_setting(\(setting.key))"
                        ).value(0, 0)
                        #expect(seen == setting.value.1, "\(setting.key)")
                    }
                    let own = try connection.query(
                        "select current_setting('transaction_isolation'), current_setting('transaction_read_only')"
                    )
                    #expect(try own.value(0, 0) == "read committed")
                    #expect(try own.value(0, 1) == "off")
                    try connection.query("create table public.t (n int)")
                }
                let after = try all()
                #expect(after == before)
            }
            try await drop(role, database)
        }
    }

    @Test func timeOutsAreTakenInMilliseconds() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let settings = SessionSettings(
                applicationName: "test",
                lockTimeout: .milliseconds(1500),
                statementTimeout: .milliseconds(40)
            )
            try database.useConnection(settings) { connection in
                let lock: String? = try connection.query("show lock_timeout").value(0, 0)
                #expect(lock == "1500ms")
                let error = #expect(throws: PostgresError.self) {
                    try connection.query("select pg_sleep(20)").count
                }
                #expect(error?.kind == .cancelled)
            }
        }
    }

    @Test func textIsUTF8WhateverTheAddressAsksFor() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let latin = try database.at(database.url + "&client_encoding=LATIN1")
            #expect(try await latin.value("select \("€ 😀")") == "€ 😀")
        }
    }
}

extension TestDatabase {
    /// Lends a connection with settings of the test's own.
    func useConnection(
        _ settings: SessionSettings,
        _ body: (Connection) throws -> Void
    ) throws {
        try body(Connection(address, settings: settings))
    }
}
