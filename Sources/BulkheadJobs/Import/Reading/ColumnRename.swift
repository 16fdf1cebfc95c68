/// One `--map file_name=column`: where a column of the file goes, or that it is left out.
struct ColumnRename: Sendable, Equatable {
    let fileName: String
    /// Nil when the file's column is dropped.
    let column: String?

    init(_ fileName: String, to column: String?) {
        self.fileName = fileName
        self.column = column
    }

    /// Reads the option as it is typed.
    init(option: String) throws(MappingError) {
        // Names in files hold all kinds of signs; those of table columns hardly ever do.
        guard let sign = option.utf8.lastIndex(of: UInt8(ascii: "=")) else {
            throw MappingError(
                "--map \(Quoted(option)) has no '=': write --map file_name=column, "
                    + "or --map file_name= to drop the column"
            )
        }
        fileName = String(option[..<sign])
        let name = String(option[option.utf8.index(after: sign)...])
        column = name.isEmpty ? nil : name
    }
}
