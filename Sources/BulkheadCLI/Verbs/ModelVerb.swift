internal import BulkheadJobs
internal import FoundationEssentials

/// Writes the model of a database that is there.
enum ModelVerb: Verb {
    static let name = "model"
    static let summary = "Write the tables of a schema as a model, for migrate --model"
    static let synopsis = "[--schema NAME]"
    static let options: [Option] = [.value("--schema", "NAME", "the schema (public)")]
    static let example = "bulkhead model > model.json"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        guard arguments.operands.isEmpty else { throw UsageError("model takes no operand") }
        let schema = arguments.text("--schema") ?? "public"
        return try await Database.use(arguments) { connection in
            let found = try CatalogModel(schema: schema, connection)
            if found.model.tables.isEmpty, found.notes.isEmpty {
                throw EmptySchema(name: schema)
            }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            let text = String(decoding: try encoder.encode(found.model), as: UTF8.self)
            try terminal.result(text)
            for note in found.notes { terminal.note("\(note): it is not in the model") }
            return .done
        }
    }
}

/// There is nothing to make a model of.
private struct EmptySchema: Error, CustomStringConvertible {
    let name: String

    var description: String { "there is no table in the schema \(name)" }
}
