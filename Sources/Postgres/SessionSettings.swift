/// What a session relies on, set by SQL after connecting, so that no pooler, role or database default
/// can change what a statement means.
public struct SessionSettings: Sendable {
    /// The name under which the server lists the session.
    public var applicationName: String
    /// The longest wait for a lock; zero for no limit.
    public var lockTimeout: Duration
    /// The longest run of a statement; zero for no limit.
    public var statementTimeout: Duration
    /// How long an open transaction may wait for its client; zero for no limit.
    public var idleInTransactionTimeout: Duration

    /// Whether they are set anew in each transaction and end with it: behind a pooler that hands out
    /// server processes for a transaction, they would else become other people's settings.
    public var isLocal: Bool

    /// Makes settings; the time-outs are off unless given.
    public init(
        applicationName: String,
        lockTimeout: Duration = .zero,
        statementTimeout: Duration = .zero,
        idleInTransactionTimeout: Duration = .zero,
        isLocal: Bool = false
    ) {
        self.isLocal = isLocal
        self.applicationName = applicationName
        self.lockTimeout = lockTimeout
        self.statementTimeout = statementTimeout
        self.idleInTransactionTimeout = idleInTransactionTimeout
    }

    /// Sets them; where they are local, for the transaction that is open.
    package var statement: SQL {
        """
        select set_config(name, value, \(isLocal)) from (values
            ('DateStyle', 'ISO, YMD'), ('IntervalStyle', 'postgres'),
            ('TimeZone', 'UTC'), ('bytea_output', 'hex'), ('extra_float_digits', '1'),
            ('standard_conforming_strings', 'on'), ('client_min_messages', 'warning'),
            ('default_transaction_isolation', 'read committed'),
            ('default_transaction_read_only', 'off'), ('default_transaction_deferrable', 'off'),
            ('lock_timeout', \(milliseconds(lockTimeout))),
            ('statement_timeout', \(milliseconds(statementTimeout))),
            ('idle_in_transaction_session_timeout', \(milliseconds(idleInTransactionTimeout))),
            ('idle_session_timeout', '0'), ('transaction_timeout', '0'),
            ('application_name', \(applicationName))
        ) as setting (name, value)
        -- A server may be too old to know a setting.
        where current_setting(name, true) is not null
        """
    }

    private func milliseconds(_ duration: Duration) -> String {
        "\(Int64(duration / .milliseconds(1)))ms"
    }
}
