/// A place between two records where the reading of a file can start again.
struct ReadPosition: Sendable, Equatable {
    static let start = ReadPosition(offset: 0, line: 1)

    /// Unpacked bytes before it.
    let offset: Int64
    /// The physical line that begins there, counted from 1.
    let line: Int64
    /// Whether a carriage return alone ends a line; nil until the first line has ended.
    let carriageReturnEndsLine: Bool?

    init(offset: Int64, line: Int64, carriageReturnEndsLine: Bool? = nil) {
        self.offset = offset
        self.line = line
        self.carriageReturnEndsLine = carriageReturnEndsLine
    }
}

extension ReadPosition: Codable {
    private enum CodingKeys: String, CodingKey {
        case offset, line, carriageReturnEndsLine
    }

    /// No file is longer, and counting on from here can never overflow.
    private static let greatest: Int64 = 1 << 60

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        offset = try values.decode(Int64.self, forKey: .offset)
        line = try values.decode(Int64.self, forKey: .line)
        carriageReturnEndsLine = try values.decodeIfPresent(
            Bool.self,
            forKey: .carriageReturnEndsLine
        )
        guard 0...Self.greatest ~= offset, 1...Self.greatest ~= line else {
            throw DecodingError.dataCorruptedError(
                forKey: .offset,
                in: values,
                debugDescription: "no position in a file: offset \(offset), line \(line)"
            )
        }
    }
}
