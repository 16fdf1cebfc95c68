/// Finds names, exactly as written or else whatever their case.
struct NameIndex: Sendable {
    enum Match: Equatable {
        /// One name, and every place where it stands; there is at least one.
        case places([Int])
        case ambiguous([String])
        case none
    }

    /// By bytes: to Swift, strings of the same letters are equal; to a database they are not.
    private var exact: [[UInt8]: [Int]] = [:]
    private var folded: [String: [[UInt8]]] = [:]

    init(_ names: [String]) {
        for (place, name) in names.enumerated() {
            let bytes = Array(name.utf8)
            if exact[bytes] == nil {
                folded[name.lowercased(), default: []].append(bytes)
            }
            exact[bytes, default: []].append(place)
        }
    }

    func match(_ name: String) -> Match {
        if let places = exact[Array(name.utf8)] {
            return .places(places)
        }
        let candidates = folded[name.lowercased()] ?? []
        if candidates.count > 1 {
            return .ambiguous(candidates.map { String(decoding: $0, as: UTF8.self) })
        }
        return candidates.first.flatMap { exact[$0] }.map { .places($0) } ?? .none
    }
}
