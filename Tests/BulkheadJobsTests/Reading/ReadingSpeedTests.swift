import Foundation
import Testing

@testable import BulkheadJobs

/// How fast files are read and written as rows, without a server.
///
/// `BULKHEAD_READ_MIB=200` says how much of each format; only a release build tells anything.
@Suite struct ReadingSpeedTests {
    private static let mebibytes =
        ProcessInfo.processInfo.environment["BULKHEAD_READ_MIB"].flatMap(Int.init) ?? 0

    private static let names = [
        "id", "year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time",
        "sched_arr_time", "arr_delay", "carrier", "flight", "tailnum", "origin", "dest", "air_time",
        "distance", "hour", "minute", "time_hour",
    ]
    private static let values =
        "2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z"
        .split(separator: ",").map(String.init)

    @Test(.enabled(if: mebibytes > 0)) func delimitedText() throws {
        let line = Self.values.joined(separator: ",")
        let source = try source { "\($0),\(line)\n" }
        let encoder = CopyTextEncoder(
            dialect: .csv,
            columns: Array(0..<20),
            fieldCount: 20
        )
        try measure("csv", RecordReader(source), encoder)
    }

    @Test(.enabled(if: mebibytes > 0)) func linesOfJSON() throws {
        let pairs = zip(Self.names.dropFirst(), Self.values).map { name, value in
            "\"\(name)\":" + (Int(value) == nil ? "\"\(value)\"" : value)
        }
        let line = pairs.joined(separator: ",")
        let source = try source { "{\"id\":\($0),\(line)}\n" }
        let keys = try JSONKeys(
            columns: Self.names.enumerated().map {
                JSONKeys.Column(name: $0.element, position: $0.offset, refusal: "")
            },
            renames: []
        )
        let columns = Self.names.map { JSONRowEncoder.Column(name: $0, form: .scalar) }
        let encoder = JSONRowEncoder(columns: columns, keys: keys)
        try measure("jsonl", RecordReader(source, layout: .lines), encoder)
    }

    private func source(_ line: (Int) -> String) throws -> MemorySource {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.mebibytes << 20)
        var row = 1_000_000
        while bytes.count < Self.mebibytes << 20 {
            bytes += line(row).utf8
            row += 1
        }
        return MemorySource(bytes)
    }

    private func measure(
        _ name: String,
        _ reader: RecordReader,
        _ encoder: some RowEncoder
    ) throws {
        var encoder = encoder
        var output: [UInt8] = []
        output.reserveCapacity(8 << 20)
        var rows = 0
        var problems = 0
        let start = ContinuousClock.now
        while let record = try reader.next() {
            if encoder.encode(record, into: &output) != nil { problems += 1 }
            rows += 1
            if output.count > 4 << 20 { output.removeAll(keepingCapacity: true) }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        #expect(problems == 0)
        print(
            "reading \(name): \(Int(Double(Self.mebibytes) / seconds)) MiB/s, "
                + "\(Int(Double(rows) / seconds)) rows/s"
        )
    }
}
