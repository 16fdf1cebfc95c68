internal import Postgres

/// Rows sent beside each statement, an array for each column: for a role that may not make temporary
/// tables.
struct SentRows: StagedRows {
    let task: LoadTask
    private var plan: ImportPlan { task.plan }
    private var batch: ParsedBatch { task.batch }
    private var connection: Connection { task.connection }

    /// Nothing is sent beforehand: the statement that uses a bad value is refused.
    func fill(_ outcome: inout BatchOutcome) {}

    func source(_ rows: RowSelection, without refused: [Int]) -> SQL {
        let kept = rows.numbers(without: refused)
        let values = kept.map(batch.values)
        var arrays: SQL = "\(kept)::int[]"
        var names = "n"
        var selected = "u.n as bulkhead_n"
        if plan.mayMissKeys {
            arrays = "\(arrays), \(kept.map(batch.missingText))::text[]"
            names += ", missing"
            selected += ", u.missing::smallint[] as bulkhead_missing"
        }
        for (index, column) in plan.columns.enumerated() {
            arrays = "\(arrays), \(array(values.map { $0[index] }, of: column))"
            names += ", c\(index + 1)"
            selected += ", u.c\(index + 1)\(cast(column)) as bulkhead_c\(index + 1)"
        }
        return """
            (select \(unsafe: selected)
             from rows from (unnest(\(arrays))) as u (\(unsafe: names))) as s
            """
    }

    /// A sequence would be temporary too.
    func trace() -> String? { nil }

    func traced() -> Int? { nil }

    /// Tries the row's values one by one.
    func blame(_ row: Int) throws -> Int? {
        let values = batch.values(of: row)
        for (index, column) in plan.columns.enumerated() {
            do {
                try connection.savepoint {
                    let array = array([values[index]], of: column)
                    try connection.query(
                        "select u.c\(unsafe: cast(column)) from unnest(\(array)) as u (c)"
                    )
                }
            } catch let error as PostgresError where error.isAboutRows {
                return index
            }
        }
        return nil
    }

    /// An array of the column's type is read by the type's own input function, as COPY does it.
    ///
    /// A cast would cut what is too long, so it serves only types that have no array or come apart in one.
    private func array(_ values: [[UInt8]?], of column: ImportTarget.Column) -> SQL {
        let literal = Self.literal(
            values,
            delimiter: column.arrayType == nil ? "," : column.delimiter
        )
        return "\(literal)::\(unsafe: column.arrayType ?? "text[]")"
    }

    private func cast(_ column: ImportTarget.Column) -> String {
        column.arrayType == nil ? "::\(column.plainType)" : ""
    }

    static func literal(_ values: [[UInt8]?], delimiter: String) -> String {
        var text = Array("{".utf8)
        for (index, value) in values.enumerated() {
            if index > 0 { text += delimiter.utf8 }
            guard let value else {
                text += "NULL".utf8
                continue
            }
            text.append(UInt8(ascii: "\""))
            for byte in value {
                if byte == UInt8(ascii: "\"") || byte == Byte.backslash {
                    text.append(Byte.backslash)
                }
                text.append(byte)
            }
            text.append(UInt8(ascii: "\""))
        }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }
}
