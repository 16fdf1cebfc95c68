import Bulkhead
import Foundation
import Postgres

/// A row as text, whatever its columns are.
typealias TextRow = [String]

/// Shows a table as it changes, until Ctrl-C or until a job is done.
@main
struct Main {
    /// What there is to react to.
    enum Event: Sendable {
        case snapshot(LiveSnapshot<TextRow>)
        case jobEnded
        case interrupted
        case failed(any Error)
    }

    static func main() {
        // Before there are other threads, which would be ended by it; and whoever starts the program in the
        // background may ignore it.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGINT, SIG_DFL)
        let (events, sender) = AsyncStream.makeStream(of: Event.self)
        // Detached, since the main thread does nothing but hear Ctrl-C.
        Task.detached { exit(await run(events, sender)) }
        var heard: Int32 = 0
        sigwait(&signals, &heard)
        sender.yield(.interrupted)
        while true { pause() }
    }

    /// Does all there is to do; returns the exit status.
    private static func run(
        _ events: AsyncStream<Event>,
        _ sender: AsyncStream<Event>.Continuation
    ) async -> Int32 {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            return try await show(options, events, sender)
        } catch let error as Options.Misuse {
            complain("\(error)\n\(Options.usage)")
            return 2
        } catch {
            complain("\(error)")
            return 1
        }
    }

    /// Shows snapshots; returns the exit status.
    private static func show(
        _ options: Options,
        _ events: AsyncStream<Event>,
        _ sender: AsyncStream<Event>.Continuation
    ) async throws -> Int32 {
        let url = ProcessInfo.processInfo.environment["BULKHEAD_DATABASE_URL"]
        let address = try DatabaseAddress(url ?? "postgresql://")
        let query = query(options, address)
        let tasks = start(query, options, address, sender)
        defer { for task in tasks { task.cancel() } }
        var screen = Screen()
        defer { screen.leave() }
        var isJobDone = false
        for await event in events {
            switch event {
            case .snapshot(let snapshot): screen.show(snapshot)
            case .jobEnded: isJobDone = true
            case .interrupted: return 130
            case .failed(let error): throw error
            }
            // The job's last batch may be on its way: a query that begins now tells what there is to be seen.
            if isJobDone, try await query.first() == screen.rows { return 0 }
        }
        return 0
    }

    private static func query(_ options: Options, _ address: DatabaseAddress) -> LiveQuery<TextRow>
    {
        var query = LiveQuery(
            address,
            of: options.table,
            // Whoever runs this program may say what they like in SQL; an address in the web may not.
            columns: SQL(unsafe: options.columns),
            where: options.filter.map { SQL(unsafe: $0) },
            orderBy: options.order.map { SQL(unsafe: $0) }
        ) { rows, row in
            try (0..<rows.columnCount).map { try rows.value(row, $0) ?? "" }
        }
        query.settings.note = { complain($0) }
        return query
    }

    /// Starts what sends events.
    private static func start(
        _ query: LiveQuery<TextRow>,
        _ options: Options,
        _ address: DatabaseAddress,
        _ sender: AsyncStream<Event>.Continuation
    ) -> [Task<Void, Never>] {
        var tasks = [
            Task {
                do {
                    for try await snapshot in query { sender.yield(.snapshot(snapshot)) }
                } catch {
                    sender.yield(.failed(error))
                }
            }
        ]
        if let id = options.job {
            // A connection blocks its thread, so it has one of its own.
            tasks.append(
                Task(executorPreference: ExecutorThread(name: "live-table-job")) {
                    do {
                        try await waitForJob(id, address)
                        sender.yield(.jobEnded)
                    } catch is CancellationError {
                    } catch {
                        sender.yield(.failed(error))
                    }
                }
            )
        }
        return tasks
    }

    private static func waitForJob(_ id: Int64, _ address: DatabaseAddress) async throws {
        let connection = try Connection(
            address,
            settings: SessionSettings(applicationName: "live-table")
        )
        while true {
            let job = try connection.query(
                "select finished_at is not null from bulkhead.job where id = \(id)"
            )
            guard !job.isEmpty else { throw Options.Misuse(description: "there is no job \(id)") }
            if try job.required(0, 0) { return }
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}

extension LiveQuery {
    /// The rows as they are now.
    fileprivate func first() async throws -> [Row]? {
        var query = self
        query.settings.note = { _ in }
        return try await query.makeAsyncIterator().next()?.rows
    }
}

/// Says something beside what is shown.
func complain(_ words: String) {
    FileHandle.standardError.write(Data("live-table: \(words)\n".utf8))
}
