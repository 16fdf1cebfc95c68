/// Puts the statements of a file into steps, as its comments say.
struct StepBuilder {
    private(set) var up: [MigrationStep] = []
    private(set) var down: [MigrationStep] = []

    private let file: String
    private var isDown = false
    private var usesTransaction = true
    /// goose says it once for the whole file.
    private var isEverOutside = false
    private var openStatement: Int?
    private var draft = StepDraft()

    init(_ text: String, file: String) throws(MigrationError) {
        self.file = file
        do throws(SQLFlaw) {
            for piece in try StatementSplitter.pieces(text, endsStatement: StepMark.isMeant) {
                switch piece {
                case .statement(let statement): draft.add(statement)
                case .comment(let text, let line, let isInside):
                    try follow(text, line: line, isInside: isInside)
                }
            }
            if let openStatement {
                throw SQLFlaw(
                    message: "+goose StatementBegin has no StatementEnd",
                    line: openStatement
                )
            }
            try endStep()
        } catch {
            throw MigrationError(error.message, file: file, line: error.line)
        }
    }

    private mutating func follow(_ text: String, line: Int, isInside: Bool) throws(SQLFlaw) {
        let mark: StepMark?
        do throws(StepMark.Flaw) {
            mark = try StepMark(comment: text)
        } catch {
            throw SQLFlaw(message: error.message, line: line)
        }
        guard let mark else { return }
        if isInside, mark.isOurs {
            throw SQLFlaw(
                message: "the statement before this comment is not ended by a semicolon",
                line: line
            )
        }
        switch mark {
        case .up(let usesTransaction): try begin(isDown: false, usesTransaction)
        case .down(let usesTransaction): try begin(isDown: true, usesTransaction)
        case .step(let kind):
            try endStep()
            draft = StepDraft(kind: kind, line: line)
        case .tables(let tables): draft.tables = (draft.tables ?? []) + tables
        case .noTransaction:
            isEverOutside = true
            usesTransaction = false
        case .statementBegin: openStatement = line
        case .statementEnd: openStatement = nil
        }
    }

    private mutating func begin(isDown: Bool, _ usesTransaction: Bool) throws(SQLFlaw) {
        try endStep()
        self.isDown = isDown
        self.usesTransaction = usesTransaction && !isEverOutside
    }

    private mutating func endStep() throws(SQLFlaw) {
        defer { draft = StepDraft() }
        guard let step = try draft.step(usesTransaction: usesTransaction) else { return }
        if isDown { down.append(step) } else { up.append(step) }
    }
}

extension StepMark {
    /// Whether it is a comment of ours, which no other tool takes as the end of a statement.
    fileprivate var isOurs: Bool {
        switch self {
        case .step, .tables: true
        default: false
        }
    }
}
