extension SQLStatement {
    /// Whether a concurrently step runs it outside a transaction.
    var runsOutside: Bool { refusesTransaction || createsIndex }

    /// Whether those who come while it waits for a lock do not queue behind it.
    var waitsAside: Bool {
        createsIndex || tokens.contains { $0.isWord("concurrently") }
            || begins(with: "vacuum") && !tokens.contains { $0.isWord("full") }
    }

    var createsIndex: Bool {
        begins(with: "create", "index") || begins(with: "create", "unique", "index")
    }

    /// The text, with CONCURRENTLY where an index is made without.
    var concurrentText: String {
        guard createsIndex, !contains("index", "concurrently"),
            let index = tokens.first(where: { $0.isWord("index") })
        else { return text }
        return replacing(index.range, with: "\(text(of: index)) concurrently")
    }

    /// The index that it makes or drops, as it is written and by its own name alone; nil where the server chooses.
    var index: (written: String, name: String)? {
        guard createsIndex || begins(with: "drop", "index"),
            let word = tokens.firstIndex(where: { $0.isWord("index") })
        else { return nil }
        let rest = tokens[(word + 1)...].drop { token in
            ["concurrently", "if", "not", "exists"].contains { token.isWord($0) }
        }
        guard let first = rest.first, !first.isWord("on"), let name = QualifiedName(rest) else {
            return nil
        }
        return (written(first, name), name.parts.last ?? "")
    }

    /// The table of an index that it makes, as it is written.
    var indexedTable: String? {
        guard createsIndex, let on = tokens.firstIndex(where: { $0.isWord("on") }) else {
            return nil
        }
        let rest = tokens[(on + 1)...].drop { $0.isWord("only") }
        guard let first = rest.first, let name = QualifiedName(rest) else { return nil }
        return written(first, name)
    }

    /// The two tables of a DETACH PARTITION CONCURRENTLY.
    var detachment: (parent: String, partition: String)? {
        guard begins(with: "alter", "table"), contains("detach", "partition"),
            contains("concurrently"),
            let word = tokens.firstIndex(where: { $0.isWord("partition") })
        else { return nil }
        let parents = tokens[2...].drop { token in
            ["if", "exists", "only"].contains { token.isWord($0) }
        }
        let partitions = tokens[(word + 1)...]
        guard let parent = QualifiedName(parents), let partition = QualifiedName(partitions),
            let firstParent = parents.first, let firstPartition = partitions.first
        else { return nil }
        return (written(firstParent, parent), written(firstPartition, partition))
    }

    private func written(_ first: SQLToken, _ name: QualifiedName) -> String {
        String(decoding: Array(text.utf8)[first.range.lowerBound..<name.end], as: UTF8.self)
    }
}
