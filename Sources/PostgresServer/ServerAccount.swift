internal import Glibc

/// The unprivileged user that a server started by root runs as, since PostgreSQL refuses root.
struct ServerAccount {
    let name: String
    let user: uid_t
    let group: gid_t

    /// The account for this process: nil for an ordinary user, who runs the server himself.
    static func current() throws -> ServerAccount? {
        guard geteuid() == 0 else { return nil }
        guard let account = lookUp("postgres") ?? lookUp("nobody") else {
            throw PostgresServerError(
                "PostgreSQL does not run as root, and there is no user postgres or nobody"
            )
        }
        return account
    }

    /// The command that runs another one as this user, with no more rights than that user has.
    var command: [String] {
        ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups", "--"]
    }

    private static func lookUp(_ name: String) -> ServerAccount? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, found != nil else {
            return nil
        }
        return ServerAccount(name: name, user: entry.pw_uid, group: entry.pw_gid)
    }
}
