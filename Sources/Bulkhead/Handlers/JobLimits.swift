/// What a job heeds, so that it harms nobody.
struct JobLimits: Sendable, Equatable {
    /// How many times as long as each batch took the job rests after it.
    private(set) var nice = 0.0
    private(set) var values: [Gauge: Double] = [:]

    enum Verdict: Equatable {
        case goOn
        case wait(Gauge, String)
        /// A limit waits for its first reading.
        case unknown
    }

    init() {}

    /// Reads what `bulkhead.limits_in_force` says.
    init(_ json: JSONText?) throws {
        guard let json else { return }
        let numbers: [String: Double] = try json.decode()
        nice = numbers["nice"] ?? 0
        for gauge in Gauge.allCases { values[gauge] = numbers[gauge.rawValue] }
    }

    /// Whether the job may go on; the first limit that is exceeded says no.
    func verdict(on readings: GaugeReadings, job: Int64) -> Verdict {
        var verdict = Verdict.goOn
        for gauge in Gauge.allCases {
            guard let limit = values[gauge] else { continue }
            switch readings[gauge, job] {
            case .value(let value, let holder) where value > limit:
                let suffix = holder.map { " (\($0))" } ?? ""
                return .wait(
                    gauge,
                    "\(gauge.name) \(gauge.shown(value)) > \(gauge.shown(limit))\(suffix)"
                )
            case .value, .unreadable: continue
            case nil: verdict = .unknown
            }
        }
        return verdict
    }
}
