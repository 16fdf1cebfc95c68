/// What went wrong with a private server, in one line.
package struct PostgresServerError: Error, Sendable, CustomStringConvertible {
    /// The line.
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
