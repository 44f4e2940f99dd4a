//! The state of the hooks in `java.util.concurrent.locks`.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::vm::{Class, GlobalRef};

/// The class with the hooks, as Java source has it.
pub(super) const HOOK_CLASS_NAME: &str = "java.lang.HprofLocks";

/// The classes that get hooks.
pub(super) const HOOKED: [&CStr; 4] = [
    c"java/util/concurrent/locks/LockSupport",
    c"java/util/concurrent/locks/AbstractQueuedSynchronizer",
    c"java/util/concurrent/locks/AbstractQueuedLongSynchronizer",
    c"java/util/concurrent/locks/StampedLock",
];

/// The handles of the Java side.
pub(super) struct JavaSide {
    /// None if a run before has given it its natives.
    pub(super) hooks: Option<GlobalRef<Class>>,
    /// How many of the classes have hooks.
    pub(super) hooked: AtomicU32,
}

impl JavaSide {
    pub(super) fn is_complete(&self) -> bool {
        self.hooked.load(Ordering::Relaxed) as usize == HOOKED.len()
    }
}
