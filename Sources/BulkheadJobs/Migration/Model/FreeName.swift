/// A name that nothing has yet, no longer than the server keeps names.
///
/// The server cuts longer ones without an error, and two that begin alike become one.
enum FreeName {
    private static let limit = 63

    /// Puts an ending behind as much of a base as there is room for.
    static func make(_ base: String, _ ending: String, taken: Set<String>) -> String {
        var number = 1
        while true {
            let tail = number == 1 ? ending : "\(ending)\(number)"
            let name = cut(base, limit - tail.utf8.count) + tail
            if !taken.contains(name) { return name }
            number += 1
        }
    }

    private static func cut(_ text: String, _ bytes: Int) -> String {
        var text = text.unicodeScalars[...]
        while Substring(text).utf8.count > bytes { text.removeLast() }
        return String(text)
    }
}
