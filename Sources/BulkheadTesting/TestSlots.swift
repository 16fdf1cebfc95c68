/// Bounds how many tests use the server at once: a test runner starts all of them together, and a server
/// has so many connections and no more.
actor TestSlots {
    static let shared = TestSlots(20)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    private init(_ count: Int) {
        free = count
    }

    func take() async {
        if free > 0 {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func giveBack() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
