/// A number with commas between thousands.
func grouped(_ number: Int64) -> String {
    let digits = String(number.magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
        text.append(digit)
    }
    return number < 0 ? "-" + text : text
}

extension Duration {
    /// The duration in the two units that matter: `2h 05m`, `3m 07s`, `12.3 s`.
    var shown: String {
        let seconds = self / .seconds(1)
        guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return "?" }
        let tenths = Int((seconds * 10).rounded())
        // Never 60.0 s.
        let whole = tenths == 600 ? 60 : Int(seconds)
        if whole >= 3600 { return "\(whole / 3600)h \(twoDigits(whole / 60 % 60))m" }
        if whole >= 60 { return "\(whole / 60)m \(twoDigits(whole % 60))s" }
        return "\(tenths / 10).\(tenths % 10) s"
    }

    private func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
