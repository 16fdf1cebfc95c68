/// Why the columns of a file cannot be brought together with those of a table.
struct MappingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One line, safe to log and to show: the name, and what to do next.
    let message: String

    init(_ message: String) {
        self.message = message
    }

    var description: String { message }
}

extension MappingError {
    static func unnamed(field: Int) -> MappingError {
        MappingError(
            "column \(field) of the file has no name: map it with --map =column, "
                + "drop it with --map =, or name all columns with --columns"
        )
    }

    static func repeated(_ name: String, fields: [Int]) -> MappingError {
        let places = fields.prefix(8).map { String($0 + 1) }.joined(separator: ", ")
        return MappingError(
            "the file has several columns \(Quoted(name)) (\(places)): drop them with "
                + "--map \(Quoted(name).bare)=, or name all columns with --columns"
        )
    }

    static func unknown(_ name: String) -> MappingError {
        MappingError(
            "the file's column \(Quoted(name)) is not a column of the table: map it with "
                + "--map \(Quoted(name).bare)=column or drop it with --map \(Quoted(name).bare)="
        )
    }

    static func ambiguous(_ name: String, candidates: [String]) -> MappingError {
        let shown = candidates.prefix(8).map { Quoted($0).description }.joined(separator: ", ")
        return MappingError(
            "the file's column \(Quoted(name)) could be any of \(shown): "
                + "choose with --map \(Quoted(name).bare)=column"
        )
    }

    static func generated(_ column: String, from name: String) -> MappingError {
        MappingError(
            "the column \(Quoted(column)) is generated always, so a file cannot give its values: "
                + "drop it with --map \(Quoted(name).bare)="
        )
    }

    static func collision(_ column: String, _ first: String, _ second: String) -> MappingError {
        MappingError(
            "the file's columns \(Quoted(first)) and \(Quoted(second)) both go to the column "
                + "\(Quoted(column)): drop one with --map \(Quoted(second).bare)="
        )
    }

    static func missing(_ column: String) -> MappingError {
        MappingError(
            "the file has nothing for the column \(Quoted(column)), which needs a value: map a "
                + "column of the file with --map file_name=\(Quoted(column).bare), or give the "
                + "column a default"
        )
    }

    static func unknownTarget(_ column: String, from name: String) -> MappingError {
        MappingError(
            "--map \(Quoted(name).bare)=\(Quoted(column).bare) names \(Quoted(column)), which is "
                + "not a column of the table: correct the name"
        )
    }

    static func ambiguousTarget(_ column: String, candidates: [String]) -> MappingError {
        let shown = candidates.prefix(8).map { Quoted($0).description }.joined(separator: ", ")
        return MappingError(
            "--map names the column \(Quoted(column)), which could be any of \(shown): "
                + "write it exactly as the table does"
        )
    }

    static func unknownSource(_ name: String) -> MappingError {
        MappingError(
            "--map names \(Quoted(name)), which is not a column of the file: correct the name"
        )
    }

    static func ambiguousSource(_ name: String, candidates: [String]) -> MappingError {
        let shown = candidates.prefix(8).map { Quoted($0).description }.joined(separator: ", ")
        return MappingError(
            "--map names \(Quoted(name)), which could be any of \(shown): "
                + "write it exactly as the file does"
        )
    }

    static func mappedTwice(_ name: String) -> MappingError {
        MappingError("--map names the file's column \(Quoted(name)) twice: leave one of them out")
    }

    static let empty = MappingError(
        "no column of the file goes to the table: map at least one with --map file_name=column"
    )
}
