//! The fields of the JDK's lock classes that a dump reads.

use crate::lock_fields::LockFields;
use crate::vm::{Class, GlobalRef, JFieldId, Jni, Result};

/// Fields of the JDK's classes, of the same names from JDK 8 to 28.
pub(super) struct Fields {
    pub(super) locks: LockFields,
    pub(super) state: JFieldId,
    pub(super) outer: Option<JFieldId>,
    pub(super) synchronizer: GlobalRef<Class>,
    pub(super) condition: GlobalRef<Class>,
    pub(super) read_write: Option<GlobalRef<Class>>,
}

impl Fields {
    pub(super) fn find(jni: &Jni) -> Result<Self> {
        let synchronizer =
            jni.find_class(c"java/util/concurrent/locks/AbstractQueuedSynchronizer")?;
        let condition = jni
            .find_class(c"java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject")?;
        let read_write = jni.find_class(c"java/util/concurrent/locks/ReentrantReadWriteLock$Sync");
        Ok(Self {
            locks: LockFields::find(jni)?,
            state: jni.field_id(synchronizer.get(), c"state", c"I")?,
            outer: jni
                .field_id(
                    condition.get(),
                    c"this$0",
                    c"Ljava/util/concurrent/locks/AbstractQueuedSynchronizer;",
                )
                .ok(),
            synchronizer: jni.new_global(synchronizer.get())?,
            condition: jni.new_global(condition.get())?,
            read_write: match read_write {
                Ok(class) => Some(jni.new_global(class.get())?),
                Err(_) => None,
            },
        })
    }
}
