/// A name of a table or another object, with its schema where one is written.
struct QualifiedName: Equatable {
    /// The parts, as the server folds them.
    let parts: [String]
    /// The tokens that it takes.
    let count: Int
    /// Where it ends in the text, in bytes.
    let end: Int

    /// Reads the name that some tokens begin with.
    init?(_ tokens: ArraySlice<SQLToken>) {
        var rest = tokens
        guard let first = rest.popFirst(), let name = first.name else { return nil }
        var parts = [name]
        var end = first.range.upperBound
        while rest.first?.isSymbol(".") == true, let next = rest.dropFirst().first,
            let name = next.name
        {
            parts.append(name)
            end = next.range.upperBound
            rest = rest.dropFirst(2)
        }
        self.parts = parts
        self.end = end
        count = tokens.count - rest.count
    }
}
