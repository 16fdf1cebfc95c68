import Foundation
import Testing

/// Texts that users see, kept as files beside the tests; `BULKHEAD_RECORD=1` writes them anew.
enum Snapshot {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Snapshots")

    static func expect(
        _ text: String,
        is name: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let file = folder.appending(path: "\(name).txt")
        if ProcessInfo.processInfo.environment["BULKHEAD_RECORD"] == "1" {
            try text.write(to: file, atomically: true, encoding: .utf8)
            return
        }
        let kept = try String(contentsOf: file, encoding: .utf8)
        #expect(text == kept, "see Snapshots/\(name).txt", sourceLocation: location)
    }
}
