/// The number in the name of a migration's file, by which files are ordered: 7, 1.2 or 20261101120000.
package struct MigrationVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Its parts from the left, without zeros at the end: 1.0 is 1.
    package let parts: [UInt64]

    private init?(parts: [Substring]) {
        var numbers: [UInt64] = []
        for part in parts {
            guard let number = UInt64(part) else { return nil }
            numbers.append(number)
        }
        while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
        guard !numbers.isEmpty else { return nil }
        self.parts = numbers
    }

    /// Reads a number as people write it.
    package init?(_ text: String) {
        self.init(
            parts: text.split(
                whereSeparator: { $0 == "." || $0 == "_" },
                omittingEmptySubsequences: false
            )
        )
    }

    /// Reads the number of a file's name: `0007_x.sql`, `V1.2__x.sql` or `20261101120000_x.sql`.
    package init?(fileName name: String) {
        if name.hasPrefix("V") {
            guard let end = name.firstRange(of: "__") else { return nil }
            self.init(String(name[..<end.lowerBound].dropFirst()))
        } else {
            let digits = name.prefix { $0.isASCII && $0.isNumber }
            guard let next = name[digits.endIndex...].first, "_-.".contains(next) else {
                return nil
            }
            self.init(parts: [digits])
        }
    }

    package var description: String { parts.map(String.init).joined(separator: ".") }

    package static func < (left: MigrationVersion, right: MigrationVersion) -> Bool {
        left.parts.lexicographicallyPrecedes(right.parts)
    }
}

extension String {
    fileprivate func firstRange(of text: String) -> Range<String.Index>? {
        indices.first { self[$0...].hasPrefix(text) }.map { $0..<index($0, offsetBy: text.count) }
    }

    fileprivate func split(
        whereSeparator isSeparator: (Character) -> Bool,
        omittingEmptySubsequences: Bool
    ) -> [Substring] {
        split(
            maxSplits: .max,
            omittingEmptySubsequences: omittingEmptySubsequences,
            whereSeparator: isSeparator
        )
    }
}
