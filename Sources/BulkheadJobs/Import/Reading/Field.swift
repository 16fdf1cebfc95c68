/// Where one field lies in its record, without the quotes around it.
struct Field: Sendable, Equatable {
    let start: Int
    let end: Int
    let isQuoted: Bool
    /// Whether bytes in it are escaped, so that its value is not what stands there.
    let isEscaped: Bool
}
