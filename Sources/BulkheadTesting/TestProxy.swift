internal import Foundation
internal import Glibc
internal import Postgres

/// Stands between a client and the server, and can do what bad networks do.
package final class TestProxy: Sendable {
    /// The folder of its socket, to be named as the host.
    package let directory: String
    private let target: String
    private let listener: Int32
    private let state = Lock(State())

    private struct State {
        var sockets: Set<Int32> = []
        var swallowsReplies = false
        var refuses = false
        var requests = 0
        var isClosed = false
    }

    /// Starts a proxy.
    ///
    /// - Parameter database: A database whose server listens on a local socket.
    /// - Throws: `TimedOut` when the system has no socket left.
    package init(to database: TestDatabase) throws {
        guard
            let host = URLComponents(string: database.url)?.queryItems?
                .first(where: { $0.name == "host" })?.value
        else { throw TimedOut(what: "the server has no local socket") }
        target = host + "/.s.PGSQL.5432"
        directory = "/tmp/bhp" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: false
        )
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let isBound = withAddress(directory + "/.s.PGSQL.5432") { bind(listener, $0, $1) }
        guard isBound == 0, listen(listener, 100) == 0 else {
            throw TimedOut(what: "no socket for a proxy")
        }
        Thread.detachNewThread { [self] in acceptAll() }
    }

    /// Ends it with all its connections.
    package func close() {
        state.withLock { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
        unlink(directory + "/.s.PGSQL.5432")
        rmdir(directory)
    }

    /// The address of a database by way of the proxy.
    package func url(_ database: TestDatabase) -> String {
        "postgresql://postgres@/\(database.name)?host=\(directory)&port=5432"
    }

    /// Cuts all connections; the server hears nothing of it while a statement runs.
    package func cut() {
        state.withLock { state in
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    /// How often clients have sent something.
    package var requests: Int {
        state.withLock { $0.requests }
    }

    /// From here on, what the server answers gets lost.
    package func swallowReplies(_ isSwallowing: Bool = true) {
        state.withLock { $0.swallowsReplies = isSwallowing }
    }

    /// From here on, new connections are closed at once.
    package func refuse(_ isRefusing: Bool = true) {
        state.withLock { $0.refuses = isRefusing }
    }

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { break }
            let refuses = state.withLock { $0.refuses || $0.isClosed }
            let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            guard !refuses, withAddress(target, { connect(server, $0, $1) }) == 0 else {
                Glibc.close(client)
                Glibc.close(server)
                continue
            }
            state.withLock { $0.sockets.formUnion([client, server]) }
            Thread.detachNewThread { [self] in carry(client, server) }
        }
        Glibc.close(listener)
    }

    private func carry(_ client: Int32, _ server: Int32) {
        var polled = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        carrying: while poll(&polled, 2, -1) > 0 {
            for (from, to) in [(0, server), (1, client)] where polled[from].revents != 0 {
                let count = read(polled[from].fd, &buffer, buffer.count)
                guard count > 0 else { break carrying }
                if from == 0 { state.withLock { $0.requests += 1 } }
                if from == 1, state.withLock({ $0.swallowsReplies }) { continue }
                guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else {
                    break carrying
                }
            }
        }
        state.withLock { $0.sockets.subtract([client, server]) }
        Glibc.close(client)
        Glibc.close(server)
    }

    private func withAddress<Result>(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }
}
