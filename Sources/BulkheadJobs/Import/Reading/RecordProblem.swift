/// Why a record cannot be loaded: what the reject of it says.
struct RecordProblem: Error, Sendable, Equatable {
    /// The field that is to blame, counted from 1, where there is one.
    let field: Int?
    let sqlstate: String
    let message: String
    /// The column that is to blame, where the record names its columns itself.
    let column: String?
    /// What the record says there.
    let value: [UInt8]?

    init(
        field: Int? = nil,
        column: String? = nil,
        value: [UInt8]? = nil,
        sqlstate: String,
        message: String
    ) {
        self.field = field
        self.column = column
        self.value = value
        self.sqlstate = sqlstate
        self.message = message
    }
}

extension RecordProblem {
    static let badCopyFormat = "22P04"
    static let notInRepertoire = "22021"
    static let limitExceeded = "54000"

    init(_ flaw: RecordFlaw) {
        switch flaw {
        case .textAfterQuote(let field):
            self.init(
                field: field,
                sqlstate: Self.badCopyFormat,
                message: "text after the closing quote of field \(field)"
            )
        case .tooLong(let limit):
            self.init(
                sqlstate: Self.limitExceeded,
                message: "record longer than \(limit) bytes, the most that --max-row-bytes allows"
            )
        case .tooManyFields(let limit):
            self.init(
                sqlstate: Self.limitExceeded,
                message: "record of more than \(limit) fields"
            )
        }
    }

    static func fieldCount(_ found: Int, expected: Int) -> RecordProblem {
        RecordProblem(
            sqlstate: badCopyFormat,
            message: "expected \(expected) field\(expected == 1 ? "" : "s"), found \(found)"
        )
    }

    static func nulByte(field: Int?, offset: Int) -> RecordProblem {
        RecordProblem(
            field: field,
            sqlstate: notInRepertoire,
            message: "NUL character (0x00) at offset \(offset) of the record: text cannot hold it"
        )
    }

    static func invalidBytes(field: Int?, offset: Int, byte: UInt8) -> RecordProblem {
        // It also stands for what a converter could not make anything of.
        let isKnown = byte != 0xFF
        let hex = isKnown ? ": 0x" + String(byte, radix: 16) : ""
        return RecordProblem(
            field: field,
            sqlstate: notInRepertoire,
            message: "invalid in the file's encoding\(hex) at offset \(offset) of the record"
        )
    }
}
