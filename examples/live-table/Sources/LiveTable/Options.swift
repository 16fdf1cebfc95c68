import Postgres

/// What the command line asks for.
struct Options {
    var table = ""
    var columns = "*"
    var filter: String?
    var order: String?
    var job: Int64?

    /// What is wrong with the command line.
    struct Misuse: Error, CustomStringConvertible {
        var description: String
    }

    static let usage = """
        usage: live-table TABLE [--columns SQL] [--where SQL] [--order SQL] [--until-job ID]
        The database is the one that BULKHEAD_DATABASE_URL names.
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                guard table.isEmpty else {
                    throw Misuse(description: "one table, not \(argument) too")
                }
                table = argument
                continue
            }
            guard let value = rest.popFirst() else {
                throw Misuse(description: "\(argument) needs a value, or is no option")
            }
            switch argument {
            case "--columns": columns = value
            case "--where": filter = value
            case "--order": order = value
            case "--until-job":
                guard let id = Int64(value) else {
                    throw Misuse(description: "\(value) is not the number of a job")
                }
                job = id
            default: throw Misuse(description: "there is no option \(argument)")
            }
        }
        guard !table.isEmpty else { throw Misuse(description: "a table is missing") }
    }
}
