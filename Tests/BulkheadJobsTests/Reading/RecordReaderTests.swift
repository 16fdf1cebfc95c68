import Testing

@testable import BulkheadJobs

@Suite struct RecordReaderTests {
    @Test(
        arguments: [
            ("a,b\n1,2\n", [["a", "b"], ["1", "2"]], [1, 2]),
            ("a,b\r\n1,2\n3,4\r\n", [["a", "b"], ["1", "2"], ["3", "4"]], [1, 2, 3]),
            ("a,b\r1,2\r", [["a", "b"], ["1", "2"]], [1, 2]),
            ("a\rb\n", [["a"], ["b"]], [1, 2]),
            ("a\nb\rc\n", [["a"], ["b\rc"]], [1, 2]),
            ("a\n\n\nb", [["a"], ["b"]], [1, 4]),
            ("a,\n", [["a", ""]], [1]),
            (",", [["", ""]], [1]),
            ("\"a\"\"b\",c", [["a\"b", "c"]], [1]),
            ("\"x\ny\"\nz", [["x\ny"], ["z"]], [1, 3]),
            ("\"x\ry\"\rz", [["x\ry"], ["z"]], [1, 3]),
            ("\"x\r\ny\"\rz", [["x\r\ny"], ["z"]], [1, 3]),
            ("a\"b,c\n", [["a\"b", "c"]], [1]),
            (" \"a\"\n", [[" \"a\""]], [1]),
            ("\"\"\n", [[""]], [1]),
            ("\u{FEFF}\"id\",b\n", [["id", "b"]], [1]),
            ("\\.\n", [["\\."]], [1]),
            ("", [], []),
            ("\u{FEFF}", [], []),
        ] as [(String, [[String]], [Int64])]
    )
    func recordsAndLinesAreFoundWhateverPiecesTheyComeIn(
        text: String,
        texts: [[String]],
        lines: [Int64]
    ) {
        for piece in [Int.max, 1, 2, 3] {
            let seen = SeenFile(text, pieces: [piece])
            #expect(seen.texts == texts, "pieces of \(piece)")
            #expect(seen.lines == lines, "pieces of \(piece)")
            #expect(seen.failure == nil)
        }
    }
}
