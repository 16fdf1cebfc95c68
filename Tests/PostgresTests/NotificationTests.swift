import BulkheadTesting
import Testing

@testable import Postgres

@Suite struct NotificationTests {
    /// An actor that listens on a thread of its own.
    private actor Listener {
        nonisolated let thread = ExecutorThread(name: "listener")
        nonisolated let unownedExecutor: UnownedSerialExecutor
        private var connection: Connection?

        init() { unownedExecutor = thread.asUnownedSerialExecutor() }

        deinit { thread.stop() }

        func open(_ address: DatabaseAddress, _ channel: String) throws {
            connection = try Connection(
                address,
                settings: SessionSettings(applicationName: "listener")
            )
            try connection?.listen(channel)
        }

        func next(within limit: Duration) async throws -> [Notification] {
            guard let connection else { return [] }
            return try await connection.notifications(on: thread, until: .now + limit)
        }
    }

    @Test func aNotificationArrivesWithChannelPayloadAndSender() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let listener = Listener()
            try await listener.open(database.address, "odd \"channel\"")
            let sender = try await database.session()
            let pid = try await sender.value("select pg_backend_pid()")
            async let arrived = listener.next(within: .seconds(20))
            _ = try await sender.rows("select pg_notify('odd \"channel\"', \("žluť 😀"))")
            let notification = try #require(try await arrived.first)
            #expect(notification.channel == "odd \"channel\"")
            #expect(notification.payload == "žluť 😀")
            #expect("\(notification.processID)" == pid)
        }
    }

    @Test func nothingArrivesUntilTheDeadline() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let listener = Listener()
            try await listener.open(database.address, "quiet")
            let start = ContinuousClock.now
            #expect(try await listener.next(within: .milliseconds(150)).isEmpty)
            #expect(.now - start >= .milliseconds(150))
        }
    }

    @Test(.timeLimit(.minutes(15))) func aWakeEndsTheWait() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let listener = Listener()
            try await listener.open(database.address, "quiet")
            async let arrived = listener.next(within: .seconds(60))
            listener.thread.wake()
            #expect(try await arrived.isEmpty)
        }
    }

    @Test func theEndOfTheSessionEndsTheWaitWithAnError() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let listener = Listener()
            try await listener.open(database.address, "quiet")
            let arrived = Task { try await listener.next(within: .seconds(60)) }
            try await database.run(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listener' and datname = current_database()"
            )
            let error = await #expect(throws: PostgresError.self) { _ = try await arrived.value }
            #expect(error?.kind == .connectionLost)
        }
    }

    @Test func manyNotificationsAllArriveInOrder() async throws {
        try await TestDatabase.with(hasSchema: false) { database in
            let listener = Listener()
            try await listener.open(database.address, "many")
            try await database.run(
                "select pg_notify('many', n::text) from generate_series(1, 5000) n"
            )
            var payloads: [String] = []
            while payloads.count < 5000 {
                let arrived = try await listener.next(within: .seconds(20))
                guard !arrived.isEmpty else { break }
                payloads += arrived.map(\.payload)
            }
            #expect(payloads == (1...5000).map(String.init))
        }
    }
}
