import Foundation

/// A directory that is gone with its last user.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("bulkhead-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            print("\(path) is left behind: \(error)")
        }
    }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(
            atPath: path(name),
            withIntermediateDirectories: true
        )
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    func write(_ text: String, to name: String) throws {
        try write(Array(text.utf8), to: name)
    }

    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: path(name),
            withDestinationPath: target
        )
    }
}
