/// Where the rows of one table go before they are deleted.
enum ArchiveTarget {
    case table(ArchiveTable)
    case file(ArchiveFile)

    func isTable(_ name: String) -> Bool {
        if case .table(let table) = self { table.name == name } else { false }
    }
}
