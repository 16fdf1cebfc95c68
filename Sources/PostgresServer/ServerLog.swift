internal import Glibc

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
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw PostgresServerError(String(cString: strerror(errno))) }
        defer { close(file) }
        let size = lseek(file, 0, SEEK_END)
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = pread(file, &bytes, bytes.count, max(0, size - off_t(bytes.count)))
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
