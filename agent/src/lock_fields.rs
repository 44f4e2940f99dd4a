//! The fields of the JDK by which a parked thread leads to the thread that it waits for.

use crate::vm::{Class, GlobalRef, JFieldId, Jni, Result};

/// Fields of the JDK's classes, of the same names from JDK 8 to 28.
pub struct LockFields {
    /// `Thread.parkBlocker`: what a parked thread waits for.
    pub blocker: JFieldId,
    /// `AbstractOwnableSynchronizer.exclusiveOwnerThread`.
    pub owner: JFieldId,
    /// `AbstractOwnableSynchronizer`, of which locks with an owner are instances.
    pub ownable: GlobalRef<Class>,
}

impl LockFields {
    /// Looks them up.
    ///
    /// # Errors
    /// If the JDK lacks one of them.
    pub fn find(jni: &Jni) -> Result<Self> {
        let thread = jni.find_class(c"java/lang/Thread")?;
        let ownable = jni.find_class(c"java/util/concurrent/locks/AbstractOwnableSynchronizer")?;
        Ok(Self {
            blocker: jni.field_id(thread.get(), c"parkBlocker", c"Ljava/lang/Object;")?,
            owner: jni.field_id(
                ownable.get(),
                c"exclusiveOwnerThread",
                c"Ljava/lang/Thread;",
            )?,
            ownable: jni.new_global(ownable.get())?,
        })
    }
}
