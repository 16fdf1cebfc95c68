internal import Bulkhead
internal import Postgres

/// Deletes one batch, and leaves in place what others refer to.
struct BatchRemover {
    let removal: Removal
    let graph: ReferenceGraph
    let experience: PurgeExperience
    let connection: Connection

    /// Deletes the rows of the next stretch of ground.
    func remove() throws -> RemovalOutcome {
        guard graph.mayBlock else { return try run(removal) }
        if !experience.expectsReferences {
            if let outcome = try unlessReferenced(removal) { return outcome }
            experience.expectsReferences = true
        }
        var careful = removal
        careful.isBlocked = graph.isBlocked(removal.ground.alias)
        while true {
            if let outcome = try unlessReferenced(careful) { return outcome }
            // What keeps a row is not always to be seen: then halving finds it.
            guard careful.size.rows > 1 else {
                careful.deletes = false
                var outcome = try run(careful)
                outcome.blocked = outcome.picked
                return outcome
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
        guard case .file(let file) = removal.archive else {
            let row = try connection.query(
                SQL(unsafe: "\(removal.commonTables) select \(removal.summary)::text")
            )
            return try row.required(0, 0, as: JSONText.self).decode()
        }
        return try run(removal, into: file)
    }

    /// The rows come by COPY, one line each, and behind them what came of it all.
    private func run(_ removal: Removal, into file: ArchiveFile) throws -> RemovalOutcome {
        let statement = """
            copy (
                \(removal.commonTables)
                select 'r', \(removal.ground.columns.jsonLine("t")) from gone t
                union all select 's', (\(removal.summary))::text
            ) to stdout
            """
        var outcome: RemovalOutcome?
        try file.begin()
        try connection.copyOut(SQL(unsafe: statement)) { line in
            let json = unescaped(line.dropFirst(2).dropLast())
            if line.first == UInt8(ascii: "r") {
                try file.append(json + [UInt8(ascii: "\n")])
            } else {
                outcome = try JSONText(String(decoding: json, as: UTF8.self)).decode()
            }
        }
        guard let outcome else {
            throw JobFailure("the server did not say what became of the batch")
        }
        return outcome
    }

    /// JSON holds no other sign that COPY escapes.
    private func unescaped(_ bytes: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count + 1)
        var isEscaped = false
        for byte in bytes {
            if byte == UInt8(ascii: "\\"), !isEscaped {
                isEscaped = true
                continue
            }
            isEscaped = false
            plain.append(byte)
        }
        return plain
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
