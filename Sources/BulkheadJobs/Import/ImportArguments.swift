internal import Bulkhead
internal import FoundationEssentials

/// What an import is to do: the `args` of its job, under the names of `bulkhead.import`.
struct ImportArguments: Decodable {
    var tableName: String
    var files: [String]
    var format: Format?
    var delimiter: String?
    var quote: String?
    var escape: String?
    var nullText: [String]?
    var skip: Int?
    var header: Bool?
    var columns: [String]?
    var map: [String: String]?
    var key: [String]?
    var onConflict: MergePolicy?
    var maxRejects: Int64?
    var batch: Int?
    var encoding: String?
    var maxRowBytes: Int?
    var timezone: String?
    var dateOrder: DateOrder?
    var atomic: Bool?
    var dryRun: Bool?

    /// How a date like 01/02/03 is meant.
    enum DateOrder: String, Decodable {
        case ymd, dmy, mdy
    }

    enum Format: String, Decodable {
        case csv, tsv, jsonl
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case tableName = "table_name"
        case files, format, delimiter, quote, escape
        case nullText = "null_text"
        case skip, header, columns, map, key
        case onConflict = "on_conflict"
        case maxRejects = "max_rejects"
        case batch, encoding
        case maxRowBytes = "max_row_bytes"
        case timezone
        case dateOrder = "date_order"
        case atomic
        case dryRun = "dry_run"
    }

    /// Reads the args of a job; an argument that is unknown is refused, never ignored.
    ///
    /// - Throws: `JobFailure`.
    init(_ args: JSONText) throws {
        self = try args.decodeArguments(
            of: "bulkhead.import",
            names: CodingKeys.allCases.map(\.rawValue)
        )
        if let wrong { throw JobFailure(wrong) }
    }

    /// What is wrong with the values; they may have come by another way than `bulkhead.import`.
    private var wrong: String? {
        if files.isEmpty { return "files is empty: name at least one file" }
        if columns?.isEmpty == true { return "columns is empty: leave it out to take the header's" }
        if key?.isEmpty == true { return "key is empty: leave it out to take the primary key" }
        if skip.map({ $0 < 0 }) == true { return "skip must not be negative" }
        if maxRejects.map({ $0 < 0 }) == true { return "max_rejects must not be negative" }
        if isJSON, let option = textOptions.first {
            return "\(option) is for delimited text, and the files are JSON lines: leave it out"
        }
        if batch.map({ !(1...1_000_000).contains($0) }) == true {
            return "batch must be between 1 and 1000000"
        }
        if maxRowBytes.map({ !ReadLimits.records.contains($0) }) == true {
            return "max_row_bytes must be between 1 and \(ReadLimits.records.upperBound)"
        }
        return nil
    }

    var isJSON: Bool { format == .jsonl }

    /// Whether the files name their columns in a line of their own.
    var hasHeader: Bool { !isJSON && header ?? true }

    /// What `map` says, in an order of its own.
    var renames: [ColumnRename] {
        (map ?? [:]).sorted { $0.key < $1.key }.map {
            ColumnRename($0.key, to: $0.value.isEmpty ? nil : $0.value)
        }
    }

    /// Those given of the arguments that only delimited text has.
    private var textOptions: [String] {
        [
            ("delimiter", delimiter != nil), ("quote", quote != nil), ("escape", escape != nil),
            ("null_text", nullText != nil), ("header", header != nil), ("columns", columns != nil),
        ].filter(\.1).map(\.0)
    }

    /// How the records of the files are found.
    ///
    /// - Throws: `JobFailure`.
    func fileFormat() throws -> FileFormat {
        var format = FileFormat(layout: isJSON ? .lines : .fields(try dialect()))
        if let encoding {
            guard let known = TextEncoding(encoding) else {
                throw JobFailure("encoding is no name of an encoding: \(Quoted(encoding))")
            }
            format.encoding = known
        }
        if let maxRowBytes { format.limits.record = maxRowBytes }
        return format
    }

    /// How delimited text is written.
    ///
    /// - Throws: `JobFailure`.
    func dialect() throws -> TextDialect {
        let usual = format ?? .csv == .csv ? TextDialect.csv : TextDialect.tsv
        do {
            return try TextDialect(
                delimiter: byte(delimiter, "delimiter") ?? usual.delimiter,
                quote: byte(quote, "quote") ?? usual.quote,
                escape: byte(escape, "escape"),
                nullMarkers: nullText.map { $0.map { Array($0.utf8) } } ?? usual.nullMarkers
            )
        } catch let error as DialectError {
            throw JobFailure("\(error)")
        }
    }

    private func byte(_ text: String?, _ name: String) throws -> UInt8? {
        guard let text else { return nil }
        guard let byte = text.utf8.first, text.utf8.count == 1 else {
            throw JobFailure("\(name) must be one single-byte character, not \"\(text)\"")
        }
        return byte
    }
}
