/// What the batches so far have taught about the file, so that the next one need not learn it again.
///
/// Only hints: a batch comes out the same without them.
final class LoadExperience {
    /// Whether rows go straight into the table; a refused row would take the whole batch back.
    private(set) var goesDirectly = true
    /// Whether values are looked at before they are sent, since some were bad.
    var screensValues = false
    /// Whether keys have come twice in one batch.
    var hasRepeatedKeys = false
    /// Whether the server notes which row it is at, since it refused some that nothing else tells.
    var followsRows = false
    /// What rows were refused for, the first one first.
    private(set) var sieves: [Sieve] = []

    private var cleanBatches = 0
    private static let cleanBatchesBeforeTrust = 4

    /// Notes what became of a batch that went straight into the table.
    func noteDirect(_ outcome: BatchOutcome) {
        countClean(outcome)
    }

    /// Notes what became of a batch that went by way of the stage.
    func noteStaged(_ outcome: BatchOutcome) {
        let refused = outcome.refused.count
        // Where looking at the values would have been enough, that is done next time.
        goesDirectly = refused == outcome.screenedOut && (refused > 0 || goesDirectly)
        countClean(outcome)
    }

    private func countClean(_ outcome: BatchOutcome) {
        cleanBatches = outcome.refused.isEmpty ? cleanBatches + 1 : 0
        // Rows that were refused in a block somewhere are no reason to look for more for ever.
        guard cleanBatches >= Self.cleanBatchesBeforeTrust else { return }
        goesDirectly = true
        sieves = []
        screensValues = false
        followsRows = false
    }

    /// Notes what rows were refused for.
    func add(_ sieve: Sieve) {
        if !sieves.contains(where: { $0.constraint == sieve.constraint }) { sieves.append(sieve) }
    }
}
