internal import CLibPQ

/// The rows of one result; freed when it goes out of scope.
public struct Rows: ~Copyable {
    private let result: OpaquePointer?
    private var hiddenColumns = 0

    init(_ result: OpaquePointer?) {
        self.result = result
    }

    deinit {
        PQclear(result)
    }

    /// The number of rows.
    public var count: Int { Int(PQntuples(result)) }

    /// Whether there is no row.
    public var isEmpty: Bool { count == 0 }

    /// The number of columns.
    public var columnCount: Int { Int(PQnfields(result)) - hiddenColumns }

    /// Hides the last columns from who reads the rows from here on.
    package mutating func hideLastColumns(_ count: Int) { hiddenColumns += count }

    /// The name of a column; empty when there is no such column.
    public func columnName(_ column: Int) -> String {
        PQfname(result, Int32(clamping: column)).map { String(cString: $0) } ?? ""
    }

    /// Rows that a statement inserted, updated, deleted or copied.
    public var affected: Int {
        PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// Reads a value, nil where it is NULL.
    ///
    /// - Throws: When there is no such row or column, or the value is not of the type.
    public func value<Value: PostgresDecodable>(
        _ row: Int,
        _ column: Int,
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value? {
        guard let text = try text(row, column) else { return nil }
        guard let value = Value(postgresText: text) else {
            throw .misuse("column \(columnName(column)) holds \"\(text)\", which is not \(type)")
        }
        return value
    }

    /// Reads a value that is not NULL.
    ///
    /// - Throws: When the value is NULL, is not of the type, or is not there.
    public func required<Value: PostgresDecodable>(
        _ row: Int,
        _ column: Int,
        as type: Value.Type = Value.self
    ) throws(PostgresError) -> Value {
        guard let value = try value(row, column, as: type) else {
            throw .misuse("column \(columnName(column)) is NULL where \(type) is needed")
        }
        return value
    }

    private func text(_ row: Int, _ column: Int) throws(PostgresError) -> String? {
        guard (0..<count).contains(row), (0..<columnCount).contains(column) else {
            throw .misuse("the result has no row \(row), column \(column)")
        }
        let (row, column) = (Int32(row), Int32(column))
        if PQgetisnull(result, row, column) == 1 { return nil }
        let bytes = UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, column),
            count: Int(PQgetlength(result, row, column))
        )
        return String(decoding: bytes, as: UTF8.self)
    }
}
