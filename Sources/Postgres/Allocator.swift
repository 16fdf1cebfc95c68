internal import CLibPQ

/// The process's allocator, set up for one that runs for months.
public enum Allocator {
    /// Makes large blocks go back to the system when they are freed, and lets all threads share two heaps.
    ///
    /// By default glibc keeps what one batch needed, for each thread, against the next one.
    public static func keepSmall() {
        mallopt(M_MMAP_THRESHOLD, 256 << 10)
        mallopt(M_ARENA_MAX, 2)
    }
}
