internal import Postgres

/// Where the governor leaves its readings for the workers.
final class Gauges: Sendable {
    private let latest = Lock<GaugeReadings?>(nil)

    var readings: GaugeReadings? {
        get { latest.withLock { $0 } }
        set { latest.withLock { $0 = newValue } }
    }
}
