import Testing

@testable import Bulkhead

@Suite struct WatermarkTests {
    private typealias Key = Watermark.Key

    @Test func aClaimStartsBehindTheLastOneForASecond() {
        let start = ContinuousClock.now
        var watermark = Watermark(now: start)
        #expect(watermark.start(now: start) == nil)
        watermark.claimed(last: Key(priority: 0, id: 7), isShort: false)
        #expect(watermark.start(now: start + .milliseconds(999)) == Key(priority: 0, id: 7))
        #expect(watermark.start(now: start + .seconds(1)) == nil)
        watermark.claimed(last: Key(priority: 0, id: 9), isShort: false)
        #expect(watermark.start(now: start + .milliseconds(1999)) == Key(priority: 0, id: 9))
        #expect(watermark.start(now: start + .seconds(2)) == nil)
    }

    @Test func aShortClaimHasSeenEverything() {
        let start = ContinuousClock.now
        var watermark = Watermark(now: start)
        _ = watermark.start(now: start)
        watermark.claimed(last: Key(priority: 0, id: 7), isShort: true)
        #expect(watermark.start(now: start) == nil)
    }

    @Test(arguments: [(0, 6, true), (-1, 99, true), (0, 7, true), (0, 8, false), (1, 1, false)])
    func anAnnouncedJobInFrontOfItDropsIt(_ priority: Int32, _ id: Int64, _ drops: Bool) {
        let start = ContinuousClock.now
        var watermark = Watermark(now: start)
        _ = watermark.start(now: start)
        watermark.claimed(last: Key(priority: 0, id: 7), isShort: false)
        watermark.announced(Key(priority: priority, id: id))
        #expect((watermark.start(now: start) == nil) == drops)
    }

    @Test func keysAreOrderedByPriorityThenID() {
        #expect(Key(priority: -1, id: 9) < Key(priority: 0, id: 1))
        #expect(Key(priority: 0, id: 1) < Key(priority: 0, id: 2))
        #expect(!(Key(priority: 0, id: 2) < Key(priority: 0, id: 2)))
    }
}
