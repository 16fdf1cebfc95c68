internal import Dispatch
internal import Glibc

/// The other end of the shell process that runs a server for its owner.
///
/// The two share one socket: requests and answers are lines. The socket closes with the owner,
/// however that ends, and the shell then clears everything away.
final class Keeper: Sendable {
    private let descriptor: Int32
    // Answers take seconds, so they are awaited off the shared pool, in the order of the requests.
    private let queue = DispatchQueue(label: "bulkhead.postgres-server")

    /// Starts the shell.
    ///
    /// - Parameters:
    ///   - arguments: What the script takes.
    ///   - account: Who runs it; nil: the present user.
    ///   - environment: The environment of the owner, of which the server sees the harmless part.
    /// - Throws: A ``PostgresServerError`` if it cannot be run.
    init(
        arguments: [String],
        account: ServerAccount?,
        environment: [String: String]
    ) throws {
        var ends: [Int32] = [-1, -1]
        // Closed on exec from the start: a copy in a child of the owner would outlive the owner.
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw PostgresServerError("no socket: \(String(cString: strerror(errno)))")
        }
        descriptor = ends[0]
        // Only the shell may hold it: its end is then seen here at once.
        defer { close(ends[1]) }
        var patience = timeval(tv_sec: 240, tv_usec: 0)
        setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_RCVTIMEO,
            &patience,
            socklen_t(MemoryLayout<timeval>.size)
        )
        // By way of the environment, so that lists of processes show a line and not a page.
        // The owner's folder may be one that the server's user cannot enter.
        let shell = ["/bin/sh", "-c", #"cd /; eval "$BULKHEAD_KEEPER""#, "bulkhead-keeper"]
        let command = (account?.command ?? []) + shell
        let pid = try Spawn.start(
            command + arguments,
            environment: Self.environment(from: environment),
            input: ends[1],
            output: ends[1]
        )
        reap(pid)
    }

    /// Takes note of the shell's end, so that it does not stay in the list of processes.
    private func reap(_ pid: pid_t) {
        DispatchQueue(label: "bulkhead.postgres-server.end").async { Spawn.wait(for: pid) }
    }

    deinit {
        close(descriptor)
    }

    /// Sends a request, or with none awaits the greeting, and returns the answer.
    func ask(_ request: String?) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(
                    with: Result {
                        if let request {
                            try self.send(request + "\n")
                        }
                        return try self.receive()
                    }
                )
            }
        }
    }

    /// Has everything cleared away and returns when it is.
    func end() async {
        await withCheckedContinuation { continuation in
            queue.async {
                shutdown(self.descriptor, Int32(SHUT_WR))
                do {
                    while true { _ = try self.receive() }
                } catch {
                    // The shell never writes unasked: this is its end, or the time limit.
                    continuation.resume()
                }
            }
        }
    }

    private func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        // Without a signal: a dead shell is an error to report, not the end of the owner.
        let sent = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        guard sent == bytes.count else { throw Self.gone }
    }

    private func receive() throws -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            switch recv(descriptor, &byte, 1, 0) {
            case 1 where byte == UInt8(ascii: "\n"):
                return String(decoding: line, as: UTF8.self)
            case 1:
                line.append(byte)
            case -1 where errno == EINTR:
                continue
            case -1 where errno == EAGAIN:
                throw PostgresServerError("the server's shell has not answered for 4 minutes")
            default:
                throw Self.gone
            }
        }
    }

    private static let gone = PostgresServerError("the server was closed, or its shell was killed")

    /// Nothing of the owner's settings for clients reaches the server, nor any secret.
    private static func environment(from owner: [String: String]) -> [String: String] {
        var kept = owner.filter { ["TZ", "LD_LIBRARY_PATH"].contains($0.key) }
        kept["PATH"] = owner["PATH", default: ""] + ":/usr/bin:/bin:/usr/sbin:/sbin"
        kept["LC_ALL"] = "C"
        kept["BULKHEAD_KEEPER"] = keeperScript
        return kept
    }
}
