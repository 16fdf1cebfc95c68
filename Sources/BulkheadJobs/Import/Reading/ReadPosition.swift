/// A place between two records where the reading of a file can start again.
struct ReadPosition: Sendable, Equatable, Codable {
    /// Unpacked bytes before it.
    var offset: Int64
    /// The physical line that begins there, counted from 1.
    var line: Int64
    /// Whether a carriage return alone ends a line; nil until the first line has ended.
    var carriageReturnEndsLine: Bool?

    static let start = ReadPosition(offset: 0, line: 1, carriageReturnEndsLine: nil)
}
