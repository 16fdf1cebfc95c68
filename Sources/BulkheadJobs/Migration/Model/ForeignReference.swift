/// The table behind REFERENCES in the definition of a foreign key.
struct ForeignReference: Equatable {
    /// The schema, where it is written.
    let schema: String?
    let table: String

    /// Reads the definition; a word within quotes is part of a name.
    init?(_ definition: String) {
        var words = Words(rest: definition.unicodeScalars[...])
        while let word = words.next() {
            guard word == Words.Word(text: "references", isQuoted: false) else { continue }
            guard let first = words.next() else { return nil }
            guard words.skip(".") else {
                schema = nil
                table = first.text
                return
            }
            guard let second = words.next() else { return nil }
            schema = first.text
            table = second.text
            return
        }
        return nil
    }
}

/// The names and words of a piece of SQL, as the server folds them.
private struct Words {
    struct Word: Equatable {
        let text: String
        let isQuoted: Bool
    }

    var rest: Substring.UnicodeScalarView

    mutating func next() -> Word? {
        while let first = rest.first {
            if first == "\"" { return quoted() }
            if Self.isPart(first) { return plain() }
            rest.removeFirst()
        }
        return nil
    }

    /// Passes a sign, where it is what comes next.
    mutating func skip(_ sign: Unicode.Scalar) -> Bool {
        let after = rest.drop { $0.properties.isWhitespace }
        guard after.first == sign else { return false }
        rest = after.dropFirst()
        return true
    }

    private mutating func plain() -> Word {
        let word = rest.prefix(while: Self.isPart)
        rest = rest[word.endIndex...]
        let folded = word.map { $0.isASCII ? Character($0).lowercased() : String($0) }
        return Word(text: folded.joined(), isQuoted: false)
    }

    private mutating func quoted() -> Word {
        var text = String.UnicodeScalarView()
        rest.removeFirst()
        while let scalar = rest.popFirst() {
            if scalar == "\"" {
                guard rest.first == "\"" else { break }
                rest.removeFirst()
            }
            text.append(scalar)
        }
        return Word(text: String(text), isQuoted: true)
    }

    private static func isPart(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "_" || scalar == "$" || !scalar.isASCII || scalar.properties.isAlphabetic
            || ("0"..."9").contains(scalar)
    }
}
