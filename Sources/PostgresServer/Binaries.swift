internal import FoundationEssentials
internal import Glibc

/// The folder that holds `initdb`, `pg_ctl` and `postgres`.
struct Binaries {
    let directory: String

    /// Looks where the user says, then where the distributions put servers, then on the `PATH`.
    ///
    /// - Throws: A ``PostgresServerError`` that says how to get or name a server.
    static func find(environment: [String: String]) throws -> Binaries {
        if let named = environment["BULKHEAD_PG_BIN"], !named.isEmpty {
            guard isComplete(named) else {
                throw PostgresServerError(
                    "BULKHEAD_PG_BIN: no PostgreSQL server in \(named) (initdb, pg_ctl, postgres)"
                )
            }
            return Binaries(directory: named)
        }
        let chosen = environment["PG_CONFIG"].flatMap(bindir(of:))
        let candidates = [chosen].compactMap(\.self) + packaged() + onPath(environment)
        guard let directory = candidates.first(where: isComplete) else {
            throw PostgresServerError(
                "no PostgreSQL server found: install one (Debian: apt-get install postgresql) "
                    + "or set BULKHEAD_PG_BIN to the folder that holds initdb"
            )
        }
        return Binaries(directory: directory)
    }

    private static func isComplete(_ directory: String) -> Bool {
        ["initdb", "pg_ctl", "pg_isready", "postgres"].allSatisfy {
            FileManager.default.isExecutableFile(atPath: "\(directory)/\($0)")
        }
    }

    private static func packaged() -> [String] {
        let debian = entries(of: "/usr/lib/postgresql").map { "/usr/lib/postgresql/\($0)/bin" }
        let redHat = entries(of: "/usr").filter { $0.hasPrefix("pgsql-") }.map { "/usr/\($0)/bin" }
        return debian + redHat + ["/usr/local/pgsql/bin"]
    }

    /// The names in a folder, newest version first; none if there is no such folder.
    private static func entries(of directory: String) -> [String] {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            return []
        }
        return names.sorted { numbers(in: $1).lexicographicallyPrecedes(numbers(in: $0)) }
    }

    private static func numbers(in name: String) -> [Int] {
        name.split { !("0"..."9" ~= $0) }.compactMap { Int($0) }
    }

    private static func onPath(_ environment: [String: String]) -> [String] {
        let folders = environment["PATH", default: ""].split(separator: ":").map(String.init)
        let tools = folders.map { "\($0)/pg_config" }
            .filter(FileManager.default.isExecutableFile(atPath:))
        // A link on the PATH leads to the folder that has the rest.
        let linked = folders.map {
            URL(filePath: "\($0)/postgres").resolvingSymlinksInPath().deletingLastPathComponent()
        }
        return tools.compactMap(bindir(of:)) + linked.map { $0.path(percentEncoded: false) }
    }

    /// What `pg_config --bindir` says; nil if it cannot be asked.
    private static func bindir(of tool: String) -> String? {
        do {
            let environment = ProcessInfo.processInfo.environment
            let text = try Spawn.output(of: [tool, "--bindir"], environment: environment)
            return text.split(separator: "\n").first.map(String.init)
        } catch {
            return nil
        }
    }
}
