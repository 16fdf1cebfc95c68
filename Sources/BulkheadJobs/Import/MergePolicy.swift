/// What happens when a row's key is in the table already.
enum MergePolicy: String, Decodable {
    /// The job fails.
    case error
    /// The stored row stays.
    case skip
    /// The stored values win; what is NULL is filled from the file.
    case fill
    /// The file's columns win; the others stay.
    case update
    /// The row becomes what the file says; columns that the file lacks go back to their defaults.
    case replace

    /// Whether a stored row may be changed.
    var changesRows: Bool {
        switch self {
        case .error, .skip: false
        case .fill, .update, .replace: true
        }
    }
}
