/// A comment that says how what follows is run: ours, dbmate's or goose's.
enum StepMark: Equatable {
    /// What follows changes the schema; dbmate says here whether in a transaction.
    case up(usesTransaction: Bool)
    /// What follows takes it back.
    case down(usesTransaction: Bool)
    /// A step begins.
    case step(MigrationStep.Kind)
    /// The step is about these tables.
    case tables([String])
    /// goose: nothing of the file runs in a transaction.
    case noTransaction
    /// goose: a statement begins or ends; what lies between is split as usual.
    case statementBegin
    case statementEnd

    /// What is wrong with a mark.
    struct Flaw: Error {
        let message: String
    }

    /// Reads a comment without its dashes; nil for one that is no mark.
    init?(comment: String) throws(Flaw) {
        let text = comment.trimmed
        if let words = text.dropping(prefix: "bulkhead:") {
            self = try Self.bulkhead(words.trimmed)
        } else if let words = text.dropping(prefix: "migrate:") {
            self = try Self.dbmate(words.trimmed)
        } else if let words = text.dropping(prefix: "+goose") {
            self = try Self.goose(words.trimmed)
        } else {
            return nil
        }
    }

    /// Whether a comment is meant as a mark, though it may be a wrong one.
    static func isMeant(_ comment: String) -> Bool {
        ["bulkhead:", "migrate:", "+goose"].contains { comment.trimmed.hasPrefix($0) }
    }

    // MARK: Dialects

    private static func bulkhead(_ text: String) throws(Flaw) -> StepMark {
        let (word, rest) = text.firstWord
        switch word {
        case "transaction" where rest.isEmpty: return .step(.transaction)
        case "concurrently" where rest.isEmpty: return .step(.concurrently)
        case "down" where rest.isEmpty: return .down(usesTransaction: true)
        case "backfill": return .step(.backfill(try backfill(rest)))
        case "tables": return .tables(try tables(rest))
        default:
            throw Flaw(
                message:
                    "\"bulkhead: \(text)\" is not understood: write transaction, concurrently, "
                    + "backfill TABLE [batch=N] [until EXPR], tables A, B, or down"
            )
        }
    }

    private static func dbmate(_ text: String) throws(Flaw) -> StepMark {
        let (word, rest) = text.firstWord
        let uses: Bool
        switch rest {
        case "", "transaction:true": uses = true
        case "transaction:false": uses = false
        default:
            throw Flaw(
                message: "\"migrate:\(text)\" is not understood: the option is transaction:false"
            )
        }
        switch word {
        case "up": return .up(usesTransaction: uses)
        case "down": return .down(usesTransaction: uses)
        default:
            throw Flaw(
                message: "\"migrate:\(text)\" is not understood: write migrate:up or migrate:down"
            )
        }
    }

    private static func goose(_ text: String) throws(Flaw) -> StepMark {
        switch text.uppercased() {
        case "UP": return .up(usesTransaction: true)
        case "DOWN": return .down(usesTransaction: true)
        case "STATEMENTBEGIN": return .statementBegin
        case "STATEMENTEND": return .statementEnd
        case "NO TRANSACTION": return .noTransaction
        default:
            throw Flaw(
                message:
                    "\"+goose \(text)\" is not understood: Up, Down, StatementBegin, StatementEnd and "
                    + "NO TRANSACTION are"
            )
        }
    }

    // MARK: Words

    private static func backfill(_ text: String) throws(Flaw) -> MigrationStep.Backfill {
        guard let (table, end) = try name(at: text) else {
            throw Flaw(
                message:
                    "backfill needs the table whose rows are walked: backfill TABLE [batch=N] [until EXPR]"
            )
        }
        var rest = text.dropFirst(end).trimmed
        var batch: Int?
        if let number = rest.dropping(prefix: "batch=") {
            let (digits, after) = number.firstWord
            guard let rows = Int(digits), (1...1_000_000).contains(rows) else {
                throw Flaw(
                    message: "batch= takes a number of rows from 1 to 1000000, not \(digits)"
                )
            }
            batch = rows
            rest = after
        }
        guard !rest.isEmpty else {
            return MigrationStep.Backfill(table: table, batch: batch, until: nil)
        }
        let (word, until) = rest.firstWord
        guard word == "until", !until.isEmpty else {
            throw Flaw(
                message: "\"\(rest)\" is not understood: backfill TABLE [batch=N] [until EXPR]"
            )
        }
        return MigrationStep.Backfill(table: table, batch: batch, until: until)
    }

    private static func tables(_ text: String) throws(Flaw) -> [String] {
        var names: [String] = []
        var rest = text
        while let (name, end) = try name(at: rest) {
            names.append(name)
            rest = rest.dropFirst(end).trimmed
            if rest.isEmpty { return names }
            guard rest.first == "," else { break }
            rest = rest.dropFirst().trimmed
        }
        throw Flaw(
            message: "tables takes names of tables with commas between them, not \"\(text)\""
        )
    }

    /// The name of a table at the start of a text, as it is written, and the characters that it takes.
    private static func name(at text: String) throws(Flaw) -> (String, Int)? {
        let tokens: [SQLToken]
        do throws(SQLFlaw) {
            tokens = try SQLLexer.tokens(text)
        } catch {
            throw Flaw(message: error.message)
        }
        guard let name = QualifiedName(tokens[...]) else { return nil }
        let bytes = Array(text.utf8)[..<name.end]
        let written = String(decoding: bytes, as: UTF8.self)
        return (written.trimmed, written.count)
    }
}

extension StringProtocol {
    /// The text without blanks around it.
    var trimmed: String {
        let isBlank: (Character) -> Bool = { $0.isWhitespace }
        guard let last = lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(self[...last].drop(while: isBlank))
    }

    /// What follows a prefix; nil when it does not begin so.
    fileprivate func dropping(prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }

    /// The text up to the first blank, and what follows the blanks.
    fileprivate var firstWord: (String, String) {
        let word = prefix { !$0.isWhitespace }
        return (String(word), String(self[word.endIndex...]).trimmed)
    }
}
