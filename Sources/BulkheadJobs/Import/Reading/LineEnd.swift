/// What ends a record in its file.
enum LineEnd: UInt8, Sendable {
    /// The end of the file.
    case none
    case lineFeed, carriageReturn, both

    var text: String {
        switch self {
        case .none: ""
        case .lineFeed: "\n"
        case .carriageReturn: "\r"
        case .both: "\r\n"
        }
    }
}
