import Foundation
import Glibc
import Testing

@testable import BulkheadJobs

@Suite struct FileIdentityTests {
    private let directory: TemporaryDirectory
    private let root: ImportRoot

    init() throws {
        directory = try TemporaryDirectory()
        root = ImportRoot(directory.path)
    }

    @Test func itSurvivesJSONToTheLastNanosecond() throws {
        let identity = FileIdentity(
            inode: .max,
            size: 1 << 60,
            modified: 1_700_000_000_123_456_789,
            changed: .min
        )
        let stored = try JSONEncoder().encode(identity)
        #expect(String(decoding: stored, as: UTF8.self).contains("\"1700000000123456789\""))
        #expect(try JSONDecoder().decode(FileIdentity.self, from: stored) == identity)
    }

    @Test func numbersThatDoNotFitAreRefused() {
        let text = #"{"inode":"-1","size":"0","modified":"0","changed":"0"}"#
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(FileIdentity.self, from: Data(text.utf8))
        }
    }

    @Test func theSameFileIsTheSameWhoeverOpensItAgain() throws {
        try directory.write(CaseFiles.bytes("FC-073/v1.csv"), to: "in.csv")
        let identity = try root.open("in.csv").identity
        #expect(try root.open("./in.csv").identity == identity)
        #expect(identity.size == 270)
    }

    @Test(arguments: ["v2-appended.csv", "v2-edited.csv", "v2-shorter.csv"])
    func aFileThatWasWrittenToIsAnother(next: String) throws {
        try directory.write(CaseFiles.bytes("FC-073/v1.csv"), to: "in.csv")
        let file = try root.open("in.csv")
        try file.checkUnchanged()
        let target = try #require(fopen(directory.path("in.csv"), "w"))
        fputs(try CaseFiles.text("FC-073/\(next)"), target)
        fclose(target)
        #expect(try file.currentIdentity() != file.identity)
        let error = #expect(throws: ReadError.self) { try file.checkUnchanged() }
        #expect(error?.code == .changed)
        #expect(try root.open("in.csv").identity != file.identity)
    }

    @Test func aFileOfTheSameSizeAndTimeIsStillAnother() throws {
        try directory.write("id\n1\n", to: "in.csv")
        let before = try root.open("in.csv")
        let times = [
            timespec(tv_sec: 0, tv_nsec: 0),
            timespec(
                tv_sec: Int(before.identity.modified / 1_000_000_000),
                tv_nsec: Int(before.identity.modified % 1_000_000_000)
            ),
        ]
        let target = try #require(fopen(directory.path("in.csv"), "r+"))
        fputs("id\n2\n", target)
        fclose(target)
        utimensat(AT_FDCWD, directory.path("in.csv"), times, 0)
        let after = try before.currentIdentity()
        #expect(after.modified == before.identity.modified)
        #expect(after.size == before.identity.size)
        #expect(after != before.identity)
    }

    @Test func aFileThatTakesThePlaceOfAnotherDoesNotChangeTheOpenOne() throws {
        try directory.write(CaseFiles.bytes("FC-073/v1.csv"), to: "in.csv")
        try directory.write(CaseFiles.bytes("FC-073/v2-edited.csv"), to: "new.csv")
        let file = try root.open("in.csv")
        rename(directory.path("new.csv"), directory.path("in.csv"))
        let loaded = try SeenFile(reading: RecordReader(file.source()))
        #expect(!loaded.texts.contains(["5", "EDITED"]))
        #expect(try root.open("in.csv").identity != file.identity)
    }

    @Test func aTimeThatDoesNotFitDoesNotStopTheReading() throws {
        try directory.write("id\n", to: "in.csv")
        let far = timespec(tv_sec: 1 << 33, tv_nsec: 999_999_999)
        utimensat(AT_FDCWD, directory.path("in.csv"), [far, far], 0)
        let file = try root.open("in.csv")
        try file.checkUnchanged()
    }
}
