internal import Bulkhead
internal import Postgres

/// All foreign keys that a purge of a table sets in motion, to any depth.
struct ReferenceGraph {
    /// The keys by the table that they refer to; a table is named by its oid.
    private let byParent: [Int64: [Reference]]
    private let root: Int64

    init(_ table: PurgeTable, _ connection: Connection) throws {
        root = table.oid
        var byParent: [Int64: [Reference]] = [:]
        var waiting = [table.oid]
        while let parent = waiting.popLast() {
            guard byParent[parent] == nil else { continue }
            let found = try Reference.referring(to: parent, connection)
            byParent[parent] = found
            waiting += found.filter { $0.action == .cascade }.map(\.childOID)
        }
        self.byParent = byParent
    }

    /// All keys; those of the table itself first.
    var all: [Reference] {
        var found = byParent[root] ?? []
        for parent in byParent.keys.sorted() where parent != root {
            found += byParent[parent] ?? []
        }
        return found
    }

    var isEmpty: Bool { all.isEmpty }

    /// Whether a key may keep a row from being deleted.
    var mayBlock: Bool { all.contains { $0.action.keepsParent } }

    /// The table and all that a delete takes rows from, each before those that refer to it.
    ///
    /// - Throws: `JobFailure` where several tables refer to each other in a circle.
    func order(of table: PurgeTable) throws -> [Int64] {
        var left = [table.oid: 0]
        let edges = all.filter { $0.action == .cascade }.map { reference in
            (parent: parent(of: reference), child: reference.childOID)
        }.filter { $0.parent != $0.child }
        for edge in edges { left[edge.child, default: 0] += 1 }
        var order: [Int64] = []
        var free = left.filter { $0.value == 0 }.map(\.key)
        while let next = free.popLast() {
            order.append(next)
            for edge in edges where edge.parent == next {
                left[edge.child, default: 0] -= 1
                if left[edge.child] == 0 { free.append(edge.child) }
            }
        }
        guard order.count == left.count else {
            throw JobFailure(
                "tables below \(table.name) refer to each other in a circle, with ON DELETE CASCADE: what goes with "
                    + "its rows cannot be archived; purge without archive"
            )
        }
        return order
    }

    /// The table whose entry holds the key: a key may refer to a partition of it.
    private func parent(of reference: Reference) -> Int64 {
        byParent.first { $0.value.contains { $0.id == reference.id } }?.key ?? reference.parentOID
    }

    func referring(to oid: Int64) -> [Reference] { byParent[oid] ?? [] }

    /// Refuses keys whose check would scan the whole referring table for every row.
    ///
    /// - Throws: `JobFailure` with the index to create.
    func requireIndexes() throws {
        guard let slow = all.first(where: { !$0.facts.isIndexed && !$0.facts.isEmpty }) else {
            return
        }
        let columns = slow.columns.map(\.child).joined(separator: ", ")
        throw JobFailure(
            "\(slow.child) refers to the rows by \(slow.constraint) and has no index on (\(columns)), so that "
                + "each row would cost a scan of it: create index concurrently on \(slow.child) (\(columns)); "
                + "or purge with --force"
        )
    }

    /// Whether something that keeps its parent refers to a row, as SQL; nil where nothing can, or the role
    /// may not look.
    func isBlocked(_ alias: String) -> String? {
        isBlocked(root, alias, path: [])
    }

    private func isBlocked(_ oid: Int64, _ alias: String, path: [Int64]) -> String? {
        guard !path.contains(oid) else { return nil }
        let parts = referring(to: oid).compactMap { reference -> String? in
            guard reference.facts.isReadable else { return nil }
            let child = "bulkhead_r\(path.count)"
            let match = reference.matches(parent: alias, child: child)
            let exists = "exists (select from \(reference.scanned) as \(child) where \(match)"
            switch reference.action {
            case .noAction, .restrict:
                return "\(exists))"
            case .cascade:
                guard let deeper = isBlocked(reference.childOID, child, path: path + [oid]) else {
                    return nil
                }
                return "\(exists) and (\(deeper)))"
            case .setNull, .setDefault:
                return nil
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: " or ")
    }

    /// One key for each table in which a delete changes or deletes rows.
    var touched: [Reference] {
        var seen: Set<Int64> = []
        var found: [Reference] = []
        for reference in all where !reference.action.keepsParent {
            if seen.insert(reference.childOID).inserted { found.append(reference) }
        }
        return found
    }
}
