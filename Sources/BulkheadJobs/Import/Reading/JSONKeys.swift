/// Which column each key of an object goes to.
///
/// Most objects of a file spell the same keys in the same order, so each key is first compared with
/// the one that stood in its place before.
struct JSONKeys: Sendable {
    /// How a column answers to a key.
    struct Column: Sendable {
        let name: String
        /// Its position among the columns that are filled; nil when it takes no values.
        let position: Int?
        /// Why it takes none.
        let refusal: String
    }

    /// Places where the value of a key can go: a column that is filled, or one that is dropped.
    let targetCount: Int

    private let columns: [Column]
    private let columnIndex: NameIndex
    private let renames: [(name: String, target: Target)]
    private let renameIndex: NameIndex

    private enum Target {
        case column(Int)
        case dropped(Int)
    }

    /// The keys that were met and have a target, as they are spelled after unescaping.
    private var known: [(bytes: [UInt8], target: Int)] = []
    private var knownByHash: [UInt64: Int] = [:]
    /// The known key that stood at each place of an object.
    private var atPlace: [Int] = []

    /// Case alone can spell one name in very many ways: the file must not decide what is kept.
    private static let mostKnown = 10_000

    /// Takes the columns of the table, and what `--map` says.
    init(columns: [Column], renames: [ColumnRename]) throws(MappingError) {
        self.columns = columns
        columnIndex = NameIndex(columns.map(\.name))
        renameIndex = NameIndex(renames.map(\.fileName))
        let filled = columns.count { $0.position != nil }
        var targets: [(name: String, target: Target)] = []
        for (number, rename) in renames.enumerated() {
            guard let name = rename.column else {
                targets.append((rename.fileName, .dropped(filled + number)))
                continue
            }
            switch columnIndex.match(name) {
            case .places(let places):
                if columns[places[0]].position == nil {
                    throw .generated(columns[places[0]].name, from: rename.fileName)
                }
                targets.append((rename.fileName, .column(places[0])))
            case .ambiguous(let candidates): throw .ambiguousTarget(name, candidates: candidates)
            case .none: throw .unknownTarget(name, from: rename.fileName)
            }
        }
        self.renames = targets
        targetCount = filled + renames.count
    }

    /// Where the value of a key goes, which is the key of this number in its object.
    mutating func target(
        of key: JSONToken,
        at place: Int,
        in bytes: Span<UInt8>
    ) throws(KeyProblem) -> Int {
        if place < atPlace.count, key.kind == .plainString {
            let expected = known[atPlace[place]]
            if Self.matches(expected.bytes, key.content, bytes) {
                return expected.target
            }
        }
        let name = key.kind == .plainString ? nil : JSONString.text(key, of: bytes)
        let hash = name.map { Self.hash($0.span, $0.indices) } ?? Self.hash(bytes, key.content)
        if let number = knownByHash[hash] {
            let isSame =
                name.map { $0 == known[number].bytes }
                ?? Self.matches(known[number].bytes, key.content, bytes)
            if isSame {
                remember(number, at: place)
                return known[number].target
            }
        }
        return try lookUp(name ?? key.content.map { bytes[$0] }, hash, at: place)
    }

    private mutating func lookUp(
        _ bytes: [UInt8],
        _ hash: UInt64,
        at place: Int
    ) throws(KeyProblem) -> Int {
        let target = try target(of: String(decoding: bytes, as: UTF8.self))
        if known.count < Self.mostKnown, knownByHash[hash] == nil {
            knownByHash[hash] = known.count
            known.append((bytes, target))
            remember(known.count - 1, at: place)
        }
        return target
    }

    private mutating func remember(_ number: Int, at place: Int) {
        if place < atPlace.count {
            atPlace[place] = number
        } else if place == atPlace.count {
            atPlace.append(number)
        }
    }

    private static func matches(_ name: [UInt8], _ range: Range<Int>, _ bytes: Span<UInt8>) -> Bool
    {
        guard name.count == range.count else { return false }
        var index = range.lowerBound
        for byte in name {
            if bytes[index] != byte {
                return false
            }
            index += 1
        }
        return true
    }

    /// FNV-1a: a key that collides costs a second look, no more.
    private static func hash(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in range {
            hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
        }
        return hash
    }
}

// MARK: By name

/// Why the value of a key goes nowhere.
struct KeyProblem: Error, Equatable {
    let message: String
    /// The column that it names, where there is one.
    let column: String?
}

extension JSONKeys {
    private func target(of name: String) throws(KeyProblem) -> Int {
        switch renameIndex.match(name) {
        case .places(let places):
            switch renames[places[0]].target {
            case .column(let column): return try position(of: column, for: name)
            case .dropped(let target): return target
            }
        case .ambiguous(let candidates): throw Self.ambiguous(name, candidates)
        case .none: break
        }
        switch columnIndex.match(name) {
        case .places(let places): return try position(of: places[0], for: name)
        case .ambiguous(let candidates): throw Self.ambiguous(name, candidates)
        case .none:
            throw KeyProblem(
                message: "the key \(Quoted(name)) is not a column of the table",
                column: nil
            )
        }
    }

    private func position(of index: Int, for name: String) throws(KeyProblem) -> Int {
        let column = columns[index]
        guard let position = column.position else {
            throw KeyProblem(
                message: "the key \(Quoted(name)) names a column that takes no value: "
                    + "\(Quoted(column.name)) \(column.refusal)",
                column: column.name
            )
        }
        return position
    }

    private static func ambiguous(_ name: String, _ candidates: [String]) -> KeyProblem {
        let shown = candidates.prefix(8).map { Quoted($0).description }.joined(separator: ", ")
        return KeyProblem(
            message: "the key \(Quoted(name)) could be any of \(shown)",
            column: nil
        )
    }
}
