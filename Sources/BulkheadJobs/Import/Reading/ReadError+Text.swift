extension ReadError {
    static func unterminatedQuote(_ name: String, _ line: Int64) -> ReadError {
        ReadError(
            .unterminatedQuote,
            "\(Quoted(name)), line \(line): the record that starts there opens a quote that is "
                + "still open at the end of the file: close it, then import again",
            line: line
        )
    }

    static func unknownEncoding(_ encoding: String, _ name: String) -> ReadError {
        ReadError(
            .unknownEncoding,
            "\(Quoted(name)) cannot be read as \(Quoted(encoding)): this system does not know that "
                + "encoding: correct its name, or convert the file to UTF-8"
        )
    }

    static func missingHeader(_ name: String) -> ReadError {
        ReadError(
            .missingHeader,
            "\(Quoted(name)) has no header: the first line must name the columns; "
                + "add it, or say --no-header"
        )
    }

    static func badHeader(_ name: String, _ line: Int64, _ reason: String) -> ReadError {
        ReadError(
            .badHeader,
            "\(Quoted(name)), line \(line): the header cannot be read: \(reason): "
                + "correct it, or name the columns by --columns",
            line: line
        )
    }
}
