/// A mode in which the server locks a table, under SQL's name.
package enum LockMode: String, Sendable, Comparable, CaseIterable, Codable {
    case accessShare = "access share"
    case rowShare = "row share"
    case rowExclusive = "row exclusive"
    case shareUpdateExclusive = "share update exclusive"
    case share
    case shareRowExclusive = "share row exclusive"
    case exclusive
    case accessExclusive = "access exclusive"

    /// Stronger ones are greater.
    package static func < (left: LockMode, right: LockMode) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }

    /// Reads the name that `pg_locks` has for it, such as `AccessExclusiveLock`.
    init?(shown name: String) {
        let found = Self.allCases.first { mode in
            mode.rawValue.filter { $0 != " " } + "lock" == name.lowercased()
        }
        guard let found else { return nil }
        self = found
    }

    /// Whether SELECT waits for it.
    package var blocksReads: Bool { self == .accessExclusive }

    /// Whether INSERT, UPDATE and DELETE wait for it.
    package var blocksWrites: Bool { self >= .share }

    /// Whom it keeps waiting, in words; nil when nobody but other changes of the schema.
    package var blocked: String? {
        blocksReads ? "reads and writes" : blocksWrites ? "writes" : nil
    }
}
