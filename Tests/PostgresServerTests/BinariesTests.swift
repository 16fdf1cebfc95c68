import Foundation
import Testing

@testable import PostgresServer

@Suite struct BinariesTests {
    @Test func `are where the user says`() throws {
        let found = try Binaries.find(environment: [:]).directory
        #expect(try Binaries.find(environment: ["BULKHEAD_PG_BIN": found]).directory == found)
    }

    @Test func `are not looked for elsewhere when the user is wrong`() {
        let error = #expect(throws: PostgresServerError.self) {
            _ = try Binaries.find(environment: ["BULKHEAD_PG_BIN": "/nowhere"])
        }
        #expect(error?.description.contains("/nowhere") == true)
    }

    @Test func `may be named by a pg_config that does not exist`() throws {
        let found = try Binaries.find(environment: ["PG_CONFIG": "/nowhere/pg_config"]).directory
        #expect(found == (try Binaries.find(environment: [:]).directory))
    }
}
