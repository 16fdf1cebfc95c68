import BulkheadTesting
import Postgres

/// Writers that commit out of order, and readers beside them, all led by one random generator.
struct FeedScene {
    private var random: SplitMix
    private let writers: [TestSession]
    private var phases: [Phase]
    private(set) var readers: [FeedReader]
    private(set) var naive: [NaiveReader]
    /// Changes that were committed, or are if their writer commits.
    private(set) var committed: Set<Int64> = []
    private var pending: [[Int64]]

    private enum Phase {
        case idle
        /// In a transaction, perhaps with the number of a change that is still to be written.
        case open(number: Int64?)
    }

    init(
        seed: UInt64,
        writers: [TestSession],
        readers: [FeedReader],
        naive: [NaiveReader]
    ) {
        random = SplitMix(state: seed)
        self.writers = writers
        self.readers = readers
        self.naive = naive
        phases = writers.map { _ in .idle }
        pending = writers.map { _ in [] }
    }

    /// Takes steps of writers and readers in random order, then ends all transactions and reads the rest.
    mutating func play(steps: Int) async throws {
        for _ in 0..<steps {
            if random.below(3) > 0 {
                try await write(random.below(writers.count))
            } else {
                try await read()
            }
        }
        for writer in writers.indices {
            if case .open(let number) = phases[writer] {
                if let number { try await record(writer, number) }
                try await end(writer, commits: true)
            }
        }
        for reader in readers.indices { try await readers[reader].readAll(max: 3) }
        for reader in naive.indices { try await naive[reader].read() }
    }

    private mutating func write(_ writer: Int) async throws {
        switch phases[writer] {
        case .idle:
            try await writers[writer].run("begin")
            // The number of a change may be drawn before its transaction has an id.
            let number = random.below(2) == 0 ? try await draw(writer) : nil
            phases[writer] = .open(number: number)
        case .open(let number?):
            try await record(writer, number)
            phases[writer] = .open(number: nil)
        case .open(nil):
            switch random.below(5) {
            case 0, 1: try await record(writer, draw(writer))
            case 2: try await end(writer, commits: false)
            default: try await end(writer, commits: true)
            }
        }
    }

    private func draw(_ writer: Int) async throws -> Int64 {
        let number = try await writers[writer].value(
            "select nextval('bulkhead.change_id_seq')"
        )
        return number.flatMap { Int64($0) } ?? 0
    }

    private mutating func record(_ writer: Int, _ number: Int64) async throws {
        _ = try await writers[writer].rows(
            """
            insert into bulkhead.change (id, relation, operation, ids)
            overriding system value values (\(number), 'public.t', 'update', '[1]')
            """
        )
        pending[writer].append(number)
    }

    private mutating func end(_ writer: Int, commits: Bool) async throws {
        try await writers[writer].run(commits ? "commit" : "rollback")
        if commits { committed.formUnion(pending[writer]) }
        pending[writer] = []
        phases[writer] = .idle
    }

    private mutating func read() async throws {
        let reader = random.below(readers.count + naive.count)
        if reader < readers.count {
            try await readers[reader].read(
                max: 1 + random.below(4),
                takes: random.below(4) == 0 ? random.below(3) : .max
            )
        } else {
            try await naive[reader - readers.count].read()
        }
    }
}

/// A generator whose sequence follows from its seed.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int {
        Int.random(in: 0..<bound, using: &self)
    }
}
