import Glibc
import Testing

@testable import BulkheadJobs

@Suite struct SourceTests {
    private let directory: TemporaryDirectory
    private let root: ImportRoot

    init() throws {
        directory = try TemporaryDirectory()
        root = ImportRoot(directory.path)
    }

    private func drain(_ source: any ByteSource, by size: Int = 10_000) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: size)
        while true {
            let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
            if count == 0 {
                return bytes
            }
            bytes += buffer[..<count]
        }
    }

    private func source(of bytes: [UInt8], named name: String) throws -> any ByteSource {
        try directory.write(bytes, to: name)
        return try root.open(name).source()
    }

    private func unpackedCase() throws -> [UInt8] {
        try drain(ImportRoot(CaseFiles.path).open("FC-075/full.csv.gz").source())
    }

    @Test func aPlainFileIsReadAsItIsStored() throws {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let source = try source(of: bytes, named: "a.csv")
        #expect(source.fractionRead == 0)
        #expect(try drain(source) == bytes)
        #expect(source.offset == 100_000)
        #expect(source.fractionRead == 1)
        try source.skip(to: 99_998)
        #expect(try drain(source, by: 1).suffix(2) == bytes.suffix(2))
    }

    @Test func anEmptyFileIsReadToTheEnd() throws {
        let source = try source(of: [], named: "a.csv")
        #expect(source.fractionRead == 1)
        #expect(try drain(source) == [])
    }

    @Test func aPlainFileCannotBeSkippedBeyondItsEnd() throws {
        let source = try source(of: [1, 2], named: "a.csv")
        let error = #expect(throws: ReadError.self) { try source.skip(to: 3) }
        #expect(error?.code == .changed)
    }

    @Test(arguments: ["a.csv.gz", "A.CSV.GZ", "a.Gz"])
    func theEndingOfTheNameSaysThatAFileIsPacked(name: String) throws {
        let packed = try CaseFiles.bytes("FC-075/full.csv.gz")
        #expect(try drain(source(of: packed, named: name)) == unpackedCase())
        let plain = Array("id\n1\n".utf8)
        let error = #expect(throws: ReadError.self) { try drain(source(of: plain, named: name)) }
        #expect(error?.code == .notGzip)
    }

    @Test func packedOrNotCanBeSaidWhateverTheName() throws {
        let packed = try CaseFiles.bytes("FC-075/full.csv.gz")
        try directory.write(packed, to: "a.bin")
        #expect(try drain(root.open("a.bin").source()) == packed)
        #expect(try drain(root.open("a.bin").source(unpacking: true)) == unpackedCase())
    }

    @Test func bytesComeOutTheSameWhateverTheBuffer() throws {
        let cases = ImportRoot(CaseFiles.path)
        let whole =
            Array("id,name\n".utf8)
            + Array(repeating: Array("1,a\n".utf8), count: 400_000)
            .joined()
        for size in [1 << 20, 4_099] {
            #expect(try drain(cases.open("gzip/repeats.csv.gz").source(), by: size) == whole)
        }
        #expect(try drain(cases.open("FC-075/full.csv.gz").source(), by: 1) == unpackedCase())
    }

    @Test func severalMembersAreOneFile() throws {
        let packed = try CaseFiles.bytes("FC-075/full.csv.gz")
        let unpacked = try unpackedCase()
        let source = try source(of: packed + packed + packed, named: "a.gz")
        #expect(try drain(source) == unpacked + unpacked + unpacked)
        #expect(source.offset == Int64(3 * unpacked.count))
        #expect(source.fractionRead == 1)
    }

    @Test(arguments: [1, 2, 3, 9, 10, 11, 500, -1, -4, -7, -8, -9])
    func dataThatAreCutShortFail(cut: Int) throws {
        let packed = try CaseFiles.bytes("FC-075/full.csv.gz")
        let part = Array(cut > 0 ? packed.prefix(cut) : packed.dropLast(-cut))
        let error = #expect(throws: ReadError.self) { try drain(source(of: part, named: "a.gz")) }
        #expect(error?.code == (cut == 1 ? .notGzip : .truncatedGzip))
        let second = try source(of: packed + part, named: "b.gz")
        let later = #expect(throws: ReadError.self) { try drain(second) }
        #expect(later?.code == (cut == 1 ? .trailingData : .truncatedGzip))
    }

    @Test(arguments: ["x", "\n", "garbage", "\u{0}\u{0}\u{0}"])
    func somethingElseAfterTheLastMemberFails(text: String) throws {
        let packed = try CaseFiles.bytes("FC-075/full.csv.gz")
        let source = try source(of: packed + Array(text.utf8), named: "a.gz")
        let error = #expect(throws: ReadError.self) { try drain(source) }
        #expect(error?.code == .trailingData)
    }

    @Test(arguments: [-1, -5])
    func aWrongLengthOrChecksumFails(place: Int) throws {
        var packed = try CaseFiles.bytes("FC-075/full.csv.gz")
        packed[packed.count + place] ^= 1
        let source = try source(of: packed, named: "a.gz")
        let error = #expect(throws: ReadError.self) { try drain(source) }
        #expect(error?.code == .checksum)
    }

    @Test func dataThatCannotBeUnpackedFail() throws {
        var packed = try CaseFiles.bytes("FC-075/full.csv.gz")
        packed[2] = 9
        let error = #expect(throws: ReadError.self) { try drain(source(of: packed, named: "a.gz")) }
        #expect(error?.code == .corruptGzip)
    }

    @Test func aPackedFileIsSkippedByItsUnpackedBytes() throws {
        let packed = try CaseFiles.bytes("FC-075/full.csv.gz")
        let unpacked = try unpackedCase() + unpackedCase()
        let source = try source(of: packed + packed, named: "a.gz")
        for target in [0, 1, 5_000, unpacked.count / 2, unpacked.count, 17] {
            try source.skip(to: Int64(target))
            #expect(source.offset == Int64(target))
            var byte: [UInt8] = [0]
            let count = try byte.withUnsafeMutableBytes { try source.read(into: $0) }
            #expect(Array(byte.prefix(count)) == Array(unpacked.dropFirst(target).prefix(1)))
        }
        let error = #expect(throws: ReadError.self) {
            try source.skip(to: Int64(unpacked.count + 1))
        }
        #expect(error?.code == .changed)
    }

    @Test func recordsOfAPackedFileAreReadOnFromAPosition() throws {
        let whole = SeenFile(reading: try CaseFiles.reader("FC-075/full.csv.gz"))
        let first = try CaseFiles.reader("FC-075/full.csv.gz")
        for _ in 0..<100 {
            _ = try first.next()
        }
        let source = try ImportRoot(CaseFiles.path).open("FC-075/full.csv.gz").source()
        let rest = SeenFile(reading: RecordReader(source, from: first.position))
        #expect(rest.records == Array(whole.records.dropFirst(100)))
    }

    @Test(arguments: ["a.csv", "a.csv.gz"])
    func aFileThatGrowsWhileItIsReadFails(name: String) throws {
        let packed = try CaseFiles.bytes("FC-075/full.csv.gz")
        let source = try source(of: packed, named: name)
        let file = try #require(fopen(directory.path(name), "a"))
        fputs("more", file)
        fclose(file)
        let error = #expect(throws: ReadError.self) { try drain(source) }
        #expect(error?.code == .changed)
    }

    @Test func aFileThatShrinksWhileItIsReadFails() throws {
        let source = try source(of: [1, 2, 3, 4], named: "a.csv")
        truncate(directory.path("a.csv"), 2)
        let error = #expect(throws: ReadError.self) { try drain(source) }
        #expect(error?.code == .changed)
    }
}
