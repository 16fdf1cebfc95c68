internal import Dispatch
internal import Glibc

extension PostgresServer {
    /// One temporary server for the whole process, started at the first use and stopped at exit.
    ///
    /// Made for test suites: many connections, and no waiting for the disk.
    package static var shared: PostgresServer {
        get async throws {
            try await sharedStart.value
        }
    }

    // Detached, so that the first user's cancellation or priority is not that of all.
    private static let sharedStart = Task.detached {
        let server = try await start(Options(maxConnections: 300))
        atexit { PostgresServer.closeShared() }
        return server
    }

    /// Waits, so that a test run that has ended has left nothing.
    private static func closeShared() {
        let closed = DispatchSemaphore(value: 0)
        Task.detached {
            if case .success(let server) = await sharedStart.result {
                await server.close()
            }
            closed.signal()
        }
        _ = closed.wait(timeout: .now() + 30)
    }
}
