internal import Glibc

/// What the system answered to a call that failed.
struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    let number: Int32

    var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let text = buffer.baseAddress, strerror_r(number, text, buffer.count) == 0 else {
                return "error \(number)"
            }
            return String(cString: text)
        }
    }
}
