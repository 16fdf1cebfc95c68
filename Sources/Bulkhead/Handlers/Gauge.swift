/// Something about the server that a job may be told to heed.
enum Gauge: String, CaseIterable, Sendable {
    case replicaLag = "replica_lag"
    case lockWaiters = "lock_waiters"
    case walRate = "wal_rate"
    case snapshotAge = "snapshot_age"
    case archiveQueue = "archive_queue"

    /// The name that people read.
    var name: String {
        switch self {
        case .replicaLag: "replica lag"
        case .lockWaiters: "lock waiters"
        case .walRate: "WAL rate"
        case .snapshotAge: "snapshot age"
        case .archiveQueue: "archive queue"
        }
    }

    /// A value with its unit.
    func shown(_ value: Double) -> String {
        switch self {
        case .replicaLag, .snapshotAge: "\(rounded(value)) s"
        case .lockWaiters: rounded(value)
        case .walRate: bytes(value) + "/s"
        case .archiveQueue: "\(rounded(value)) segments"
        }
    }

    private func bytes(_ value: Double) -> String {
        let units = ["B", "kB", "MB", "GB"]
        var value = value
        var unit = 0
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return "\(rounded(value)) \(units[unit])"
    }

    /// With one digit behind the point, unless it is a zero.
    private func rounded(_ value: Double) -> String {
        let text = "\((value * 10).rounded() / 10)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
