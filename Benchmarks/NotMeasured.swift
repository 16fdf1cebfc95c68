/// Why nothing can be measured.
struct NotMeasured: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
