extension PostgresServer {
    /// How a private server is set up.
    package struct Options: Sendable {
        /// Where the data lie, and for how long.
        package enum Storage: Sendable, Equatable {
            /// Under `/tmp`, deleted when the owner is done with the server or dies.
            case temporary
            /// In a folder that is made if need be, and kept.
            case persistent(String)
        }

        package var storage: Storage
        /// Whether commits reach the disk; off is faster, and safe against everything but a power cut.
        package var fsync: Bool
        package var maxConnections: Int
        /// Further lines of `postgresql.conf`; they win over everything set here.
        package var settings: [String: String]

        package init(
            storage: Storage = .temporary,
            fsync: Bool = false,
            maxConnections: Int = 100,
            settings: [String: String] = [:]
        ) {
            self.storage = storage
            self.fsync = fsync
            self.maxConnections = maxConnections
            self.settings = settings
        }

        var configuration: String {
            var all = [
                "listen_addresses": "",
                "port": String(PostgresServer.port),
                "max_connections": String(maxConnections),
                "fsync": fsync ? "on" : "off",
            ]
            if !fsync {
                all["full_page_writes"] = "off"
            }
            if storage == .temporary {
                // Files instead of /dev/shm: what a killed server leaves goes with its folder.
                all["dynamic_shared_memory_type"] = "mmap"
            }
            all.merge(settings) { _, chosen in chosen }
            return all.sorted { $0.key < $1.key }
                .map { "\($0.key) = '\($0.value.replacing("'", with: "''"))'" }
                .joined(separator: "\n")
        }
    }
}
