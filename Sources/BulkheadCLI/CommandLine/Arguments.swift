internal import FoundationEssentials

/// The words after the verb, sorted into options and operands.
struct Arguments {
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]

    /// Reads words by the options that a verb knows.
    ///
    /// - Throws: `UsageError` for an option that is unknown, lacks its value or is given twice.
    init(_ words: [String], options: [Option]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                operands.append(word)
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map(String.init)
            guard let option = options.first(where: { $0.name == parts[0] }) else {
                throw UsageError("unknown option \(parts[0])")
            }
            let value: String
            if option.value == nil {
                guard parts.count == 1 else { throw UsageError("\(option.name) takes no value") }
                value = ""
            } else {
                guard let given = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    throw UsageError("\(option.name) needs a value")
                }
                value = given
            }
            if values[option.name] != nil, !option.repeats {
                throw UsageError("\(option.name) is given twice")
            }
            values[option.name, default: []].append(value)
        }
    }

    func has(_ name: String) -> Bool { values[name] != nil }

    func text(_ name: String) -> String? { values[name]?.first }

    func texts(_ name: String) -> [String]? { values[name] }

    /// Words separated by commas.
    func list(_ name: String) throws -> [String]? {
        guard let text = text(name) else { return nil }
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        // A name left out would shift those behind it.
        guard !words.contains("") else {
            throw UsageError("\(name) takes names with commas between them, not \"\(text)\"")
        }
        return words
    }

    /// A whole number within bounds.
    func number(_ name: String, in bounds: ClosedRange<Int>) throws -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = Int(text), bounds.contains(number) else {
            let upper = bounds.upperBound == .max ? "up" : "to \(bounds.upperBound)"
            throw UsageError(
                "\(name) takes a whole number from \(bounds.lowerBound) \(upper), not \(text)"
            )
        }
        return number
    }

    /// A number of seconds, up to a day.
    func seconds(_ name: String) throws -> Duration? {
        guard let text = text(name) else { return nil }
        guard let number = Double(text), (0...86_400).contains(number) else {
            throw UsageError("\(name) takes seconds, from 0 to 86400, not \(text)")
        }
        return .seconds(number)
    }

    /// One of some words.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String,
        of type: Choice.Type
    ) throws -> Choice? where Choice.RawValue == String {
        guard let text = text(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let all = type.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("\(name) is one of \(all), not \(text)")
        }
        return choice
    }

    /// The operands as job ids.
    func jobs() throws -> [Int64] {
        guard !operands.isEmpty else { throw UsageError("the id of a job is missing") }
        return try operands.map { word in
            guard let id = Int64(word), id > 0 else {
                throw UsageError("\(word) is not the id of a job")
            }
            return id
        }
    }
}

/// The command was written wrongly.
struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
