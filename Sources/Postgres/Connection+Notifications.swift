internal import CLibPQ

/// What another session said with NOTIFY.
public struct Notification: Sendable, Hashable {
    /// The channel's name.
    public let channel: String
    /// The text; empty when there is none.
    public let payload: String
    /// The server process that sent it.
    public let processID: Int32
}

extension Connection {
    /// Listens on a channel until the session ends.
    public func listen(_ channel: String) throws(PostgresError) {
        try query("listen \(identifier: channel)")
    }

    /// The notifications that have arrived, without waiting.
    ///
    /// - Throws: `connectionLost` when the session has ended.
    public func notifications() throws(PostgresError) -> [Notification] {
        guard PQconsumeInput(handle) == 1 else { throw connectionError() }
        var notifications: [Notification] = []
        while let notification = PQnotifies(handle) {
            notifications.append(
                Notification(
                    channel: String(cString: notification.pointee.relname),
                    payload: String(cString: notification.pointee.extra),
                    processID: notification.pointee.be_pid
                )
            )
            PQfreemem(notification)
        }
        return notifications
    }

    /// Suspends the owner until a notification comes, the deadline passes, or the thread is woken.
    ///
    /// - Returns: What has arrived; empty at the deadline and when woken.
    /// - Throws: `connectionLost` when the session has ended.
    public func notifications(
        on thread: ExecutorThread,
        until deadline: ContinuousClock.Instant,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(PostgresError) -> [Notification] {
        while true {
            let arrived = try notifications()
            if !arrived.isEmpty { return arrived }
            guard await thread.wait(readable: PQsocket(handle), until: deadline) == .readable else {
                return []
            }
        }
    }
}
