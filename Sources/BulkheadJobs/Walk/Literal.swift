/// Text for the inside of a literal between single quotes.
func literal(_ text: String) -> String {
    text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
}
