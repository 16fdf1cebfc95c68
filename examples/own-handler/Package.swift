// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "own-handler",
    dependencies: [
        // Your own package names the repository and a version here.
        .package(name: "bulkhead", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "carrier-daemon",
            dependencies: [.product(name: "Bulkhead", package: "bulkhead")],
            path: "Sources/CarrierDaemon",
            swiftSettings: [.swiftLanguageMode(.v6)]
        )
    ]
)
