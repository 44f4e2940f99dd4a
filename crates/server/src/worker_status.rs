//! Exit statuses by which a worker's process says why it failed.

/// The memory limit was reached.
pub const NO_MEMORY: i32 = 3;
/// The file system that the worker writes to is full, or its quota is used up.
pub const DISK_FULL: i32 = 4;
/// The worker panicked: Rust's runtime ends the process so.
pub const PANICKED: i32 = 101;
