import Foundation
import PostgresServer
import Testing

extension PostgresServer {
    /// The answer to a statement, as `psql` prints it without decoration.
    func answer(to sql: String, database: String = "postgres") async throws -> String {
        let program = try Program(
            ["\(binDirectory)/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql],
            environment: environment(database: database)
        )
        let text = try await program.restOfOutput()
        let errors = try await program.restOfErrors()
        try #require(errors.isEmpty, "\(sql): \(errors)")
        return text.trimmingCharacters(in: .newlines)
    }

    /// Whether a process is there and not merely waiting to be collected.
    static func isAlive(_ id: Int32) -> Bool {
        guard let status = FileManager.default.contents(atPath: "/proc/\(id)/status") else {
            return false
        }
        return !String(decoding: status, as: UTF8.self).contains("State:\tZ")
    }
}
