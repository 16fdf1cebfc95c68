/// The values of one line of JSON, by the columns that they go to.
struct JSONRow: Sendable {
    /// The value for each column, in the order of the columns; behind them those that are dropped.
    private(set) var values: [JSONToken]
    /// The keys of the values.
    private var spellings: [JSONToken]
    private var scanner = JSONScanner()
    private var keys: JSONKeys

    init(keys: JSONKeys) {
        self.keys = keys
        values = Array(repeating: JSONToken(), count: keys.targetCount)
        spellings = values
    }

    /// Reads a line, which must be valid UTF-8.
    mutating func read(_ bytes: Span<UInt8>) throws(JSONRowError) {
        for index in values.indices {
            values[index] = JSONToken()
        }
        var index = JSONScanner.afterBlanks(bytes, from: 0)
        guard bytes.byte(at: index) == UInt8(ascii: "{") else { throw .noObject(offset: index) }
        index = JSONScanner.afterBlanks(bytes, from: index + 1)
        if bytes.byte(at: index) == UInt8(ascii: "}") {
            index += 1
        } else {
            index = try readMembers(bytes, from: index)
        }
        index = JSONScanner.afterBlanks(bytes, from: index)
        if index < bytes.count { throw .textAfterObject(offset: index) }
    }

    /// Reads keys and values; where the object has ended.
    private mutating func readMembers(
        _ bytes: Span<UInt8>,
        from start: Int
    ) throws(JSONRowError) -> Int {
        var index = start
        var place = 0
        while true {
            index = try readMember(bytes, from: index, place: place)
            index = JSONScanner.afterBlanks(bytes, from: index)
            switch bytes.byte(at: index) {
            case UInt8(ascii: ","): index = JSONScanner.afterBlanks(bytes, from: index + 1)
            case UInt8(ascii: "}"): return index + 1
            case nil: throw .flaw(.malformed("the object is not closed", at: index))
            default: throw .flaw(.malformed("a comma is missing", at: index))
            }
            place += 1
        }
    }

    /// Reads one key and its value; where the value ends.
    private mutating func readMember(
        _ bytes: Span<UInt8>,
        from start: Int,
        place: Int
    ) throws(JSONRowError) -> Int {
        let key: JSONToken
        let valueStart: Int
        do throws(JSONFlaw) {
            key = try JSONScanner.string(bytes, at: start)
            valueStart = try JSONScanner.afterColon(bytes, from: key.end)
        } catch {
            throw .flaw(error)
        }
        let found = findTarget(of: key, at: place, in: bytes)
        let value: JSONToken
        do throws(JSONFlaw) {
            value = try scanner.value(bytes, at: valueStart)
        } catch {
            throw .valueFlaw(error, target: found)
        }
        let target: Int
        switch found {
        case .success(let place): target = place
        case .failure(let problem): throw .key(problem, value: value)
        }
        if values[target].kind != .missing {
            throw .repeated(key, spellings[target], value: value, target: target)
        }
        values[target] = value
        spellings[target] = key
        return value.end
    }
}

extension JSONRow {
    private mutating func findTarget(
        of key: JSONToken,
        at place: Int,
        in bytes: Span<UInt8>
    ) -> Result<Int, KeyProblem> {
        do {
            return .success(try keys.target(of: key, at: place, in: bytes))
        } catch {
            return .failure(error)
        }
    }
}

/// Why no row can be made of a line.
enum JSONRowError: Error, Equatable {
    case flaw(JSONFlaw)
    /// The flaw of a value, and where it would have gone.
    case valueFlaw(JSONFlaw, target: Result<Int, KeyProblem>)
    case noObject(offset: Int)
    case textAfterObject(offset: Int)
    case key(KeyProblem, value: JSONToken)
    case repeated(JSONToken, JSONToken, value: JSONToken, target: Int)
}
