/// An SQL identifier, written so that the server reads exactly these characters.
public func quoted(identifier: String) -> String {
    "\""
        + identifier.split(separator: "\"", omittingEmptySubsequences: false).joined(
            separator: "\"\""
        ) + "\""
}

/// A schema-qualified name, both parts quoted.
public func quoted(_ schema: String, _ name: String) -> String {
    quoted(identifier: schema) + "." + quoted(identifier: name)
}
