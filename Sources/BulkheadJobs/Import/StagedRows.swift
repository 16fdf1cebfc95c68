internal import Postgres

/// A batch's rows as the server sees them before they are in the table.
protocol StagedRows {
    /// Sends the rows, as far as that is done beforehand, and notes those whose values are refused.
    func fill(_ outcome: inout BatchOutcome) throws

    /// Rows as an item of FROM named `s`: their number in the batch, `bulkhead_n`, and the values for the
    /// table's columns, `bulkhead_c1`, `bulkhead_c2`, ... of its types.
    func source(_ rows: RowSelection, without refused: [Int]) -> SQL

    /// The position of the column whose value the server refused in this row; nil when it is none's or
    /// the error tells.
    func blame(_ row: Int) throws -> Int?

    /// Gets ready to note which row a statement is at, and returns the sequence that notes it, as SQL; nil
    /// where that cannot be done.
    func trace() throws -> String?

    /// The row that the last statement with a trace was at.
    func traced() throws -> Int?
}
