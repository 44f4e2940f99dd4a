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
    /// The recording settings of the profiler.
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

/// Flags of an `ALLOC SITES` record.
pub mod sites {
    /// Only sites that changed since the last such record.
    pub const INCREMENTAL: u16 = 1;
    /// Ordered by bytes ever allocated, else by bytes alive.
    pub const BY_ALLOCATED: u16 = 2;
    /// A garbage collection was forced before.
    pub const AFTER_GC: u16 = 4;
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

/// Tags of the sub-records of a heap dump.
pub mod heap {
    /// A root of unknown kind.
    pub const ROOT_UNKNOWN: u8 = 0xff;
    /// A global JNI reference.
    pub const ROOT_JNI_GLOBAL: u8 = 0x01;
    /// A local JNI reference.
    pub const ROOT_JNI_LOCAL: u8 = 0x02;
    /// A local variable of a Java method.
    pub const ROOT_JAVA_FRAME: u8 = 0x03;
    /// An object on a native stack.
    pub const ROOT_NATIVE_STACK: u8 = 0x04;
    /// A class that cannot be unloaded.
    pub const ROOT_STICKY_CLASS: u8 = 0x05;
    /// An object a thread blocks on.
    pub const ROOT_THREAD_BLOCK: u8 = 0x06;
    /// A monitor in use.
    pub const ROOT_MONITOR_USED: u8 = 0x07;
    /// A thread that lives.
    pub const ROOT_THREAD_OBJECT: u8 = 0x08;
    /// Android: an interned string.
    pub const ROOT_INTERNED_STRING: u8 = 0x89;
    /// Android, obsolete: an object about to be finalized.
    pub const ROOT_FINALIZING: u8 = 0x8a;
    /// Android: an object a debugger holds.
    pub const ROOT_DEBUGGER: u8 = 0x8b;
    /// Android, obsolete: an object about to be cleaned up.
    pub const ROOT_REFERENCE_CLEANUP: u8 = 0x8c;
    /// Android: an object the VM holds.
    pub const ROOT_VM_INTERNAL: u8 = 0x8d;
    /// Android: a monitor locked from native code.
    pub const ROOT_JNI_MONITOR: u8 = 0x8e;
    /// Android, obsolete: an object that is not reachable.
    pub const UNREACHABLE: u8 = 0x90;
    /// Android, obsolete: the head of a primitive array without its elements.
    pub const PRIMITIVE_ARRAY_NO_DATA: u8 = 0xc3;
    /// Android: the heap that the following objects belong to.
    pub const HEAP_DUMP_INFO: u8 = 0xfe;
    /// A class.
    pub const CLASS_DUMP: u8 = 0x20;
    /// An object.
    pub const INSTANCE_DUMP: u8 = 0x21;
    /// An array of references.
    pub const OBJECT_ARRAY_DUMP: u8 = 0x22;
    /// An array of a primitive type.
    pub const PRIMITIVE_ARRAY_DUMP: u8 = 0x23;
}
