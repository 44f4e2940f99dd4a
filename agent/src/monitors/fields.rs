//! The fields of the JDK's lock classes that a dump reads.

use jni_sys::jfieldID;

use crate::vm::{GlobalRef, Jni, Result};

/// Fields of the JDK's classes, of the same names from JDK 11 to 25.
pub(super) struct Fields {
    pub(super) blocker: jfieldID,
    pub(super) owner: jfieldID,
    pub(super) state: jfieldID,
    pub(super) outer: Option<jfieldID>,
    pub(super) ownable: GlobalRef,
    pub(super) synchronizer: GlobalRef,
    pub(super) condition: GlobalRef,
    pub(super) read_write: Option<GlobalRef>,
}

// SAFETY: field ids are valid on every thread.
unsafe impl Send for Fields {}
// SAFETY: as above.
unsafe impl Sync for Fields {}

impl Fields {
    pub(super) fn find(jni: &Jni) -> Result<Self> {
        let thread = jni.find_class(c"java/lang/Thread")?;
        let ownable = jni.find_class(c"java/util/concurrent/locks/AbstractOwnableSynchronizer")?;
        let synchronizer =
            jni.find_class(c"java/util/concurrent/locks/AbstractQueuedSynchronizer")?;
        let condition = jni
            .find_class(c"java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject")?;
        let read_write = jni.find_class(c"java/util/concurrent/locks/ReentrantReadWriteLock$Sync");
        Ok(Self {
            blocker: jni.field_id(thread.as_raw(), c"parkBlocker", c"Ljava/lang/Object;")?,
            owner: jni.field_id(
                ownable.as_raw(),
                c"exclusiveOwnerThread",
                c"Ljava/lang/Thread;",
            )?,
            state: jni.field_id(synchronizer.as_raw(), c"state", c"I")?,
            outer: jni
                .field_id(
                    condition.as_raw(),
                    c"this$0",
                    c"Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;",
                )
                .ok(),
            ownable: jni.new_global(ownable.as_raw()),
            synchronizer: jni.new_global(synchronizer.as_raw()),
            condition: jni.new_global(condition.as_raw()),
            read_write: read_write.ok().map(|class| jni.new_global(class.as_raw())),
        })
    }
}
