internal import FoundationEssentials
internal import Glibc

/// Tells systemd that the daemon is ready: one datagram to the socket that it names (sd_notify(3)).
enum ServiceManager {
    static func notifyReady(log: Logger) {
        guard let path = ProcessInfo.processInfo.environment["NOTIFY_SOCKET"], !path.isEmpty else {
            return
        }
        let descriptor = socket(
            AF_UNIX,
            Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // A leading @ stands for the abstract name space, which begins with a NUL.
        let bytes = Array(path.utf8).enumerated().map {
            $0.offset == 0 && $0.element == UInt8(ascii: "@") ? 0 : $0.element
        }
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let message = Array("READY=1".utf8)
        let sent = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(descriptor, message, message.count, 0, address, length)
            }
        }
        if sent < 0 { log.warning("could not tell the service manager that the daemon is ready") }
    }
}
