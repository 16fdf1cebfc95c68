public import Bulkhead

/// A handler made of a closure.
public struct TestHandler: JobHandler {
    /// The kind of job.
    public let kind: String
    /// False unless the handler says otherwise.
    public let isSmall: Bool
    private let body: @Sendable (JobContext) async throws -> JSONText?

    /// Makes a handler whose jobs run the closure and have no result.
    ///
    /// - Parameters:
    ///   - kind: The kind of job that it runs.
    ///   - isSmall: Whether a worker may be given many of them at once.
    ///   - body: What a job does.
    public init(
        _ kind: String,
        isSmall: Bool = false,
        _ body: @escaping @Sendable (JobContext) async throws -> Void
    ) {
        self.kind = kind
        self.isSmall = isSmall
        self.body = { context in
            try await body(context)
            return nil
        }
    }

    private init(
        kind: String,
        isSmall: Bool,
        body: @escaping @Sendable (JobContext) async throws -> JSONText?
    ) {
        self.kind = kind
        self.isSmall = isSmall
        self.body = body
    }

    /// Makes a handler whose jobs run the closure, which returns their result.
    ///
    /// - Parameters:
    ///   - kind: The kind of job that it runs.
    ///   - isSmall: Whether a worker may be given many of them at once.
    ///   - body: What a job does.
    /// - Returns: The handler.
    public static func returning(
        _ kind: String,
        isSmall: Bool = false,
        _ body: @escaping @Sendable (JobContext) async throws -> JSONText?
    ) -> TestHandler {
        TestHandler(kind: kind, isSmall: isSmall, body: body)
    }

    /// Runs a job.
    public func run(_ context: JobContext) async throws -> JSONText? {
        try await body(context)
    }
}
