import Foundation

/// Measures the program: `bulkhead-benchmarks PROGRAM FLIGHTS [import|queue|purge|side-load|backfill|live-migration|memory]...`.
@main
struct Main {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        // How this program drains a queue in a process of its own.
        if words == [drainWord] { await NoOperation.drain() }
        guard words.count >= 2 else {
            throw NotMeasured(
                "usage: bulkhead-benchmarks PROGRAM FLIGHTS.csv.gz [import|queue|purge|side-load|backfill|live-migration|memory]..."
            )
        }
        let chosen = words.count > 2 ? Set(words[2...]) : ["import", "queue"]
        let known = [
            "import", "queue", "purge", "side-load", "backfill", "live-migration", "memory",
        ]
        if let unknown = chosen.first(where: { !known.contains($0) }) {
            throw NotMeasured("there is no benchmark \(unknown)")
        }
        if chosen.contains("import") {
            try await ImportBenchmark(program: words[0], flights: words[1]).run()
        }
        if chosen.contains("purge") {
            try await PurgeBenchmark(program: words[0], flights: words[1]).run()
        }
        if chosen.contains("side-load") {
            try await SideLoadBenchmark(program: words[0], flights: words[1]).run()
        }
        if chosen.contains("backfill") {
            try await BackfillBenchmark(program: words[0], flights: words[1]).run()
        }
        if chosen.contains("live-migration") {
            try await LiveMigrationBenchmark(program: words[0], flights: words[1]).run()
        }
        if chosen.contains("memory") {
            try await MemoryBenchmark(program: words[0], flights: words[1]).run()
        }
        if chosen.contains("queue") {
            try await QueueBenchmark().run()
        }
    }

    static let drainWord = "drain"
}
