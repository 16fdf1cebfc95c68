import BulkheadTesting
import Foundation
import Postgres
import PostgresServer
import Testing

/// Whatever dies in the middle of a purge and of the restore behind it, each row is in its table or in the archive,
/// and in the end in its table again.
@Suite struct PurgeKillTests {
    @Test(arguments: PurgeUnderFire.Archive.allCases)
    func daemonKilledAtRandomMoments(archive: PurgeUnderFire.Archive) async throws {
        try await PurgeUnderFire.with(archive) { run in
            let daemon = try await run.fire.killDaemons(at: run.randomMoments())
            try await run.fire.waitForEnd(daemon)
        }
    }

    @Test(arguments: PurgeUnderFire.Archive.allCases)
    func serverProcessesOfWorkersTerminatedAtRandomMoments(
        archive: PurgeUnderFire.Archive
    ) async throws {
        try await PurgeUnderFire.with(archive) { run in
            let daemon = try run.fire.startDaemon()
            try await run.fire.terminateWorkers(at: run.randomMoments())
            try await run.fire.waitForEnd(daemon)
        }
    }

    @Test(arguments: [PurgeUnderFire.Archive.table, .cascadesToFile])
    func postmasterKilledAndStartedAgain(archive: PurgeUnderFire.Archive) async throws {
        let server = try await PostgresServer.start(.init(fsync: true))
        do {
            try await PurgeUnderFire.with(archive, on: server) { run in
                let daemon = try run.fire.startDaemon()
                try await run.fire.kill(server, at: Array(run.randomMoments().prefix(3)))
                try await run.fire.waitForEnd(daemon)
            }
            await server.close()
        } catch {
            await server.close()
            throw error
        }
    }

    @Test(arguments: [PurgeUnderFire.Archive.file, .cascadesToTables])
    func daemonFrozenForLongerThanItsLeaseWhileAnotherTakesOver(
        archive: PurgeUnderFire.Archive
    ) async throws {
        try await PurgeUnderFire.with(archive) { run in
            let first = try run.fire.startDaemon("--lease", "1")
            let second = try run.fire.startDaemon("--lease", "1")
            try await run.fire.freeze(first, second, at: Array(run.randomMoments().prefix(3)))
            try await run.fire.waitForEnd(first)
            try await run.fire.stop(second)
        }
    }

    @Test(arguments: [PurgeUnderFire.Archive.file, .table])
    func twoDaemonsFromTheStart(archive: PurgeUnderFire.Archive) async throws {
        try await PurgeUnderFire.with(archive) { run in
            var daemons = [try run.fire.startDaemon(), try run.fire.startDaemon()]
            for (index, moment) in run.randomMoments().enumerated() {
                try await run.fire.waitUntil(rows: moment)
                daemons[index % 2].send(SIGKILL)
                _ = await daemons[index % 2].end()
                daemons[index % 2] = try run.fire.startDaemon()
            }
            try await run.fire.waitUntilReady(daemons[1])
            try await run.fire.waitForEnd(daemons[0])
            try await run.fire.stop(daemons[1])
        }
    }

    @Test(arguments: [PurgeUnderFire.Archive.file, .cascadesToFile])
    func daemonToldToStopGoesOnWithAnotherFile(archive: PurgeUnderFire.Archive) async throws {
        try await PurgeUnderFire.with(archive) { run in
            for moment in run.randomMoments().prefix(3) {
                let daemon = try run.fire.startDaemon()
                try await run.fire.waitUntil(rows: moment)
                try await run.fire.waitUntilReady(daemon)
                try await run.fire.stop(daemon)
            }
            try await run.fire.waitForEnd(try run.fire.startDaemon())
        }
    }
}
