/// Finds names, exactly as written or else whatever their case.
struct NameIndex: Sendable {
    enum Match: Equatable {
        /// One name, which may stand at several places.
        case places([Int])
        case ambiguous([String])
        case none
    }

    private let names: [String]
    /// By bytes: strings equal each other when only their letters do, names in a database do not.
    private var exact: [[UInt8]: [Int]] = [:]
    private var folded: [String: [[UInt8]]] = [:]

    init(_ names: [String]) {
        self.names = names
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
