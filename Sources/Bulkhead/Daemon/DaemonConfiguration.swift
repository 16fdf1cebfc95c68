internal import FoundationEssentials
public import Postgres

/// How a daemon runs.
public struct DaemonConfiguration: Sendable {
    /// The database.
    public var address: DatabaseAddress
    /// How many jobs run side by side; each has a connection and a thread.
    public var workers = 2
    /// The queues that it serves.
    public var queues: [QueueShare] = [QueueShare(name: "default")]
    /// The host whose files it can read.
    public var host: String
    /// How long the daemon is believed to be alive after its last heartbeat.
    public var lease: Duration = .seconds(15)
    /// The longest time between two looks for work, beside notifications.
    public var poll: Duration = .seconds(5)
    /// How long a batch may still run after the daemon was told to stop.
    public var grace: Duration = .seconds(30)
    /// Whether it ends when nothing is left to run.
    public var drains = false
    /// How long finished jobs are kept.
    public var retention: Duration = .seconds(30 * 24 * 3600)
    /// How long a job that makes no progress is tried again in place before its attempt ends.
    public var patience: Duration = .seconds(300)

    /// What jobs heed where neither they nor their queue say: a JSON object as `bulkhead.limit_job` takes it.
    public var limits: JSONText?

    /// A queue, and how many of the daemon's workers may work for it.
    public struct QueueShare: Sendable, Hashable {
        /// The queue's name.
        public var name: String
        /// The most workers for it; nil for all.
        public var limit: Int?

        /// Describes a share.
        public init(name: String, limit: Int? = nil) {
            self.name = name
            self.limit = limit
        }
    }

    /// Describes a daemon with the usual settings.
    public init(address: DatabaseAddress, host: String) {
        self.address = address
        self.host = host
    }

    /// Describes a daemon of this host on the database that the environment names.
    ///
    /// That is BULKHEAD_DATABASE_URL, else DATABASE_URL, else what libpq finds by itself.
    ///
    /// - Throws: When the address cannot be read.
    public init() throws {
        self.init(address: try .ofEnvironment(), host: ProcessInfo.processInfo.hostName)
    }

    /// The time between two heartbeats: three fit into a lease.
    var heartbeat: Duration { lease / 3 }
}
