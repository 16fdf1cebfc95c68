import Foundation

/// The file that a server, `initdb` and `pg_ctl` write to.
struct ServerLog {
    let path: String

    /// The last complaints in one line, or the last lines if there is no complaint.
    func tail() -> String {
        let lines: [Substring]
        do {
            lines = try end().split(separator: "\n")
        } catch {
            return "\(path) cannot be read: \(error)"
        }
        let complaints = lines.filter { line in
            ["FATAL", "PANIC", "ERROR", "error:"].contains(where: line.contains)
        }
        return (complaints.isEmpty ? lines : complaints).suffix(3).joined(separator: " | ")
    }

    private func end() throws -> String {
        let file = try FileHandle(forReadingFrom: URL(filePath: path))
        let size = try file.seekToEnd()
        try file.seek(toOffset: size - min(size, 4096))
        let data = try file.readToEnd() ?? Data()
        try file.close()
        return String(decoding: data, as: UTF8.self)
    }
}
