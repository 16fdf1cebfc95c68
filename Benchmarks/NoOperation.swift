import Bulkhead

/// A handler that does nothing but say that it was started.
struct NoOperation: JobHandler {
    let kind = "noop"
    let isSmall = true
    var started: @Sendable () -> Void = {}

    func run(_ context: JobContext) async throws -> JSONText? {
        started()
        return nil
    }

    /// Runs a daemon as the whole of this process, until nothing is left.
    static func drain() async -> Never {
        await Daemon.main([NoOperation()], log: Logger(level: .warning)) { configuration in
            configuration.drains = true
            configuration.host = "benchmark"
        }
    }
}
