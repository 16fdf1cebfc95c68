import Foundation

/// How many random files a test looks at.
///
/// `BULKHEAD_FUZZ_SECONDS=600` looks for longer, from a seed of its own each time.
enum FuzzLoop {
    private static let files: UInt64 = 2_000

    private static var seconds: Double? {
        ProcessInfo.processInfo.environment["BULKHEAD_FUZZ_SECONDS"].flatMap(Double.init)
    }

    static func run(_ what: String, _ check: (_ seed: UInt64) throws -> Void) throws {
        guard let seconds else {
            for seed in 0..<files {
                try check(seed)
            }
            return
        }
        let end = ContinuousClock.now + .seconds(seconds)
        let first = UInt64.random(in: 0...UInt64.max)
        var seed = first
        while ContinuousClock.now < end {
            try check(seed)
            seed &+= 1
        }
        print("read \(seed &- first) random \(what), from seed \(first) on")
    }
}
