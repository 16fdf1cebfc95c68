import Foundation

/// Writes each SQL file as a raw string literal: `EmbedSQLTool OUTPUT FILE...`.
///
/// A raw string compiles in a second where an array of bytes of the same size takes minutes.
@main
struct EmbedSQLTool {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let output = arguments.first else {
            throw Usage()
        }
        var source = "let embeddedSQL: [(name: String, text: String)] = [\n"
        for path in arguments.dropFirst() {
            let url = URL(filePath: path)
            let text = try String(contentsOf: url, encoding: .utf8)
            let fence = String(repeating: "#", count: longestRunOfHashes(in: text) + 1)
            let name = url.deletingPathExtension().lastPathComponent
            source +=
                "    (\n        \"\(name)\",\n        \(fence)\"\"\"\n\(text)\n\"\"\"\(fence)\n    ),\n"
        }
        source += "]\n"
        try source.write(to: URL(filePath: output), atomically: true, encoding: .utf8)
    }

    private static func longestRunOfHashes(in text: String) -> Int {
        text.split(whereSeparator: { $0 != "#" }).map(\.count).max() ?? 0
    }

    private struct Usage: Error, CustomStringConvertible {
        let description = "usage: EmbedSQLTool OUTPUT FILE..."
    }
}
