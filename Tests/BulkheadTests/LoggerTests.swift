import Bulkhead
import BulkheadTesting
import Foundation
import Testing

@Suite struct LoggerTests {
    static let nasty = [
        "plain", "", "two words", "a=b", "quo\"te", "back\\slash", "line\nfeed\r\nand\ttab",
        "\u{1b}[2J",
        "\0nul", "žluť 😀", "\u{2028}\u{85}", String(repeating: "x", count: 100_000),
        String(repeating: "\u{1}", count: 999), String(repeating: "👩‍👩‍👧", count: 5000),
    ]

    @Test(arguments: nasty)
    func aJSONLineIsAlwaysOneJSONObject(_ text: String) throws {
        let log = try TestLog(format: .json)
        var logger = log.logger
        for number in 0..<10 { logger = logger.with("key\(number)", text) }
        logger.with(text, "value").warning(text, ["more": text])
        let lines = log.lines
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        // One piece for a pipe, line end included.
        #expect(line.utf8.count < 4096)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        )
        #expect(object["level"] as? String == "warning")
        if text.utf8.count < 100 {
            #expect(object["message"] as? String == text)
            #expect(object["key3"] as? String == text)
            #expect(object["more"] as? String == text)
        } else {
            #expect((object["message"] as? String)?.hasSuffix("…") == true)
        }
    }

    @Test(arguments: nasty)
    func aTextLineIsAlwaysOneLineThatATerminalCanShow(_ text: String) throws {
        let log = try TestLog()
        log.logger.with("key", text).info(text)
        let lines = log.lines
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.utf8.count < 4096)
        #expect(line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
        #expect(line.contains(" info "))
    }

    @Test func fieldsAreQuotedOnlyWhereTheyMustBe() throws {
        let log = try TestLog()
        log.logger.with("job", 7).info("ready", ["a": "b", "c": "d e", "f": ""])
        #expect(log.lines.first?.hasSuffix(" info ready job=7 a=b c=\"d e\" f=\"\"") == true)
    }

    @Test func linesBelowTheLevelAreLeftOut() throws {
        let log = try TestLog(level: .warning)
        log.logger.debug("1")
        log.logger.info("2")
        log.logger.warning("3")
        log.logger.error("4")
        #expect(log.lines.count == 2)
    }

    @Test(arguments: [Logger.Format.text, .json])
    func aFullPipeNeverBlocksAndItsLossIsTold(_ format: Logger.Format) throws {
        let pipe = Pipe()
        let logger = Logger(
            format: format,
            descriptor: pipe.fileHandleForWriting.fileDescriptor
        )
        let long = String(repeating: "x", count: 900)
        for _ in 0..<1000 { logger.info(long) }
        let flood = drain(pipe)
        #expect(flood.utf8.count > 10_000 && flood.utf8.count < 900_000)
        logger.info("after")
        let rest = drain(pipe)
        #expect(rest.contains("log lines were lost"))
        #expect(rest.contains("after"))
        if format == .json {
            for line in rest.split(separator: "\n") {
                #expect(throws: Never.self) {
                    _ = try JSONSerialization.jsonObject(with: Data(line.utf8))
                }
            }
        }
    }

    /// What the pipe holds now.
    private func drain(_ pipe: Pipe) -> String {
        let reading = pipe.fileHandleForReading
        var descriptor = pollfd(fd: reading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        var bytes = Data()
        while poll(&descriptor, 1, 0) == 1 { bytes += reading.availableData }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func aClosedPipeKillsNobody() async {
        // In a process of its own, which has the signal's usual meaning.
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let pipe = Pipe()
            let logger = Logger(descriptor: pipe.fileHandleForWriting.fileDescriptor)
            logger.info("before")
            pipe.fileHandleForReading.closeFile()
            for _ in 0..<10 { logger.info("after") }
        }
    }

    @Test func linesOfManyThreadsDoNotMix() async throws {
        let log = try TestLog(format: .json)
        await withDiscardingTaskGroup { group in
            for number in 0..<50 {
                group.addTask {
                    for _ in 0..<20 {
                        log.logger.with("n", number).info(String(repeating: "y", count: 500))
                    }
                }
            }
        }
        let lines = log.lines
        #expect(lines.count == 1000)
        for line in lines { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
    }
}
