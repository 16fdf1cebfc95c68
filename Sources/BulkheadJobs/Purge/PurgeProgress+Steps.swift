internal import Bulkhead

extension PurgeProgress {
    /// Many are only needed where rows of a table refer to others of it.
    private static let mostSweeps = 1000
    /// A sweep may miss rows that move meanwhile, as a pass does; and rows that come all the time must not keep
    /// the purge from ending.
    private static let sweepsForMoved = 3

    /// Notes what a batch has done.
    ///
    /// `leftName` is what to call the first row that was left.
    mutating func apply(_ outcome: RemovalOutcome, of removal: Removal, leftName: String?) {
        report.deleted += Int64(outcome.deleted)
        checkpoint.deletedInPass += Int64(outcome.deleted)
        checkpoint.leftInPass.blocked += Int64(outcome.blocked)
        checkpoint.leftInPass.kept += Int64(
            outcome.kept ?? max(0, outcome.picked - outcome.deleted - outcome.blocked)
        )
        checkpoint.leftInPass.first = checkpoint.leftInPass.first ?? leftName
        checkpoint.advance(outcome, of: removal)
    }

    /// The walk through all tables is done: another one is needed until nothing more can go.
    mutating func endPass() {
        let left = checkpoint.leftInPass.blocked + checkpoint.leftInPass.kept
        let leavesLess = checkpoint.leftBefore.map { left < $0 } ?? true
        let mayGoOn =
            checkpoint.sweep == 0
            || checkpoint.deletedInPass > 0
                && (checkpoint.sweep < Self.sweepsForMoved || left > 0 && leavesLess)
        guard mayGoOn, checkpoint.sweep < Self.mostSweeps else {
            checkpoint.isSwept = true
            return
        }
        checkpoint.sweep += 1
        checkpoint.leftBefore = left
        checkpoint.ground = 0
        checkpoint.position = nil
        checkpoint.deletedInPass = 0
        checkpoint.leftInPass = PurgeCheckpoint.Left()
    }

    /// Closes the account.
    mutating func settle(_ deadShare: Double?) {
        report.blocked = checkpoint.leftInPass.blocked
        report.left = checkpoint.leftInPass.kept
        report.firstLeft = checkpoint.leftInPass.first
        report.deadShare = deadShare
        expected = report.deleted
    }
}

extension PurgeCheckpoint {
    mutating func leaveGround() {
        ground += 1
        position = nil
    }

    /// Goes on behind what a batch has looked at.
    fileprivate mutating func advance(_ outcome: RemovalOutcome, of removal: Removal) {
        var next = removal.position
        let isFull = outcome.picked >= removal.size.rows
        if isFull, let last = outcome.last.flatMap({ next.way.place($0) }) {
            next.after = last
        } else if case .pages(let end) = next.way, removal.stop < end {
            next.after = .page(removal.stop, offset: 0)
        } else {
            leaveGround()
            return
        }
        position = next
    }

    /// How many pages were looked at between two places, where the walk goes by pages.
    func pages(until later: PurgeCheckpoint, most: Int) -> Int? {
        guard let later = later.position, case .pages = later.way,
            case .page(let end, _) = later.after
        else { return nil }
        var start: Int64 = 0
        if case .page(let page, _) = position?.after { start = page }
        return end > start ? Int(min(end - start, Int64(most))) : nil
    }
}

extension WalkPosition.Way {
    /// The place of a row, from what the server says of it; nil when that cannot be read.
    fileprivate func place(_ values: [String]) -> WalkPosition.Place? {
        switch self {
        case .pages:
            guard let ctid = values.first else { return nil }
            let parts = ctid.dropFirst().dropLast().split(separator: ",")
            guard parts.count == 2, let page = Int64(parts[0]), let item = Int(parts[1]) else {
                return nil
            }
            return .page(page, offset: item + 1)
        case .index:
            return values.count == 2 ? .value(values[0], ctid: values[1]) : nil
        case .key:
            return .key(values)
        }
    }
}
