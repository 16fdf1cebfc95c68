import Foundation

extension [Double] {
    /// The value below which the share of the values lies.
    func percentile(_ share: Double) -> Double {
        let sorted = sorted()
        guard !sorted.isEmpty else { return .nan }
        return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }

    /// The middle value.
    var median: Double { percentile(0.5) }
}

/// A number with so many digits behind the point.
func figure(_ number: Double, _ digits: Int = 2) -> String {
    String(format: "%.\(digits)f", number)
}
