import Testing

@testable import Postgres

@Suite struct AddressTests {
    @Test(arguments: [
        ("postgresql://ann:s3cret@db.example:5433/shop", "ann@db.example:5433/shop"),
        ("postgresql://ann@db.example/shop", "ann@db.example/shop"),
        ("postgres://db.example", "db.example"),
        ("postgresql:///shop?host=/tmp&password=s3cret&user=ann", "ann@/tmp/shop"),
        ("host=db.example user=ann password=s3cret dbname=shop", "ann@db.example/shop"),
        ("host=db.example password='s3cret x' dbname=shop", "db.example/shop"),
        ("postgresql://ann:s3cret%40%2F%3A@db.example/shop", "ann@db.example/shop"),
        ("postgresql://ann:s3cret@a:1,b:2/shop", "ann@a,b:1,2/shop"),
        ("postgresql://[::1]:5432/shop", "::1:5432/shop"), ("shop", "the default host/shop"),
        ("service=live password=s3cret", "service live"), ("it's", "the default host/it's"),
        ("", "the default host"),
        ("postgresql://ann:s3cret?x@db.example/shop", "ann@db.example/shop"),
    ])
    func anAddressIsShownWithoutItsPassword(_ text: String, _ shown: String) throws {
        let address = try DatabaseAddress(text)
        #expect(address.description == shown)
        #expect("\(address)".contains("s3cret") == false)
    }

    @Test(arguments: [
        "postgresql://ann:s3cret@s3cret@db.example/shop",
        "postgresql://ann:s3/s3cret@db.example/shop",
        "postgresql://ann:s3%zzs3cret@db.example/shop", "postgresql:/ann:s3cret@db.example/shop",
        "ann:s3cret@db.example", "postgresql//ann:s3cret@db.example/shop",
        "http://ann:s3cret@db.example/shop", "host=db.example password=a s3cret",
        "host=db.example password='s3cret", "pasword=s3cret",
        "postgres//ann:s3cret@db/shop?sslmode=require", "postgresql://ann:s3cret@db:port/shop\0",
    ])
    func whatCannotBeReadIsRefusedWithoutRepeatingIt(_ text: String) throws {
        let error = #expect(throws: PostgresError.self) { try DatabaseAddress(text) }
        #expect(error?.kind == .permanent)
        #expect(error?.description.contains("s3") == false)
        #expect(error?.description.contains("%40") == true)
    }
}
