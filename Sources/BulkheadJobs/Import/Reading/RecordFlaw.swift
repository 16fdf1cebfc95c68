/// Why a record cannot be split into fields.
enum RecordFlaw: Sendable, Equatable {
    /// Text between a closing quote and the next delimiter; fields count from 1.
    case textAfterQuote(field: Int)
    case tooLong(limit: Int)
    case tooManyFields(limit: Int)
}

extension RecordFlaw {
    var isTooLong: Bool {
        if case .tooLong = self { true } else { false }
    }
}
