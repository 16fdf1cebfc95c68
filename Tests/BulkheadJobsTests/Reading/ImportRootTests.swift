import Foundation
import Glibc
import Testing

@testable import BulkheadJobs

@Suite struct ImportRootTests {
    private let directory: TemporaryDirectory
    private let root: ImportRoot

    /// A root beside a directory with a secret, and links that lead from one to the other.
    init() throws {
        directory = try TemporaryDirectory()
        for name in ["root/sub", "outside/empty", "root-other"] {
            try directory.makeDirectory(name)
        }
        try directory.write("id,name\n1,SECRET-OUTSIDE\n", to: "outside/secret.csv")
        try directory.write("id,name\n1,SECRET-OUTSIDE\n", to: "root-other/secret.csv")
        try directory.write("id,name\n1,inside\n", to: "root/ok.csv")
        try directory.link("root/link.csv", to: directory.path("outside/secret.csv"))
        try directory.link("root/linkdir", to: directory.path("outside"))
        try directory.link("root/dangling", to: directory.path("outside/nothing"))
        try directory.link("root/loop-a", to: "loop-b")
        try directory.link("root/loop-b", to: "loop-a")
        try directory.link("root/inner.csv", to: "sub/../ok.csv")
        try directory.link("alias", to: "root")
        root = ImportRoot(directory.path("root"))
    }

    private func text(_ name: String, in root: ImportRoot) throws -> String {
        let source = try root.open(name).source()
        var buffer = [UInt8](repeating: 0, count: 100)
        let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    private func refusal(_ name: String) -> ReadError? {
        #expect(throws: ReadError.self) { try root.open(name) }
    }

    @Test(arguments: [
        "ok.csv", "./ok.csv", "sub/../ok.csv", "sub//..//ok.csv", "inner.csv",
        "sub/../sub/../ok.csv",
        "../root/ok.csv", "ROOT/ok.csv", "ROOT/sub/../../root/ok.csv", "ALIAS/ok.csv",
        "/..ROOT/ok.csv",
    ])
    func aFileInsideIsOpenedByAnyNameThatLeadsToIt(name: String) throws {
        let name = name.replacing("ROOT", with: directory.path("root"))
            .replacing("ALIAS", with: directory.path("alias"))
        if !name.hasPrefix(directory.path("alias")) {
            #expect(try text(name, in: root).contains("inside"))
        }
        // The root itself may be reached through a link.
        let alias = ImportRoot(directory.path("alias"))
        #expect(try text(name, in: alias).contains("inside"))
    }

    @Test func onlyTheFirstTwoNamesOfTheCaseReadAFile() throws {
        let names = try CaseFiles.text("FC-080/names.txt")
            .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map { String($0).replacing("\\u0000", with: "\u{0}") }
        #expect(names.count == 15)
        for (index, name) in names.enumerated() {
            if index < 2 {
                #expect(try text(name, in: root).contains("inside"))
            } else if let error = refusal(name) {
                #expect(!error.message.contains("SECRET"))
                #expect(!error.message.contains("\u{0}"))
            }
        }
    }

    @Test(arguments: [
        ("../outside/secret.csv", "../outside/nothing.csv"),
        ("/etc/passwd", "/etc/nothing"),
        ("/etc/passwd", "/nothing/passwd"),
        ("link.csv", "dangling"),
        ("link.csv", "loop-a"),
        ("linkdir/secret.csv", "linkdir/nothing.csv"),
        ("linkdir/empty/../secret.csv", "linkdir/none/../secret.csv"),
        ("linkdir/../root/ok.csv", "linkdir/none/../../root/ok.csv"),
        ("../outside/empty/../../root/ok.csv", "../outside/none/../../root/ok.csv"),
        ("../root-other/secret.csv", "../root-other/nothing.csv"),
        ("./sub/../../outside/secret.csv", "./sub/../../outside/nothing.csv"),
        ("../outside", "../nothing"),
        ("sub/../..", "sub/../../nothing"),
        ("link.csv/x", "dangling/x"),
    ])
    func whatLiesOutsideIsRefusedInTheSameWordsWhetherItExistsOrNot(
        existing: String,
        missing: String
    ) throws {
        let first = try #require(refusal(existing))
        let second = try #require(refusal(missing))
        #expect(first.code == .outsideRoot)
        #expect(second.code == .outsideRoot)
        #expect(
            first.message.replacing(existing, with: "NAME")
                == second.message.replacing(missing, with: "NAME")
        )
    }

    @Test func aNeighbourWhoseNameBeginsAlikeIsOutside() throws {
        #expect(refusal(directory.path("root-other/secret.csv"))?.code == .outsideRoot)
    }

    @Test(arguments: [
        "nothing.csv", "sub/nothing.csv", "nothing/at/all.csv", "ok.csv/x",
        "nothing/../../outside/x",
        "-rf", "~/ok.csv", "file:///etc/passwd", "\u{FFFD}",
    ])
    func aFileThatIsMissingInsideIsSaidToBeMissing(name: String) {
        let error = refusal(name)
        #expect(error?.code == .missing)
        #expect(error?.message.contains("no such file") == true)
    }

    @Test(arguments: ["", ".", "..", "ok.csv/", "sub/", "ok.csv\u{0}.txt", "\u{0}"])
    func whatCannotBeTheNameOfAFileIsRefused(name: String) {
        #expect(refusal(name)?.code == .badName)
    }

    @Test func aNameLongerThanTheSystemTakesIsRefused() {
        #expect(refusal(String(repeating: "a/", count: 3_000) + "b")?.code == .badName)
        #expect(refusal(String(repeating: "a", count: 300))?.code == .missing)
    }

    @Test func onlyRegularFilesAreOpened() throws {
        mkfifo(directory.path("root/fifo.csv"), 0o600)
        for (name, kind) in [("sub", "directory"), ("fifo.csv", "FIFO"), ("sub/..", "directory")] {
            let error = refusal(name)
            #expect(error?.code == .notRegularFile)
            #expect(error?.message.contains(kind) == true)
        }
    }

    @Test func messagesStayOnOneLine() {
        let error = refusal("a\nb\u{1B}[31m\u{2028}\"c")
        #expect(error?.message.contains("a\\nb\\u{1B}[31m\\u{2028}\\\"c") == true)
    }

    @Test func aRootThatIsMissingIsNamed() {
        let error = #expect(throws: ReadError.self) {
            try ImportRoot(directory.path("none")).open("ok.csv")
        }
        #expect(error?.code == .badRoot)
        #expect(error?.message.contains("No such file or directory") == true)
    }

    @Test func theWholeSystemMayBeTheRoot() throws {
        let all = ImportRoot("/")
        #expect(try text(directory.path("root/ok.csv"), in: all).contains("inside"))
        #expect(try text(directory.path("root/link.csv"), in: all).contains("SECRET"))
    }

    @Test func aLinkThatComesAndGoesNeverLeadsOutside() async throws {
        let root = root
        let inside = directory.path("root/swap.csv")
        let parts = (directory.path("root/ok.csv"), directory.path("root/link.csv"))
        let next = directory.path("root/next.csv")
        let swapping = Thread {
            while !Thread.current.isCancelled {
                for target in [parts.0, parts.1] {
                    symlink(target, next)
                    rename(next, inside)
                }
            }
        }
        symlink(parts.0, inside)
        swapping.start()
        defer { swapping.cancel() }
        var opened = 0
        for _ in 0..<3_000 {
            do {
                let source = try root.open("swap.csv").source()
                var buffer = [UInt8](repeating: 0, count: 100)
                let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
                #expect(String(decoding: buffer[..<count], as: UTF8.self).contains("inside"))
                opened += 1
            } catch let error as ReadError {
                #expect(error.code == .outsideRoot || error.code == .missing)
            }
        }
        #expect(opened > 0)
    }
}
