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

/// An SQL string in single quotes, written so that the server reads exactly these characters.
///
/// It relies on `standard_conforming_strings`, which every session of ours sets.
public func quoted(literal text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
}
