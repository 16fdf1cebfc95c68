public import Bulkhead
internal import Foundation

/// A log whose lines a test can read.
public final class TestLog: Sendable {
    /// Writes to it.
    public let logger: Logger
    private let file: FileHandle

    /// Makes an empty log.
    ///
    /// - Parameters:
    ///   - level: Lines below this level are left out.
    ///   - format: How the lines look.
    /// - Throws: When there is no room for it.
    public init(level: Logger.Level = .info, format: Logger.Format = .text) throws {
        let path = NSTemporaryDirectory() + "bulkhead-log-\(UUID().uuidString)"
        try Data().write(to: URL(fileURLWithPath: path))
        file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try FileManager.default.removeItem(atPath: path)
        logger = Logger(
            level: level,
            format: format,
            descriptor: file.fileDescriptor,
            owner: file
        )
    }

    /// All lines so far.
    public var lines: [String] {
        let descriptor = file.fileDescriptor
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = pread(descriptor, &buffer, buffer.count, off_t(bytes.count))
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Waits until the lines are as they should be.
    ///
    /// - Throws: `TimedOut` when they are not within the time.
    public func waitUntil(
        within limit: Duration = .seconds(30),
        _ condition: ([String]) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while !condition(lines) {
            if .now > deadline { throw TimedOut(what: "the log: \(lines.suffix(5))") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
