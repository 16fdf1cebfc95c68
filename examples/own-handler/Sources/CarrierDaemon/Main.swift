import Bulkhead

/// A daemon with one handler; the database is the one that BULKHEAD_DATABASE_URL names.
@main
struct Main {
    static func main() async {
        await Daemon.main([RefreshCarriers()]) { configuration in
            configuration.drains = CommandLine.arguments.contains("--drain")
        }
    }
}
