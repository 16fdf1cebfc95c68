internal import CLibPQ

/// Where the database is and who logs in: a URL, a keyword string, or what libpq finds by itself.
///
/// Printing it never shows a password.
public struct DatabaseAddress: Sendable, CustomStringConvertible {
    let connectionString: String
    private let options: [String: String]

    /// Reads a `postgresql://` URL or a `host=... dbname=...` string; empty means libpq's own defaults
    /// (PG* variables, service file, .pgpass).
    ///
    /// - Throws: When libpq cannot read it. The message repeats nothing of the text, which may hold a
    ///   password.
    public init(_ text: String = "") throws(PostgresError) {
        let text =
            text.contains("=") || text.contains("://") || text.isEmpty ? text : "dbname='\(text)'"
        guard let parsed = PQconninfoParse(text, nil) else {
            throw .misuse(
                "the database address cannot be read: expected postgresql://user@host:port/database; "
                    + "characters like @ : / ? # % in a password are written %40 %3A %2F %3F %23 %25"
            )
        }
        defer { PQconninfoFree(parsed) }
        var options: [String: String] = [:]
        var option = parsed
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                options[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        if options["host"]?.contains("@") == true {
            throw .misuse(
                "the database address has an @ in its host: an @ in a password is written %40"
            )
        }
        connectionString = text
        self.options = options
    }

    /// The password that the address itself holds, to be hidden wherever the address is shown.
    public var password: String? { options["password"] }

    /// User, host, port and database, without a password.
    public var description: String {
        var text = options["user"].map { "\($0)@" } ?? ""
        text += options["host"] ?? options["hostaddr"] ?? "the default host"
        if let port = options["port"] { text += ":\(port)" }
        if let database = options["dbname"] { text += "/\(database)" }
        return options["service"].map { "service \($0)" } ?? text
    }
}
