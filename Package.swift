// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "bulkhead",
    products: [
        .executable(name: "bulkhead", targets: ["BulkheadCLI"]),
        .executable(name: "bulkhead-benchmarks", targets: ["BulkheadBenchmarks"]),
        // With Postgres: a handler of one's own speaks to the database through it.
        .library(name: "Bulkhead", targets: ["Bulkhead", "Postgres"]),
        .library(name: "BulkheadJobs", targets: ["BulkheadJobs"]),
        .library(name: "BulkheadTesting", targets: ["BulkheadTesting"]),
    ],
    targets: [
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "Postgres", dependencies: ["CLibPQ"], swiftSettings: settings),
        .executableTarget(name: "EmbedSQLTool", swiftSettings: settings),
        .plugin(name: "EmbedSQL", capability: .buildTool(), dependencies: ["EmbedSQLTool"]),
        .target(
            name: "Migrations",
            path: "Migrations",
            sources: ["Schema.swift"],
            swiftSettings: settings,
            plugins: ["EmbedSQL"]
        ),
        .target(
            name: "Bulkhead",
            dependencies: ["Postgres", "Migrations", "Signals"],
            swiftSettings: settings
        ),
        .target(
            name: "BulkheadJobs",
            dependencies: ["Bulkhead", "Postgres", "CZlib"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "BulkheadCLI",
            dependencies: ["BulkheadJobs", "Bulkhead", "Postgres", "PostgresServer", "Signals"],
            swiftSettings: settings
        ),
        .target(name: "Signals", swiftSettings: settings),
        .target(name: "PostgresServer", swiftSettings: settings),
        .executableTarget(
            name: "BulkheadBenchmarks",
            dependencies: ["Bulkhead", "Postgres", "PostgresServer"],
            path: "Benchmarks",
            exclude: ["run.sh"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "private-server",
            dependencies: ["PostgresServer", "Signals"],
            path: "Sources/PrivateServer",
            swiftSettings: settings
        ),
        // The package examples/own-handler, built here too, so that it is tried with every change.
        .executableTarget(
            name: "carrier-daemon",
            dependencies: ["Bulkhead", "Postgres"],
            path: "examples/own-handler/Sources/CarrierDaemon",
            swiftSettings: settings
        ),
        // The package examples/live-table, likewise.
        .executableTarget(
            name: "live-table",
            dependencies: ["Bulkhead", "Postgres"],
            path: "examples/live-table/Sources/LiveTable",
            swiftSettings: settings
        ),
        .target(
            name: "BulkheadTesting",
            dependencies: ["Bulkhead", "Postgres", "PostgresServer"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PostgresTests",
            dependencies: ["Postgres", "PostgresServer", "BulkheadTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PostgresServerTests",
            dependencies: ["PostgresServer", "private-server"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BulkheadTests",
            dependencies: [
                "Bulkhead", "Migrations", "Postgres", "PostgresServer", "BulkheadTesting",
            ],
            exclude: ["Cases"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BulkheadJobsTests",
            dependencies: ["BulkheadJobs", "Bulkhead", "Postgres", "BulkheadTesting"],
            exclude: ["Cases"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BulkheadCLITests",
            dependencies: ["BulkheadCLI", "BulkheadTesting"],
            exclude: ["Snapshots"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "EndToEnd",
            dependencies: [
                "BulkheadCLI", "BulkheadTesting", "Postgres", "PostgresServer", "carrier-daemon",
                "live-table",
            ],
            swiftSettings: settings
        ),
    ]
)
