/// Shows a job's progress: a bar on a terminal, now and then a line elsewhere.
struct ProgressLine {
    private let terminal: Terminal
    private var lastShown: ContinuousClock.Instant?
    private var lastState = ""
    private var wasWaiting = false
    private var isDrawn = false

    /// How often a line is printed where nobody can be drawn a bar.
    private static let interval: Duration = .seconds(5)

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    /// Shows the job as it is now.
    mutating func show(_ status: JobStatus) {
        guard !terminal.isQuiet, !status.isFinished else { return }
        if terminal.isInteractive {
            terminal.draw(Self.bar(line(status), percent: status.percent, in: terminal.width))
            isDrawn = true
            return
        }
        let isDue = lastShown.map { .now - $0 >= Self.interval } ?? (status.rowsDone > 0)
        let isWaiting = status.waiting != nil
        guard isDue || status.state != lastState || isWaiting != wasWaiting else { return }
        wasWaiting = isWaiting
        lastShown = .now
        lastState = status.state
        terminal.note(line(status))
    }

    /// Clears the bar.
    mutating func end() {
        if isDrawn { terminal.draw("") }
        isDrawn = false
    }

    /// A text behind a bar, or cut where there is no room for both.
    static func bar(_ text: String, percent: Double?, in columns: Int) -> String {
        let width = min(30, columns - text.count - 4)
        guard let percent, width >= 8 else { return String(text.prefix(columns - 1)) }
        let full = Int(Double(width) * min(100, max(0, percent)) / 100)
        return
            "[\(String(repeating: "#", count: full))\(String(repeating: ".", count: width - full))] \(text)"
    }

    private func line(_ status: JobStatus) -> String {
        var parts = ["job \(status.id) \(status.state)"]
        if status.rowsDone > 0 {
            parts.append("\(grouped(status.rowsDone)) rows")
            if let percent = status.percent { parts.append("\(percent)%") }
            if let rate = status.rate { parts.append("\(grouped(Int64(rate))) rows/s") }
            if let left = status.secondsLeft {
                parts.append("\(Duration.seconds(left).shown) left")
            }
        } else if let error = status.lastError, status.state == "retryable" {
            parts.append(error)
        }
        if let waiting = status.waiting { parts.append(waiting) }
        return parts.joined(separator: ", ")
    }
}
