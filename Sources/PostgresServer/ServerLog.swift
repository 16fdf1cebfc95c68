internal import Foundation

/// The file that a server, `initdb` and `pg_ctl` write to.
struct ServerLog {
    let path: String

    /// The last things that were written, in one line.
    func tail() -> String {
        let lines: [Substring]
        do {
            lines = try end().split(separator: "\n")
        } catch {
            return "\(path) cannot be read: \(error)"
        }
        // pg_ctl ends with the advice to read what is quoted here.
        let telling = lines.filter { !$0.hasPrefix("pg_ctl: could not") && $0 != Self.advice }
        return telling.suffix(4).joined(separator: " | ")
    }

    private static let advice = "Examine the log output."

    private func end() throws -> String {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        let size = try file.seekToEnd()
        try file.seek(toOffset: size - min(size, 4096))
        let data = try file.readToEnd() ?? Data()
        try file.close()
        return String(decoding: data, as: UTF8.self)
    }
}
