import BulkheadTesting
import Foundation
import Postgres
import Testing

/// Reads the blocks of archive files that are recorded, and nothing else of the files.
struct ArchivedIDs {
    private let fire: UnderFire

    init(_ fire: UnderFire) {
        self.fire = fire
    }

    /// The ids of a table's rows in all blocks, in order; each block must be what its checksum says.
    func read(_ table: String) async throws -> [Int] {
        let blocks = try await fire.database.rows(
            """
            select file, byte_offset, bytes, checksum from bulkhead.archive_block
            where relation = \(table) and operation = 'delete' order by batch, n
            """
        )
        var packed = Data()
        var files: [String: Data] = [:]
        for block in blocks {
            let name = try #require(block[0])
            let numbers = try block[1...].map { try #require($0.flatMap(Int.init)) }
            let file = try files[name] ?? Data(contentsOf: URL(filePath: name))
            files[name] = file
            let bytes = file.dropFirst(numbers[0]).prefix(numbers[1])
            #expect(bytes.count == numbers[1])
            #expect(Self.checksum(bytes) == UInt32(numbers[2]), "the block at \(numbers[0])")
            packed += bytes
        }
        return try await unpack(packed).sorted()
    }

    private func unpack(_ packed: Data) async throws -> [Int] {
        try packed.write(to: fire.folder.appending(path: "blocks.gz"))
        let plain = try await fire.program.shell("gzip -dc blocks.gz")
        #expect(plain.status == 0, "\(plain.errors)")
        return try plain.output.split(separator: "\n").map { line in
            let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return try #require(row?["id"] as? Int)
        }
    }

    private static func checksum(_ bytes: Data) -> UInt32 {
        ~bytes.reduce(~0) { sum, byte in (sum >> 8) ^ table[Int((sum ^ UInt32(byte)) & 0xFF)] }
    }

    private static let table: [UInt32] = (0..<256).map { n in
        (0..<8).reduce(UInt32(n)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
}
