internal import FoundationEssentials
internal import Postgres

/// The daemon's present id.
///
/// It has a fresh one at each start and whenever its lease was lost, so that nothing of its former
/// life can pass for the present one.
final class Incarnation: Sendable {
    private let present = Lock(UUID().uuidString.lowercased())

    var id: String { present.withLock { $0 } }

    func renew() {
        present.withLock { $0 = UUID().uuidString.lowercased() }
    }
}
