import BulkheadTesting
import Foundation

/// A database, a directory with files in it, and the program in that directory.
struct Workplace {
    let database: TestDatabase
    let folder: URL
    var program: Program

    static func with(
        hasSchema: Bool = true,
        _ body: (Workplace) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "bulkhead-place-\(UUID().uuidString)"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            do {
                try FileManager.default.removeItem(at: folder)
            } catch {
                print("could not remove \(folder.path()): \(error)")
            }
        }
        try await TestDatabase.with(hasSchema: hasSchema) { database in
            let program = Program(database: database, directory: folder)
            try await body(Workplace(database: database, folder: folder, program: program))
        }
    }

    func write(_ text: String, to name: String) throws {
        try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
    }

    /// Runs a worker until nothing is left to do.
    func drain(_ options: String...) async throws -> Program.Result {
        try await program.run(["worker", "--drain"] + options)
    }

    /// The names of a JSON object.
    func keys(of text: String) throws -> Set<String> {
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return Set(object?.keys.map { $0 } ?? [])
    }
}
