internal import CLibPQ

/// Where the database is and who logs in: a URL, a keyword string, or what libpq finds by itself.
///
/// Printing it never shows a password.
public struct DatabaseAddress: Sendable, CustomStringConvertible {
    let connectionString: String
    private let options: [String: String]
    /// The variables by which libpq's own programs are told the same; they hold the password, if there is one.
    public let environment: [String: String]

    /// Reads a `postgresql://` URL or a `host=... dbname=...` string; empty means libpq's own defaults
    /// (PG* variables, service file, .pgpass).
    ///
    /// - Throws: When libpq cannot read it. The message repeats nothing of the text, which may hold a
    ///   password.
    public init(_ text: String = "") throws(PostgresError) {
        let text = text.contains("=") || text.isEmpty ? text : try Self.complete(text)
        guard !text.utf8.contains(0), !Self.hasStrayAt(text),
            let parsed = PQconninfoParse(text, nil)
        else { throw Self.unreadable }
        defer { PQconninfoFree(parsed) }
        var options: [String: String] = [:]
        var environment: [String: String] = [:]
        var option = parsed
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                options[String(cString: keyword)] = String(cString: value)
                if let variable = option.pointee.envvar {
                    environment[String(cString: variable)] = String(cString: value)
                }
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
        self.environment = environment
    }

    /// The same server and role, and another database.
    ///
    /// - Throws: When libpq cannot read it.
    public func naming(database: String) throws(PostgresError) -> DatabaseAddress {
        var options = options
        options["dbname"] = database
        let parts = options.sorted { $0.key < $1.key }.map { keyword, value in
            let text = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
            return "\(keyword)='\(text)'"
        }
        return try DatabaseAddress(parts.joined(separator: " "))
    }

    private static var unreadable: PostgresError {
        .misuse(
            "the database address cannot be read: expected postgresql://user@host:port/database; "
                + "characters like @ : / ? # % in a password are written %40 %3A %2F %3F %23 %25"
        )
    }

    /// A word alone is the name of a database.
    ///
    /// One that looks like a URL with a slip in it is not taken for one: it may hold a password,
    /// and a database's name is shown.
    private static func complete(_ text: String) throws(PostgresError) -> String {
        if text.contains("://") { return text }
        guard !text.contains("@"), !text.contains("/") else { throw unreadable }
        return "dbname='\(text.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
    }

    /// Whether a URL has an @ only behind its first slash: then libpq takes the start of a password
    /// with a slash in it for the port, and the rest for the database.
    private static func hasStrayAt(_ text: String) -> Bool {
        guard let scheme = text.firstRange(of: "://") else { return false }
        let address = text[scheme.upperBound...].prefix { $0 != "?" }
        let slash = address.firstIndex(of: "/") ?? address.endIndex
        return address[slash...].contains("@")
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
