/// What a record of a text file is.
enum RecordLayout: Sendable, Equatable {
    /// Fields with delimiters between them; a quoted one may hold line ends.
    case fields(TextDialect)
    /// One physical line.
    case lines
}
