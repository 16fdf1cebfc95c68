internal import Bulkhead
internal import Postgres

/// Deletes one batch, and leaves in place what others refer to.
struct BatchRemover {
    let removal: Removal
    let graph: ReferenceGraph
    let experience: PurgeExperience
    let cascades: Cascades
    /// Archives what goes with the rows in other tables; nil where nothing does, or nobody asks.
    let cascade: CascadeRemover?
    let connection: Connection

    /// Deletes the rows of the next stretch of ground.
    ///
    /// - Returns: What came of it, and the batch as it was in the end.
    func remove() throws -> (RemovalOutcome, Removal) {
        guard graph.mayBlock else { return (try run(removal), removal) }
        if !experience.expectsReferences {
            if let outcome = try unlessReferenced(removal) { return (outcome, removal) }
            experience.expectsReferences = true
        }
        var careful = removal
        careful.isBlocked = graph.isBlocked(removal.ground.alias)
        while true {
            if let outcome = try unlessReferenced(careful) { return (outcome, careful) }
            // What keeps a row is not always to be seen: then halving finds it.
            guard careful.size.rows > 1 else {
                careful.deletes = false
                var outcome = try run(careful)
                outcome.blocked = outcome.picked
                return (outcome, careful)
            }
            careful.size.rows /= 2
        }
    }

    /// Nil when something refers to a row: then nothing of it is done.
    private func unlessReferenced(_ removal: Removal) throws -> RemovalOutcome? {
        do {
            return try connection.savepoint {
                let outcome = try run(removal)
                // A deferred key would speak up at COMMIT, when it is too late.
                try connection.run(script: "set constraints all immediate")
                return outcome
            }
        } catch let error as PostgresError where error.saysReferenced {
            return nil
        }
    }

    private func run(_ removal: Removal) throws -> RemovalOutcome {
        if let cascade {
            cascade.begin()
            if removal.deletes { return try cascade.remove(removal, connection) }
        } else {
            try cascades.begin(connection)
        }
        if case .file(let file) = removal.archive {
            try file.begin()
            return try file.copy(
                removal.commonTables,
                rows: "gone",
                removal.ground.columns,
                summary: removal.summary,
                connection
            ).decode()
        }
        let statement = "\(removal.commonTables) select \(removal.summary)::text"
        return try connection.query(SQL(unsafe: statement)).required(0, 0, as: JSONText.self)
            .decode()
    }
}

/// What the batches of one attempt have taught.
final class PurgeExperience {
    /// Whether rows were met that others refer to, so that each batch had better look for them first.
    var expectsReferences = false
}

extension PostgresError {
    /// Whether a row cannot go since another one refers to it, or cannot let go of it.
    fileprivate var saysReferenced: Bool {
        [.foreignKeyViolation, .restrictViolation, .notNullViolation].contains(state)
    }
}
