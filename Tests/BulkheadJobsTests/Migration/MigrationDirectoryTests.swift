import Testing

@testable import BulkheadJobs

@Suite struct MigrationDirectoryTests {
    private func directory(_ names: [String]) throws -> MigrationDirectory {
        let folder = try TemporaryDirectory()
        for name in names { try folder.write("select 1", to: name) }
        return try MigrationDirectory(path: folder.path)
    }

    @Test(arguments: [
        ("0007_x.sql", "7"), ("7-x.sql", "7"), ("7.sql", "7"), ("V7__x.sql", "7"),
        ("V1.2__x.sql", "1.2"),
        ("V1_2__x.sql", "1.2"), ("V1.0__x.sql", "1"), ("20261101120000_x.sql", "20261101120000"),
        ("0_x.sql", "0"),
    ])
    func namesBeginWithANumber(name: String, number: String) {
        #expect(MigrationVersion(fileName: name)?.description == number)
    }

    @Test(arguments: [
        "x.sql", "V__x.sql", "V1.x__y.sql", "V7_x.sql", "7x.sql", "",
        "99999999999999999999999_x.sql",
    ])
    func otherNamesHaveNone(name: String) {
        #expect(MigrationVersion(fileName: name) == nil)
    }

    @Test func filesAreOrderedByNumberNotByName() throws {
        let found = try directory([
            "V10__c.sql", "V9__b.sql", "V1.10__a.sql", "V1.9__a.sql", "2_x.sql", "README.md",
        ])
        #expect(
            found.files.map(\.name) == [
                "V1.9__a.sql", "V1.10__a.sql", "2_x.sql", "V9__b.sql", "V10__c.sql",
            ]
        )
        #expect(found.notes == ["README.md is not read: its name does not end in .sql"])
        #expect(found.isComplete)
    }

    @Test func upAndDownFilesAreOneMigration() throws {
        let found = try directory(["0001_a.up.sql", "0001_a.down.sql", "0002_b.up.sql"])
        #expect(found.files.map(\.name) == ["0001_a.up.sql", "0002_b.up.sql"])
        #expect(found.files.map { $0.downText != nil } == [true, false])
    }

    @Test(arguments: [
        (["1_a.sql", "0001_b.sql"], "have the same number"),
        (["V1__a.sql", "1_b.sql"], "have the same number"),
        (["R__view.sql", "V1__a.sql"], "repeatable migration of Flyway"),
        (["B2__all.sql", "V1__a.sql"], "baseline migration of Flyway"),
        (["1_a.down.sql"], "ends in .up.sql"),
        (["notes.txt"], "holds no migration"),
    ])
    func whatWouldChangeTheMeaningIsRefused(names: [String], words: String) {
        let error = #expect(throws: MigrationError.self) { try directory(names) }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test func undoFilesOfFlywayAreLeftOutWithANote() throws {
        let found = try directory(["V1__a.sql", "U1__a.sql"])
        #expect(found.files.count == 1)
        #expect(found.notes.count == 1)
    }

    @Test func oneFileIsNotAllThatThereAre() throws {
        let folder = try TemporaryDirectory()
        let file = folder.path("0007_x.sql")
        try folder.write("\u{FEFF}select 1", to: "0007_x.sql")
        let found = try MigrationDirectory(path: file)
        #expect(!found.isComplete)
        #expect(found.files.map(\.text) == ["select 1"])
        try folder.write([0x73, 0xFF], to: "0007_x.sql")
        #expect(throws: MigrationError.self) { try MigrationDirectory(path: file) }
        #expect(throws: MigrationError.self) { try MigrationDirectory(path: folder.path("none")) }
    }
}
