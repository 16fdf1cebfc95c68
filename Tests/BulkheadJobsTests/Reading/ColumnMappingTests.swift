import Testing

@testable import BulkheadJobs

@Suite struct ColumnMappingTests {
    private let table = [
        TableColumn("id", isRequired: true),
        TableColumn("name"),
        TableColumn("city"),
        TableColumn("length", isRequired: true, isGenerated: true),
    ]

    private func map(
        _ names: [String]?,
        _ options: [String] = [],
        table: [TableColumn]? = nil
    ) throws -> ColumnMapping {
        try ColumnMapping(
            names: names,
            renames: options.map { option throws(MappingError) in
                try ColumnRename(option: option)
            },
            table: table ?? self.table
        )
    }

    @Test func namesMapToTheColumnsOfTheSameName() throws {
        let mapping = try map(["city", "id"])
        #expect(mapping.fieldCount == 2)
        #expect(mapping.fields == [0, 1])
        #expect(mapping.columns == ["city", "id"])
    }

    @Test func caseIsOverlookedOnlyWhenNothingMatchesExactly() throws {
        #expect(try map(["ID", "Name"]).columns == ["id", "name"])
        let cased = [TableColumn("name"), TableColumn("Name")]
        #expect(try map(["Name", "name"], table: cased).columns == ["Name", "name"])
        let error = #expect(throws: MappingError.self) { try map(["NAME"], table: cased) }
        #expect(error?.message.contains("\"name\", \"Name\"") == true)
    }

    @Test func withoutNamesTheColumnsThatTakeValuesComeInOrder() throws {
        let mapping = try map(nil)
        #expect(mapping.fields == [0, 1, 2])
        #expect(mapping.columns == ["id", "name", "city"])
        #expect(try map(nil, ["city="]).fields == [0, 1])
        #expect(try map(nil, ["city="]).fieldCount == 3)
    }

    @Test func aMapSendsAFileColumnElsewhereOrDropsIt() throws {
        let mapping = try map(["key", "note", "NAME"], ["key=id", "note="])
        #expect(mapping.fieldCount == 3)
        #expect(mapping.fields == [0, 2])
        #expect(mapping.columns == ["id", "name"])
        #expect(try map(["a=b", "id"], ["a=b=name"]).columns == ["name", "id"])
        #expect(try map(["KEY"], ["key=ID"]).columns == ["id"])
        #expect(try map(["id", "name", "city"], ["name=city", "city=name"]).columns[1] == "city")
    }

    @Test func columnsWithoutANameCanBeMappedOrDropped() throws {
        #expect(try map(["", "name"], ["=id"]).columns == ["id", "name"])
        #expect(try map(["id", "", ""], ["="]).fields == [0])
        #expect(try map(["id", "x", "x"], ["x="]).fields == [0])
    }

    @Test(arguments: [
        (["id", "x"], [], "\"x\"", "--map x=column or drop it with --map x="),
        (["id", ""], [], "column 2", "--map ="),
        (["id", "name", "name"], [], "\"name\" (2, 3)", "--map name="),
        (["id", "x", "x"], ["x=name"], "\"x\" (2, 3)", "--map x="),
        (["id", "", ""], ["=name"], "column 2", "--map ="),
        (["name"], [], "\"id\"", "--map file_name=id"),
        (["id", "length"], [], "\"length\"", "--map length="),
        (["id", "x"], ["x=length"], "\"length\"", "--map x="),
        (["id", "x"], ["x=nothing"], "\"nothing\"", "correct the name"),
        (["id"], ["y=name"], "\"y\"", "correct the name"),
        (["id", "x"], ["x=id"], "\"id\" and \"x\"", "--map x="),
        (["Id", "id"], [], "\"Id\" and \"id\"", "--map id="),
        (["id"], ["id=id", "ID="], "\"ID\"", "leave one of them out"),
        (["Ab", "aB"], ["AB=id"], "\"AB\"", "exactly"),
        (["id"], ["id"], "\"id\"", "--map file_name=column"),
        (["id\n2"], [], "\"id\\n2\"", "--map"),
    ])
    func whatCannotBeMappedIsNamedWithWhatToDo(
        names: [String],
        options: [String],
        named: String,
        advice: String
    ) {
        let error = #expect(throws: MappingError.self) { try map(names, options) }
        #expect(error?.message.contains(named) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(advice) == true, "\(error?.message ?? "")")
    }

    @Test func aFileOfWhichNothingIsLoadedIsRefused() {
        let loose = [TableColumn("name")]
        #expect(throws: MappingError.empty) { try map(["name"], ["name="], table: loose) }
        #expect(throws: MappingError.empty) { try map([], table: loose) }
    }

    @Test func namesThatOnlyLookTheSameAreNotTheSame() throws {
        let composed = "\u{E9}"
        let decomposed = "e\u{301}"
        let both = [TableColumn(composed), TableColumn(decomposed)]
        let mapping = try map([decomposed, composed], table: both)
        #expect(mapping.columns.map { $0.unicodeScalars.count } == [2, 1])
        #expect(try map([decomposed], table: [TableColumn(composed)]).columns.count == 1)
    }
}
