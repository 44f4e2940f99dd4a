//! Names of thread groups, kept: the VM is asked once for each of the first groups.

use std::sync::OnceLock;

use super::jni::Jni;
use super::refs::{Ref, WeakRef};

/// Groups whose names are kept. Their weak references stay in the VM, so there is a limit.
const MAX_KEPT: usize = 16;

/// The names of a group, which never change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupNames {
    /// Its own.
    pub(super) name: String,
    /// Its parent's; empty for the top group.
    pub(super) parent: String,
}

/// The groups that were asked for.
#[derive(Default)]
pub struct ThreadGroups {
    /// Set from the first on.
    known: [OnceLock<(WeakRef, GroupNames)>; MAX_KEPT],
}

impl ThreadGroups {
    /// The names of a group; those that are not known yet from `ask`.
    pub(super) fn names(
        &self,
        jni: &Jni,
        group: Ref<'_>,
        ask: impl FnOnce() -> GroupNames,
    ) -> GroupNames {
        let known = self.known.iter().map_while(OnceLock::get);
        for (weak, names) in known {
            if jni.is_weak_of(group, weak) {
                return names.clone();
            }
        }
        let names = ask();
        // Threads that ask for one group at once may both keep it.
        let free = self.known.iter().find(|place| place.get().is_none());
        if let Some(place) = free
            && let Ok(weak) = jni.new_weak(group)
            && let Err((weak, _)) = place.set((weak, names.clone()))
        {
            jni.delete_weak(weak);
        }
        names
    }
}
