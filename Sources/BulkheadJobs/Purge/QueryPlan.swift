internal import Postgres

/// The part of EXPLAIN's JSON that tells how a table is read.
struct QueryPlan: Decodable {
    let plan: Node

    private enum CodingKeys: String, CodingKey {
        case plan = "Plan"
    }

    struct Node: Decodable {
        let type: String
        let alias: String?
        let indexName: String?
        let indexCondition: String?
        let relationship: String?
        let rows: Double
        let plans: [Node]?

        private enum CodingKeys: String, CodingKey {
            case type = "Node Type"
            case alias = "Alias"
            case indexName = "Index Name"
            case indexCondition = "Index Cond"
            case relationship = "Parent Relationship"
            case rows = "Plan Rows"
            case plans = "Plans"
        }
    }

    /// An index, and the part of the condition that it serves.
    struct IndexUse {
        let name: String
        let condition: String

        /// Whether it compares a column, named as quoted for SQL, so that no row in which that is NULL can match.
        ///
        /// A verbose plan names each column behind its table and a dot.
        func compares(_ column: String) throws(SQLFlaw) -> Bool {
            let lexer = SQLLexer(condition)
            let tokens = try SQLLexer.tokens(condition)
            let isNamed = zip(tokens, tokens.dropFirst()).contains { dot, name in
                dot.isSymbol(".") && lexer.text(name.range) == column
            }
            return isNamed && !condition.contains("IS NULL")
        }
    }
}

extension QueryPlan.Node {
    /// The index by which a table is read; nil when it is read in another way, or by several.
    func index(scanning alias: String) -> QueryPlan.IndexUse? {
        guard let scan = scan(of: alias) else { return nil }
        // The bitmap's own node names the index.
        let node = scan.type == "Bitmap Heap Scan" ? scan.plans?.first : scan
        guard let node, let name = node.indexName, let condition = node.indexCondition else {
            return nil
        }
        return QueryPlan.IndexUse(name: name, condition: condition)
    }

    private func scan(of alias: String) -> QueryPlan.Node? {
        if relationship == "InitPlan" || relationship == "SubPlan" { return nil }
        if self.alias.map({ quoted(identifier: $0) == alias || $0 == alias }) == true {
            return self
        }
        for plan in plans ?? [] {
            if let found = plan.scan(of: alias) { return found }
        }
        return nil
    }
}
