import Foundation

/// A size from the environment.
func setting(_ name: String, _ usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? usual
}
