extension Record {
    /// What a field says, without quotes and escapes; nil when the record has no such field.
    func value(at index: Int, in dialect: TextDialect) -> [UInt8]? {
        guard fields.indices.contains(index) else { return nil }
        let field = fields[index]
        let stored = bytes.dropFirst(field.start).prefix(field.end - field.start)
        return field.isEscaped ? Self.unescaped(stored, in: dialect) : Array(stored)
    }

    private static func unescaped(
        _ stored: ArraySlice<UInt8>,
        in dialect: TextDialect
    ) -> [UInt8] {
        let escape = dialect.escape ?? dialect.quote
        var value: [UInt8] = []
        var isPending = false
        for byte in stored {
            if isPending {
                // Before any other byte, the escape is a byte like all others.
                if byte != escape, byte != dialect.quote {
                    value.append(escape)
                }
                value.append(byte)
                isPending = false
            } else if byte == escape {
                isPending = true
            } else {
                value.append(byte)
            }
        }
        return isPending ? value + [escape] : value
    }
}
