/// Two ways of doing the same, round by round.
struct Comparison {
    let name: String
    var goal: Double?
    private var pairs: [(base: Child, ours: Child)] = []

    init(_ name: String, goal: Double? = nil) {
        self.name = name
        self.goal = goal
    }

    mutating func add(base: Child, _ ours: Child) {
        pairs.append((base, ours))
    }

    func report(_ rows: Int) {
        guard !pairs.isEmpty else {
            print("\(name): not measured, it is not installed")
            return
        }
        let ratio = pairs.map { $0.base.seconds / $0.ours.seconds }.median
        let rate = Double(rows) / pairs.map(\.ours.seconds).median
        let peak = pairs.map(\.ours.peakMebibytes).max() ?? 0
        let aim = goal.map { ", goal \(figure($0))" } ?? ""
        print(
            "\(name): \(figure(ratio)) of its speed (median\(aim)), \(Int(rate)) rows/s,"
                + " peak memory \(figure(peak, 1)) MiB"
        )
    }
}
