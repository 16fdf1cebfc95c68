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

        /// Where the data lie.
        package var storage: Storage
        /// Whether commits reach the disk; off is faster, and safe against everything but a power cut.
        package var fsync: Bool
        /// How many sessions there may be.
        package var maxConnections: Int
        /// Further lines of `postgresql.conf`; they win over everything set here.
        package var settings: [String: String]

        /// Makes options.
        ///
        /// - Parameters:
        ///   - storage: Where the data lie.
        ///   - fsync: Whether commits reach the disk; nil: if the data are kept.
        ///   - maxConnections: How many sessions there may be.
        ///   - settings: Further settings, by name.
        package init(
            storage: Storage = .temporary,
            fsync: Bool? = nil,
            maxConnections: Int = 100,
            settings: [String: String] = [:]
        ) {
            self.storage = storage
            self.fsync = fsync ?? (storage != .temporary)
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
