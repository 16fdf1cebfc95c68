/// Tells a test that something has come about, so that it need not sleep.
public final class TestSignal<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    /// Makes a signal that nobody has sent.
    public init(of type: Value.Type = Value.self) {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// Sends a value; it is kept until someone takes it.
    public func send(_ value: Value) {
        continuation.yield(value)
    }

    /// Takes the next value, and waits for it.
    ///
    /// One task at a time may wait.
    ///
    /// - Parameter limit: The longest time to wait.
    /// - Returns: The value.
    /// - Throws: `TimedOut` when none came within the time.
    @discardableResult
    public func next(within limit: Duration = .seconds(30)) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { [stream] group in
            group.addTask {
                for await value in stream { return value }
                return nil
            }
            group.addTask {
                try await Task.sleep(for: limit)
                return nil
            }
            let value = try await group.next() ?? nil
            group.cancelAll()
            guard let value else { throw TimedOut(what: "a signal of \(Value.self)") }
            return value
        }
    }
}

extension TestSignal<Void> {
    /// Makes a signal without a value.
    public convenience init() {
        self.init(of: Void.self)
    }

    /// Sends the signal.
    public func send() {
        send(())
    }
}
