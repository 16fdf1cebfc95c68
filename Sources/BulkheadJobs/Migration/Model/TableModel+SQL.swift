internal import Postgres

extension TableModel {
    /// Creates the table with its columns and all constraints but foreign keys.
    func creation(_ name: String, _ write: NameWriter) -> String {
        let parts =
            columns.map { "    \($0.definition(write))" }
            + constraints.sorted { $0.key < $1.key }.filter { !$0.value.isForeignKey }.map {
                "    constraint \(write($0.key)) \($0.value)"
            }
        return "create table \(name) (\n\(parts.joined(separator: ",\n"))\n)"
    }

    var foreignKeys: [(key: String, value: String)] {
        constraints.filter(\.value.isForeignKey).sorted { $0.key < $1.key }
    }
}

extension ColumnModel {
    /// As it stands in CREATE TABLE.
    func definition(_ write: NameWriter) -> String {
        var text = "\(write(name)) \(isSerial ? serialType : type)"
        if let identity { text += " generated \(identity) as identity" }
        if let generated { text += " generated always as (\(generated)) stored" }
        if let defaultValue { text += " default \(defaultValue)" }
        if isRequired { text += " not null" }
        return text
    }

    private var serialType: String {
        switch type {
        case "smallint", "int2": "smallserial"
        case "bigint", "int8": "bigserial"
        default: "serial"
        }
    }
}

extension String {
    var isForeignKey: Bool { lowercased().hasPrefix("foreign key") }
}
