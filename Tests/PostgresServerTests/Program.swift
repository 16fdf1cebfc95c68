import Foundation

/// A program that a test runs, with its output and its end as things to await.
final class Program {
    /// The folder of the built programs, which is that of the test bundle.
    static let built = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent()

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()

    var id: pid_t { process.processIdentifier }

    init(
        _ command: [String],
        environment: [String: String] = [:],
        directory: URL? = nil
    ) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        // Whoever starts the tests may ignore signals, and a child inherits that.
        process.arguments = ["--default-signal"] + command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.currentDirectoryURL = directory ?? process.currentDirectoryURL
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    static func privateServer(
        _ command: String...,
        directory: URL? = nil
    ) throws -> Program {
        let program = built.appending(path: "private-server").path(percentEncoded: false)
        return try Program([program] + command, directory: directory)
    }

    func endInput() throws {
        try input.fileHandleForWriting.close()
    }

    func line() async throws -> String {
        let handle = output.fileHandleForReading
        return try await onThread {
            var bytes = Data()
            while let byte = try handle.read(upToCount: 1), byte != Data("\n".utf8) {
                bytes += byte
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    func restOfOutput() async throws -> String {
        try await everything(from: output)
    }

    /// Complete only when every process that inherited the pipe has ended.
    func restOfErrors() async throws -> String {
        try await everything(from: errors)
    }

    func exitStatus() async throws -> Int32 {
        _ = try await everything(from: errors)
        process.waitUntilExit()
        return process.terminationReason == .exit
            ? process.terminationStatus : 128 + process.terminationStatus
    }

    private func everything(from pipe: Pipe) async throws -> String {
        let handle = pipe.fileHandleForReading
        return try await onThread {
            String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
        }
    }

    private func onThread<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "program").async {
                continuation.resume(with: Result(catching: work))
            }
        }
    }
}
