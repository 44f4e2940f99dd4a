//! The fields of the JDK's lock classes that a dump reads.

use crate::vm::{Class, GlobalRef, JFieldId, Jni, Result};

/// Fields of the JDK's classes, of the same names from JDK 11 to 25.
pub(super) struct Fields {
    pub(super) blocker: JFieldId,
    pub(super) owner: JFieldId,
    pub(super) state: JFieldId,
    pub(super) outer: Option<JFieldId>,
    pub(super) ownable: GlobalRef<Class>,
    pub(super) synchronizer: GlobalRef<Class>,
    pub(super) condition: GlobalRef<Class>,
    pub(super) read_write: Option<GlobalRef<Class>>,
}

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
            blocker: jni.field_id(thread.get(), c"parkBlocker", c"Ljava/lang/Object;")?,
            owner: jni.field_id(
                ownable.get(),
                c"exclusiveOwnerThread",
                c"Ljava/lang/Thread;",
            )?,
            state: jni.field_id(synchronizer.get(), c"state", c"I")?,
            outer: jni
                .field_id(
                    condition.get(),
                    c"this$0",
                    c"Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;",
                )
                .ok(),
            ownable: jni.new_global(ownable.get())?,
            synchronizer: jni.new_global(synchronizer.get())?,
            condition: jni.new_global(condition.get())?,
            read_write: match read_write {
                Ok(class) => Some(jni.new_global(class.get())?),
                Err(_) => None,
            },
        })
    }
}
