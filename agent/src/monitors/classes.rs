//! The classes of locks, found without a call of the VM where possible.

use std::collections::HashMap;
use std::sync::OnceLock;

use crossbeam_utils::atomic::AtomicCell;
use parking_lot::Mutex;

use super::acquisition::Acquisition;
use crate::heap_sites::ClassTable;
use crate::names::HiddenNames;
use crate::vm::{FastCompare, Jni, Jvmti, KeptWeakRef, Ref};

/// The class of a lock. It is never freed.
#[derive(Debug, PartialEq, Eq)]
pub struct LockClass {
    pub id: u32,
    /// As Java source has it.
    pub name: String,
    pub(super) mirror: Option<KeptWeakRef>,
    /// Its effect, once determined.
    pub(super) acquisition: OnceLock<Acquisition>,
}

impl LockClass {
    #[cfg(test)]
    pub fn named(id: u32, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            mirror: None,
            acquisition: OnceLock::new(),
        }
    }
}

impl LockClass {
    /// The effect of the attempts of a synchronizer's class; unknown for an unloaded class.
    pub fn acquisition(&self, jvmti: &Jvmti, jni: &Jni) -> Acquisition {
        *self.acquisition.get_or_init(|| {
            let class = self.mirror.and_then(|weak| jni.upgrade_class(weak.get()));
            class.map_or_else(Acquisition::default, |class| {
                Acquisition::of(jvmti, jni, class)
            })
        })
    }
}

/// Places of the classes seen last, by the address of their mirrors.
const RECENT: usize = 256;

/// All classes of locks.
pub struct LockClasses {
    table: ClassTable,
    known: Mutex<HashMap<u32, &'static LockClass>>,
    recent: Box<[AtomicCell<Option<&'static LockClass>>]>,
    compare: FastCompare,
    unknown: OnceLock<&'static LockClass>,
}

impl LockClasses {
    pub fn new(compare: FastCompare) -> Self {
        Self {
            // There are no binary files of this mode.
            table: ClassTable::new(HiddenNames::Families),
            known: Mutex::default(),
            recent: (0..RECENT).map(|_| AtomicCell::new(None)).collect(),
            compare,
            unknown: OnceLock::new(),
        }
    }

    /// The class of an object.
    #[inline]
    pub fn of(&self, jvmti: &Jvmti, jni: &Jni, object: Ref<'_>) -> &'static LockClass {
        let mirror = jni.object_class(object);
        let place = self.compare.hint(mirror.get());
        // Objects lie at multiples of eight, class mirrors further apart.
        let place = (place >> 3) ^ (place >> 11);
        let place = self.recent.get(place % RECENT);
        let recent = place.and_then(AtomicCell::load);
        if let Some(class) = recent
            && class
                .mirror
                .is_some_and(|weak| self.compare.is_weak_of(jni, mirror.get(), weak.get()))
        {
            return class;
        }
        let class = match self.table.intern(jvmti, jni, mirror.get()) {
            Ok(class) => *self
                .known
                .lock()
                .entry(class.id.0)
                .or_insert_with(|| leak(class.id.0, class.name.clone(), class.mirror)),
            Err(_) => self
                .unknown
                .get_or_init(|| leak(u32::MAX, "<Unknown Class>".to_owned(), None)),
        };
        if let Some(place) = place {
            place.store(Some(class));
        }
        class
    }
}

fn leak(id: u32, name: String, mirror: Option<KeptWeakRef>) -> &'static LockClass {
    let acquisition = OnceLock::new();
    Box::leak(Box::new(LockClass {
        id,
        name,
        mirror,
        acquisition,
    }))
}
