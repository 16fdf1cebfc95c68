import Bulkhead
import Postgres
import Testing

@Suite struct BatchSizerTests {
    @Test func aimsAtAQuarterOfASecond() {
        var sizer = BatchSizer(first: 1000)
        for _ in 0..<40 { sizer.took(.microseconds(sizer.rows * 100), rows: sizer.rows) }
        #expect((2400...2500).contains(sizer.rows))
    }

    @Test func growsAtMostTwofoldAStep() {
        var sizer = BatchSizer(first: 500)
        sizer.took(.milliseconds(1), rows: 500)
        #expect(sizer.rows == 1000)
    }

    @Test(arguments: [(Duration.milliseconds(1), 300), (.seconds(60), 200)])
    func staysInItsRange(took: Duration, rows: Int) {
        var sizer = BatchSizer(first: 250, in: 200...300)
        for _ in 0..<10 { sizer.took(took, rows: sizer.rows) }
        #expect(sizer.rows == rows)
    }

    @Test func beginsWithinItsRange() {
        #expect(BatchSizer(first: 1000, in: 50...100).rows == 100)
    }

    @Test(arguments: ["55P03", "40P01", "57014"])
    func halvesAfterATryThatMetOthers(state: String) {
        var sizer = BatchSizer(first: 500)
        sizer.failed(PostgresError(state: SQLState(rawValue: state), message: ""))
        #expect(sizer.rows == 250)
    }

    @Test(arguments: ["08006", "23505", nil])
    func keepsItsSizeAfterAnyOtherFailure(state: String?) {
        var sizer = BatchSizer(first: 500)
        sizer.failed(PostgresError(state: state.map { SQLState(rawValue: $0) }, message: ""))
        #expect(sizer.rows == 500)
    }

    @Test func aFixedSizeStays() {
        var sizer = BatchSizer(fixed: 7)
        sizer.took(.milliseconds(1), rows: 7)
        sizer.failed(PostgresError(state: SQLState(rawValue: "55P03"), message: ""))
        #expect(sizer.rows == 7)
    }
}
