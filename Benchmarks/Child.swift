import Foundation

/// A program that was run to its end, and what it took.
struct Child {
    let seconds: Double
    let peakMebibytes: Double
    /// What it and its own children had of the processors.
    let processorSeconds: Double

    /// Runs a program; its standard output is thrown away.
    static func run(_ program: String, _ arguments: [String], environment: [String: String]) throws
        -> Child
    {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        let all = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        let variables = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for copy in words + variables { free(copy) } }
        let start = ContinuousClock.now
        var pid: pid_t = 0
        guard posix_spawnp(&pid, program, &actions, nil, words, variables) == 0 else {
            throw NotMeasured("\(program) cannot be started")
        }
        var status: Int32 = 0
        var usage = rusage()
        while wait4(pid, &status, 0, &usage) < 0, errno == EINTR {}
        guard status == 0 else { throw NotMeasured("\(program) failed with status \(status)") }
        return Child(
            seconds: (ContinuousClock.now - start) / .seconds(1),
            peakMebibytes: Double(usage.ru_maxrss) / 1024,
            processorSeconds: usage.ru_utime.seconds + usage.ru_stime.seconds
        )
    }

    /// Whether there is a program of this name.
    static func isInstalled(_ program: String) -> Bool {
        let folders = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return folders.split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1e6 }
}
