/// How a reader follows the feed: how often it looks, and how long it waits.
public struct FeedSettings: Sendable {
    /// The longest time between two looks, beside notifications.
    public var poll: Duration = .seconds(5)
    /// The same where no notification can come.
    public var pollWithoutListening: Duration = .seconds(1)
    /// How long there may be silence before the reader rings for itself, to see whether it would hear.
    public var silence: Duration = .seconds(30)
    /// How long an answer of the server may take before the connection counts as dead.
    public var patience: Duration = .seconds(15)
    /// Is told what a person should know: the server is away or back, notifications cannot come.
    public var note: @Sendable (String) -> Void = { _ in }

    /// The usual settings.
    public init() {}
}
