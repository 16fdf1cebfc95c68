/// Where the rows of one table go before they are deleted.
enum ArchiveTarget {
    case table(ArchiveTable)
    case file(ArchiveFile)
}
