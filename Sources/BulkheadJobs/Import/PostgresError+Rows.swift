internal import Postgres

extension PostgresError {
    /// Whether rows are to blame, and not the statement, the role or the server.
    ///
    /// A trigger may raise any code, so every code counts that the server does not keep for something else.
    var isAboutRows: Bool {
        switch kind {
        case .conflict, .badData: true
        case .permanent: state.map { !Self.classesOfStatements.contains($0.errorClass) } ?? false
        default: false
        }
    }

    /// The classes of PostgreSQL's appendix A that speak of anything but data, and ours. Not among them:
    /// 54, a row that is too large for a page or an index.
    private static let classesOfStatements: Set<Substring> = [
        "00", "01", "02", "03", "08", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "20", "21", "24",
        "25", "26", "27", "28", "2B", "2D", "2F", "34", "39", "3B", "3D", "3F", "40", "42", "53",
        "55", "57", "58", "72", "BH", "F0", "HV", "XX",
    ]
}
