/// What this build of the program is.
public enum Release {
    /// Its version.
    public static let version = "0.1.0"
}
