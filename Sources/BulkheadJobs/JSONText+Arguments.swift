internal import Bulkhead

extension JSONText {
    /// Reads the args of a job; an argument that is unknown is refused, never ignored.
    ///
    /// - Parameters:
    ///   - function: The function that enqueues such jobs, for messages.
    ///   - names: All the names that there are.
    /// - Returns: The args as a type of their own.
    /// - Throws: `JobFailure`.
    func decodeArguments<Wanted: Decodable>(
        of function: String,
        names: [String]
    ) throws -> Wanted {
        do {
            let given = try decode([String: Ignored].self).keys
            if let unknown = given.filter({ !names.contains($0) }).min() {
                throw JobFailure(
                    "unknown argument \(unknown): the arguments are those of \(function)"
                )
            }
            return try decode()
        } catch let error as DecodingError {
            throw JobFailure("the arguments of this job cannot be read: \(error.inWords)")
        }
    }
}

private struct Ignored: Decodable {
    init(from decoder: any Decoder) {}
}
