internal import Bulkhead

/// What the options that limit a job's load say; the server reads their values.
struct LimitOptions {
    /// The limits as a JSON object; nil when none is given.
    let json: JSONText?

    /// The options, with the keys that they have in the database.
    private static let keyed: [(key: String, option: Option)] = [
        ("nice", .value("--nice", "R", "rest R times as long as each batch took")),
        (
            "replica_lag",
            .value("--max-replica-lag", "D", "wait while a replica lags more, such as '10 s'")
        ),
        (
            "lock_waiters",
            .value("--max-lock-waiters", "N", "wait while more sessions wait for the job's locks")
        ),
        (
            "wal_rate",
            .value("--max-wal-rate", "BYTES/s", "wait while the server writes more, such as 50MB")
        ),
        (
            "snapshot_age",
            .value("--max-snapshot-age", "D", "wait while a snapshot is older, such as '1 hour'")
        ),
        (
            "archive_queue",
            .value("--max-archive-queue", "N", "wait while more WAL segments are not archived")
        ),
    ]

    static let options = keyed.map(\.option)

    /// A value of `off` becomes a null, which takes a limit away.
    init(_ arguments: Arguments) throws {
        var limits: [String: String?] = [:]
        for (key, option) in Self.keyed {
            guard let text = arguments.text(option.name) else { continue }
            limits.updateValue(text == "off" ? nil : text, forKey: key)
        }
        json = limits.isEmpty ? nil : try JSONText(encoding: limits)
    }
}
