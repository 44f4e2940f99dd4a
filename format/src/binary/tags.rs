//! Tags and codes of the binary format.

/// The first bytes of a file in the version this crate writes, with the zero byte that ends them.
pub const MAGIC_1_0_2: &[u8; 19] = b"JAVA PROFILE 1.0.2\0";

/// Tags of top-level records.
pub mod record {
    /// A string with its identifier.
    pub const UTF8: u8 = 0x01;
    /// A loaded class.
    pub const LOAD_CLASS: u8 = 0x02;
    /// A class that was unloaded.
    pub const UNLOAD_CLASS: u8 = 0x03;
    /// A stack frame.
    pub const FRAME: u8 = 0x04;
    /// A stack trace.
    pub const TRACE: u8 = 0x05;
    /// Allocation sites.
    pub const ALLOC_SITES: u8 = 0x06;
    /// Totals of the heap.
    pub const HEAP_SUMMARY: u8 = 0x07;
    /// A thread that started.
    pub const START_THREAD: u8 = 0x0a;
    /// A thread that ended.
    pub const END_THREAD: u8 = 0x0b;
    /// A whole heap dump (version 1.0.1).
    pub const HEAP_DUMP: u8 = 0x0c;
    /// CPU samples.
    pub const CPU_SAMPLES: u8 = 0x0d;
    /// What the profiler was asked to record.
    pub const CONTROL_SETTINGS: u8 = 0x0e;
    /// Part of a heap dump (version 1.0.2 and later).
    pub const HEAP_DUMP_SEGMENT: u8 = 0x1c;
    /// The end of a heap dump in segments.
    pub const HEAP_DUMP_END: u8 = 0x2c;
}

/// Flags of a `CONTROL SETTINGS` record.
pub mod control {
    /// Allocation traces are recorded.
    pub const ALLOC_TRACES: u32 = 1;
    /// CPU use is sampled.
    pub const CPU_SAMPLING: u32 = 2;
}

/// Line numbers of a frame that are no lines.
pub mod line {
    /// No line information.
    pub const NONE: i32 = 0;
    /// Unknown location.
    pub const UNKNOWN: i32 = -1;
    /// A compiled method.
    pub const COMPILED: i32 = -2;
    /// A native method.
    pub const NATIVE: i32 = -3;
}
