extension PostgresServer {
    /// How a server is asked to end.
    package enum StopMode: String, Sendable {
        /// Ends the sessions and writes a checkpoint.
        case fast
        /// Ends at once; the next start recovers as after a crash.
        case immediate
    }
}
