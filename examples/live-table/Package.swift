// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "live-table",
    dependencies: [
        // Your own package names the repository and a version here.
        .package(name: "bulkhead", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "live-table",
            dependencies: [.product(name: "Bulkhead", package: "bulkhead")],
            path: "Sources/LiveTable",
            swiftSettings: [.swiftLanguageMode(.v6)]
        )
    ]
)
