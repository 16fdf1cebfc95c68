import Foundation

/// A file for what a daemon logs, to be read by the test.
final class LogFile: Sendable {
    let descriptor: Int32
    private let path: String

    init() {
        path =
            FileManager.default.temporaryDirectory
            .appending(path: "bulkhead-log-\(UUID().uuidString)").path()
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    var text: String {
        get throws { try String(contentsOfFile: path, encoding: .utf8) }
    }
}
