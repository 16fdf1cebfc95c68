internal import Postgres

/// The tables that a job's batches work on, which no migration's step changes at the same time.
///
/// The locks are the server's, and end with the transaction or session that holds them.
final class Lanes {
    /// The tables' oids.
    var relations: [Int64] = []
    private var reason: String?
    private var said: String?

    /// How soon a batch looks again.
    static let step = Duration.milliseconds(200)

    /// Lets the open batch go on, and keeps steps off its tables until it ends; false when a step is there
    /// first.
    func enter(_ connection: Connection) throws -> Bool {
        guard !relations.isEmpty else { return true }
        let list = "{\(relations.map(String.init).joined(separator: ","))}"
        reason = try connection.query("select bulkhead.enter_lanes(\(list)::oid[])").value(0, 0)
        return reason == nil
    }

    /// What the job waits for; each reason is told once.
    func takeReason() -> String? {
        guard reason != said else { return nil }
        said = reason
        return said
    }

    /// A batch was let through.
    func goOn() { said = nil }

    /// The oids of the tables that are there.
    static func relations(of tables: [String], _ connection: Connection) throws -> [Int64] {
        try tables.compactMap { name in
            try connection.query("select to_regclass(\(name))::oid::bigint").value(0, 0)
        }
    }
}
