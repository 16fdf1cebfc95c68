/// What ends the lines of a file, and how many of them lie inside quotes.
///
/// A line feed does, with or without a carriage return before it; a carriage return alone does
/// where the first line ends in one.
struct LineEnds: Sendable, Equatable {
    /// Nil until the first line has ended.
    private(set) var carriageReturnAlone: Bool?
    private var feedsInside: Int64 = 0
    private var returnsInside: Int64 = 0

    init(carriageReturnAlone: Bool?) {
        self.carriageReturnAlone = carriageReturnAlone
    }

    static func mayBegin(_ byte: UInt8) -> Bool {
        byte == Byte.lineFeed || byte == Byte.carriageReturn
    }

    /// The size of the line end that may begin here, outside quotes: 0 when the byte is data, nil
    /// when only the next byte will tell.
    mutating func size(at index: Int, in bytes: Span<UInt8>, atEnd: Bool) -> Int? {
        if bytes[index] == Byte.lineFeed {
            settle(alone: false)
            return 1
        }
        guard index + 1 < bytes.count else {
            return atEnd ? sizeOfCarriageReturn() : nil
        }
        if bytes[index + 1] == Byte.lineFeed {
            settle(alone: false)
            return 2
        }
        return sizeOfCarriageReturn()
    }

    private mutating func sizeOfCarriageReturn() -> Int {
        settle(alone: true)
        return carriageReturnAlone == true ? 1 : 0
    }

    /// The first line decides, and no other.
    private mutating func settle(alone: Bool) {
        if carriageReturnAlone == nil {
            carriageReturnAlone = alone
        }
    }
}

extension LineEnds {
    /// The line ends inside the quotes of the record at hand, which are lines of the file as well.
    var inside: Int64 {
        feedsInside + (carriageReturnAlone == true ? returnsInside : 0)
    }

    /// Counts a line end inside quotes; its size.
    mutating func passInside(_ byte: UInt8, before next: UInt8?) -> Int {
        if byte == Byte.carriageReturn, next != Byte.lineFeed {
            returnsInside += 1
            return 1
        }
        feedsInside += 1
        return byte == Byte.lineFeed ? 1 : 2
    }

    mutating func forgetInside() {
        feedsInside = 0
        returnsInside = 0
    }
}
