extension DecodingError {
    /// What is wrong, and at which key.
    package var inWords: String {
        switch self {
        case .keyNotFound(let key, let context):
            "\(path(context, key)) is missing"
        case .valueNotFound(let type, let context):
            "\(path(context)) is null where \(type) is needed"
        case .typeMismatch(let type, let context):
            "\(path(context)) is not of type \(type)"
        case .dataCorrupted(let context):
            "\(path(context)): \(context.debugDescription)"
        @unknown default:
            "\(self)"
        }
    }

    private func path(_ context: Context, _ last: (any CodingKey)? = nil) -> String {
        let keys = context.codingPath + [last].compactMap(\.self)
        return keys.isEmpty ? "the whole" : keys.map(\.stringValue).joined(separator: ".")
    }
}
