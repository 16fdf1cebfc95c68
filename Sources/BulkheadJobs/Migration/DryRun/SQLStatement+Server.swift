extension SQLStatement {
    /// Whether it changes what all databases of the server share: roles, databases, tablespaces, settings, or a file.
    var changesServer: Bool {
        let first = tokens.first?.name
        let second = tokens.dropFirst().first?.name
        switch first {
        case "create", "alter", "drop":
            if begins(with: "create", "user", "mapping") || begins(with: "alter", "user", "mapping")
                || begins(with: "drop", "user", "mapping")
            {
                return false
            }
            return [
                "role", "user", "group", "database", "tablespace", "system", "subscription",
                "owned",
            ]
            .contains(second)
        case "comment", "security":
            return ["role", "database", "tablespace", "subscription"].contains {
                contains("on", $0)
            }
        case "grant", "revoke":
            // Of a role to a role, or on what is shared.
            return !contains("on")
                || ["database", "tablespace", "parameter"].contains { contains("on", $0) }
        case "reassign": return true
        case "copy": return contains("program") || !(contains("stdin") || contains("stdout"))
        default: return false
        }
    }
}
