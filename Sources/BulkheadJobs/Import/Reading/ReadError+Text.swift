extension ReadError {
    static func unterminatedQuote(_ name: String, _ line: Int64) -> ReadError {
        ReadError(
            .unterminatedQuote,
            "\(Quoted(name)), line \(line): the record that starts there opens a quote that is "
                + "still open at the end of the file: close it, then import again",
            line: line
        )
    }

    static func utf16(_ name: String) -> ReadError {
        ReadError(
            .encoding,
            "\(Quoted(name)) is in UTF-16, by its first two bytes: save it as UTF-8"
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
