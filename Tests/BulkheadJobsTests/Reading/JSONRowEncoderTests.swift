import Testing

@testable import BulkheadJobs

@Suite struct JSONRowEncoderTests {
    /// Columns `a` and `b` of any type, `j` of json, `t` of text[], `d` of jsonb[].
    static let columns: [JSONRowEncoder.Column] = [
        .init(name: "a", form: .scalar), .init(name: "b", form: .scalar),
        .init(name: "j", form: .json),
        .init(name: "t", form: .array(delimiter: UInt8(ascii: ","), isOfJSON: false)),
        .init(name: "d", form: .array(delimiter: UInt8(ascii: ","), isOfJSON: true)),
    ]

    static func encoder(_ renames: [ColumnRename] = []) throws -> JSONRowEncoder {
        let keys = try JSONKeys(
            columns: columns.enumerated().map {
                JSONKeys.Column(name: $0.element.name, position: $0.offset, refusal: "")
            } + [JSONKeys.Column(name: "g", position: nil, refusal: "is generated")],
            renames: renames
        )
        return JSONRowEncoder(columns: columns, keys: keys)
    }

    /// The rows for COPY; the words of the rejects.
    private func load(
        _ text: String,
        _ renames: [ColumnRename] = []
    ) throws -> (rows: [String], problems: [RecordProblem], missing: [[UInt16]]) {
        try load(Array(text.utf8), renames)
    }

    private func load(
        _ text: [UInt8],
        _ renames: [ColumnRename] = []
    ) throws -> (rows: [String], problems: [RecordProblem], missing: [[UInt16]]) {
        var encoder = try Self.encoder(renames)
        let reader = RecordReader(MemorySource(text), layout: .lines)
        var rows: [String] = []
        var problems: [RecordProblem] = []
        var missing: [[UInt16]] = []
        while let record = try reader.next() {
            var line: [UInt8] = []
            if let problem = encoder.encode(record, into: &line) {
                #expect(line.isEmpty)
                problems.append(problem)
            } else {
                rows.append(String(decoding: line.dropLast(), as: UTF8.self))
                missing.append(encoder.missing)
            }
        }
        return (rows, problems, missing)
    }

    /// What becomes of a value in the column of a key; all else of the row is NULL.
    private func value(_ key: String, _ value: String) throws -> String? {
        let all = ["a", "b", "j", "t", "d"].filter { $0 != key }.map { "\"\($0)\":null" }
        let text = "{\(all.joined(separator: ",")),\"\(key)\":\(value)}\n"
        return try load(text).rows.first?.replacing("\t\\N", with: "").replacing("\\N\t", with: "")
    }

    @Test(
        arguments: [
            ("\"text\"", "text"), ("\"\"", ""), ("1.10", "1.10"), ("-0", "-0"),
            ("12345678901234567890.123456789", "12345678901234567890.123456789"),
            ("1e2", "1e2"), ("1E+02", "1E+02"), ("true", "true"), ("false", "false"),
            (#""\u00e9\ud83d\ude00""#, "é😀"), (#""\"\\\/\b\f\n\r\t""#, #""\\/\b\f\n\r\t"#),
            (#""\u0001\u000b\u005c""#, "\u{1}\\v\\\\"), (#""\\N""#, "\\\\N"), ("\"é\"", "é"),
            ("\"\u{2028}\"", "\u{2028}"), ("\"\u{7F}\"", "\u{7F}"),
        ] as [(String, String)]
    )
    func scalarsGoAsTheyAreMeant(json: String, copied: String) throws {
        #expect(try value("a", json) == copied)
        #expect(try value("t", json) == copied)
    }

    @Test(
        arguments: [
            ("\"text\"", "\"text\""), ("1.10", "1.10"), ("true", "true"),
            ("{\"b\":1, \"a\":[1, {\"c\":null}]}", "{\"b\":1, \"a\":[1, {\"c\":null}]}"),
            ("[]", "[]"), ("{}", "{}"), ("[ ]", "[ ]"), (#"["\n\u0041"]"#, #"["\\n\\u0041"]"#),
            ("[\t1]", "[\\t1]"), ("{\"x\":1,\"x\":2}", "{\"x\":1,\"x\":2}"),
        ] as [(String, String)]
    )
    func jsonColumnsTakeTheValueAsItIsWritten(json: String, copied: String) throws {
        #expect(try value("j", json) == copied)
    }

    @Test(
        arguments: [
            ("[]", "{}"), ("[1, 2]", "{1,2}"), ("[[1,2],[3,null]]", "{{1,2},{3,NULL}}"),
            ("[true,-1.50e3]", "{true,-1.50e3}"),
            (#"["a","",null,"NULL"]"#, #"{"a","",NULL,"NULL"}"#),
            (#"["\"","\\","a,b","{}"]"#, #"{"\\"","\\\\","a,b","{}"}"#),
            (#"["\n\u0041é"]"#, #"{"\nAé"}"#), ("[\t\"a\"\t]", "{\"a\"}"),
        ] as [(String, String)]
    )
    func arraysAreWrittenAsTheServerWritesThem(json: String, copied: String) throws {
        #expect(try value("t", json) == copied)
    }

    @Test(
        arguments: [
            ("[]", "{}"), ("[1, null]", "{\"1\",NULL}"), (#"["a"]"#, #"{"\\"a\\""}"#),
            (#"[{"a":"],}"},[1,2]]"#, #"{"{\\"a\\":\\"],}\\"}","[1,2]"}"#),
            (#"["\n"]"#, #"{"\\"\\\\n\\""}"#), ("[ [ 1 , 2 ] , true ]", "{\"[ 1 , 2 ]\",\"true\"}"),
        ] as [(String, String)]
    )
    func elementsOfJSONGoAsTheyAreWritten(json: String, copied: String) throws {
        #expect(try value("d", json) == copied)
    }

    @Test func keysMatchAsNamesInAHeaderDo() throws {
        let loaded = try load(
            "{\"A\":1,\"b\":2}\n{\"b\":3,\"\\u0061\":4}\n{}\n{\"x\":1,\"Drop\":[{}],\"B\":5}\n",
            [ColumnRename("x", to: "j"), ColumnRename("drop", to: nil)]
        )
        #expect(loaded.problems == [])
        #expect(
            loaded.rows == [
                "1\t2\t\\N\t\\N\t\\N", "4\t3\t\\N\t\\N\t\\N", "\\N\t\\N\t\\N\t\\N\t\\N",
                "\\N\t5\t1\t\\N\t\\N",
            ]
        )
        #expect(loaded.missing == [[2, 3, 4], [2, 3, 4], [0, 1, 2, 3, 4], [0, 3, 4]])
    }

    @Test func aRenameThatFitsNothingIsRefused() {
        #expect(throws: MappingError.self) { try Self.encoder([ColumnRename("x", to: "zz")]) }
        #expect(throws: MappingError.self) { try Self.encoder([ColumnRename("x", to: "g")]) }
    }

    @Test(
        arguments: [
            ("[1]", "22032", "offset 0"), ("1", "22032", "offset 0"), ("x", "22032", "offset 0"),
            ("   ", "22032", "offset 3"), ("{", "22032", "a key is missing"),
            ("{} {}", "22032", "text after the object at offset 3"), ("{\"a\"", "22032", "colon"),
            ("{\"a\":", "22032", "value is missing"), ("{\"a\":}", "22032", "value is missing"),
            ("{\"a\":1", "22032", "not closed"), ("{\"a\":1,}", "22032", "key is missing"),
            ("{\"a\":1 \"b\":2}", "22032", "comma"), ("{a:1}", "22032", "key is missing"),
            ("{\"a\":01}", "22032", "zero"), ("{\"a\":-}", "22032", "digit"),
            ("{\"a\":1.}", "22032", "digit"), ("{\"a\":.5}", "22032", "no JSON value"),
            ("{\"a\":1e}", "22032", "digit"), ("{\"a\":+1}", "22032", "no JSON value"),
            ("{\"a\":NaN}", "22032", "no JSON value"), ("{\"a\":Infinity}", "22032", "no JSON"),
            ("{\"a\":-Infinity}", "22032", "digit"), ("{\"a\":nul}", "22032", "no JSON value"),
            ("{\"a\":'x'}", "22032", "no JSON value"), ("{\"a\":\"x}", "22032", "not closed"),
            ("{\"a\":\"\t\"}", "22032", "control"), ("{\"a\":\"\\x\"}", "22032", "backslash"),
            ("{\"a\":\"\\u12\"}", "22032", "four digits"), ("{\"a\":\"\\ud800\"}", "22032", "pair"),
            ("{\"a\":\"\\ude00\\ud83d\"}", "22032", "pair"),
            ("{\"a\":\"\\u0000\"}", "22P05", "NUL"),
            ("{\"j\":{\"k\":[\"\\u0000\"]}}", "22P05", "NUL"), ("{\"j\":[1,]}", "22032", "missing"),
            ("{\"j\":[1}}", "22032", "comma"), ("{\"j\":{\"k\":1]}", "22032", "comma"),
            ("{\"j\":{1:1}}", "22032", "key"), ("{\"j\":[", "22032", "value is missing"),
            ("{\"a\":1,\"a\":2}", "22030", "repeats at offset 7"),
            ("{\"a\":1,\"\\u0061\":2}", "22030", "repeats at offset 7"),
            ("{\"a\":1,\"A\":2}", "22030", "both go to the column"),
            ("{\"zz\":1}", "22P04", "\"zz\" is not a column"),
            ("{\"g\":1}", "22P04", "is generated"),
            ("{\"a\":{}}", "22P02", "an object"), ("{\"a\":[1]}", "22P02", "an array"),
            ("{\"t\":{}}", "22P02", "an object"), ("{\"t\":[[{}]]}", "22P02", "inside an array"),
            ("{\"d\":{}}", "22P02", "an object"), ("{\"a\":1\0}", "22021", "offset 6"),
        ] as [(String, String, String)]
    )
    func whatIsNotOneProperObjectRejectsItsLineOnly(
        line: String,
        sqlstate: String,
        says: String
    ) throws {
        let loaded = try load("{\"a\":1}\n\(line)\n\r\n{\"a\":2}")
        #expect(loaded.rows.map { $0.prefix(1) } == ["1", "2"])
        let problem = try #require(loaded.problems.first)
        #expect(loaded.problems.count == 1)
        #expect(problem.sqlstate == sqlstate)
        #expect(problem.message.contains(says), "\(problem.message)")
    }

    @Test func bytesThatAreNotUTF8RejectTheirLineOnly() throws {
        let bytes = Array("{\"a\":\"".utf8) + [0xC3, 0x28] + Array("\"}\n{\"a\":1}\n".utf8)
        let loaded = try load(bytes)
        #expect(loaded.problems.map(\.sqlstate) == ["22021"])
        #expect(loaded.rows.count == 1)
    }

    @Test func aProblemNamesColumnAndValue() throws {
        let problems = try load(
            "{\"a\":\"x\\ny\",\"A\":\"x\\ny\"}\n{\"b\":\"\\ud800\"}\n{\"a\":[1, 2]}\n"
        ).problems
        #expect(problems.map(\.column) == ["a", "b", "a"])
        #expect(
            problems.map { $0.value.map { String(decoding: $0, as: UTF8.self) } }
                == ["x\ny", nil, "[1, 2]"]
        )
    }

    @Test func nestingHasALimitThatIsNotTheStack() throws {
        let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
        #expect(try value("j", deep) == deep)
        let problem = try load("{\"j\":[\(deep)]}").problems.first
        #expect(problem?.sqlstate == "54000")
    }

    @Test func theKeysOfALaterLineMayComeInAnyOrder() throws {
        let loaded = try load(
            "{\"a\":1,\"b\":2}\n{\"b\":2,\"a\":1}\n{\"b\":2,\"a\":1}\n{\"a\":1,\"b\":2}"
        )
        #expect(Set(loaded.rows) == ["1\t2\t\\N\t\\N\t\\N"])
    }
}
