//! The names of a thread and of its groups.
//!
//! `GetThreadInfo` tells them, but allocates the name, looks the thread up in the VM's list, and makes references that
//! the agent does not need: where threads start by the thousand, half of what their start costs the agent. So the
//! fields of `java.lang.Thread` are read, as that function does, where they are where this release has them. Names of
//! groups are kept: the VM is asked once for each of the first groups.

use std::sync::{Arc, OnceLock};

use super::releases::Release;
use crate::jvmti::ids::JFieldId;
use crate::jvmti::jni::{Jni, jni};
use crate::jvmti::refs::{Class, LocalRef, Ref, WeakRef};

/// Groups whose names are kept. Their weak references stay in the VM, so there is a limit.
const MAX_KEPT: usize = 16;

/// UTF-16 units of the longest name that is read here.
const MAX_NAME: usize = 256;

/// The contents of a THREAD START record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Name of the thread now.
    pub name: String,
    /// The names of its group.
    pub group: Arc<GroupNames>,
}

/// The names of a group, which never change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupNames {
    /// Its own; empty for a thread that has no group (any more).
    pub name: String,
    /// Its parent's; empty for the top group.
    pub parent: String,
}

/// Where the names of threads are, and the groups that were asked for.
#[derive(Default)]
pub struct ThreadNames {
    /// `None` in it in a release that has other fields.
    fields: OnceLock<Option<ThreadFields>>,
    /// Set from the first on.
    known: [OnceLock<(WeakRef, Arc<GroupNames>)>; MAX_KEPT],
}

impl ThreadNames {
    /// Name and group of a platform thread. `None` where the VM is to be asked.
    pub(crate) fn read<'a>(
        &self,
        jni: &'a Jni,
        release: impl Fn() -> Release,
        thread: Ref<'_>,
    ) -> Option<(String, Option<LocalRef<'a>>)> {
        let learn = || ThreadFields::learn(jni, release());
        let fields = self.fields.get_or_init(learn);
        let fields = fields.as_ref()?;
        Some((fields.name(jni, thread)?, fields.group(jni, thread)?))
    }

    /// The names of a group; those that are not known yet from `ask`.
    pub(crate) fn group(
        &self,
        jni: &Jni,
        group: Ref<'_>,
        ask: impl FnOnce() -> GroupNames,
    ) -> Arc<GroupNames> {
        let known = self.known.iter().map_while(OnceLock::get);
        for (weak, names) in known {
            if jni.is_weak_of(group, weak) {
                return Arc::clone(names);
            }
        }
        let names = Arc::new(ask());
        // Threads that ask for one group at once may both keep it.
        let free = self.known.iter().find(|place| place.get().is_none());
        if let Some(place) = free
            && let Ok(weak) = jni.new_weak(group)
            && let Err((weak, _)) = place.set((weak, Arc::clone(&names)))
        {
            jni.delete_weak(weak);
        }
        names
    }
}

/// Fields of `java.lang.Thread`.
struct ThreadFields {
    name: JFieldId,
    /// The object that has the group, since JDK 19.
    holder: Option<JFieldId>,
    group: JFieldId,
}

impl ThreadFields {
    fn learn(jni: &Jni, release: Release) -> Option<Self> {
        let thread = jni.find_class(c"java/lang/Thread").ok()?;
        let field = |class: Ref<'_, Class>, name, descriptor| {
            let id = jni.field_id(class, name, descriptor);
            id.ok()
        };
        let name = field(thread.get(), c"name", c"Ljava/lang/String;")?;
        let group = c"Ljava/lang/ThreadGroup;";
        if !release.threads_have_holders() {
            return Some(Self {
                name,
                holder: None,
                group: field(thread.get(), c"group", group)?,
            });
        }
        let holder = c"Ljava/lang/Thread$FieldHolder;";
        let holder = field(thread.get(), c"holder", holder)?;
        let class = jni.find_class(c"java/lang/Thread$FieldHolder").ok()?;
        Some(Self {
            name,
            holder: Some(holder),
            group: field(class.get(), c"group", group)?,
        })
    }

    /// `None` for a name that is too long.
    fn name(&self, jni: &Jni, thread: Ref<'_>) -> Option<String> {
        // SAFETY: the field is one of `java.lang.Thread`, and holds a string.
        let name = unsafe { jni.object_field(thread, self.name) }?;
        let name = name.get().as_raw();
        // SAFETY: as above.
        let count = unsafe { jni!(jni, v1_2.GetStringLength, name) };
        let mut units = [0u16; MAX_NAME];
        let units = units.get_mut(..usize::try_from(count).ok()?)?;
        let place = units.as_mut_ptr();
        // SAFETY: the string has `count` units, and there is room for them.
        unsafe { jni!(jni, v1_2.GetStringRegion, name, 0, count, place) };
        Some(String::from_utf16_lossy(units))
    }

    /// `None` for a thread whose group is elsewhere: a virtual one.
    fn group<'a>(&self, jni: &'a Jni, thread: Ref<'_>) -> Option<Option<LocalRef<'a>>> {
        let Some(holder) = self.holder else {
            // SAFETY: the field is one of `java.lang.Thread`.
            return Some(unsafe { jni.object_field(thread, self.group) });
        };
        // SAFETY: as above.
        let holder = unsafe { jni.object_field(thread, holder) }?;
        // SAFETY: the field is one of its class, which is final.
        Some(unsafe { jni.object_field(holder.get(), self.group) })
    }
}
