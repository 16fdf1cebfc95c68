internal import Bulkhead
internal import Glibc
internal import Postgres

/// Adds a job of any kind.
enum EnqueueVerb: Verb {
    static let name = "enqueue"
    static let summary = "Add a job of any kind, such as one of a handler of your own"
    static let synopsis = "KIND [JSON | -] [options]"
    static let options: [Option] = Option.enqueue
    static let example = "bulkhead enqueue refresh-carriers '{\"carriers\":[\"UA\"]}' --wait"

    static func run(_ arguments: Arguments, _ terminal: Terminal) async throws -> ExitStatus {
        let operands = arguments.operands
        guard let kind = operands.first, !kind.isEmpty else {
            throw UsageError("enqueue needs the kind of the job")
        }
        guard operands.count < 3 else {
            throw UsageError("enqueue takes one JSON object: put it into single quotes")
        }
        let options = try EnqueueOptions(arguments)
        let args = try args(operands.dropFirst().first)
        return try await Database.use(arguments) { connection in
            let call: SQL = "select bulkhead.enqueue(\(kind), \(args), \(options.sql))"
            let job = try Enqueued.add(call, connection)
            return try await Enqueued(job, connection, arguments, terminal).finish()
        }
    }

    /// The JSON as it was written: the server reads it, so that no number changes on its way.
    private static func args(_ word: String?) throws -> JSONText {
        guard let word else { return JSONText("{}") }
        guard word == "-" else { return JSONText(word) }
        var bytes: [UInt8] = []
        let size = 1 << 16
        while true {
            let chunk = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                count = max(0, read(0, buffer.baseAddress, size))
            }
            if chunk.isEmpty { break }
            bytes += chunk
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("what came by standard input is not UTF-8")
        }
        guard text.contains(where: { !$0.isWhitespace }) else {
            throw UsageError("nothing came by standard input: enqueue - reads a JSON object there")
        }
        return JSONText(text)
    }
}
