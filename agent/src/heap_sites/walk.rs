//! Objects whose allocation was not seen.
//!
//! Most were there before the first event: made by the VM while it started, or
//! mapped from its archive. They are tagged at VMInit and booked under the empty
//! stack; an agent that comes later leaves alone what it finds. A dump counts those that are left, and all other objects: what exceeds
//! the followed ones was allocated without an event, by a thread of the VM for
//! instance.

use std::collections::{HashMap, HashSet};

use super::HeapSites;
use super::classes::{Class, ClassId};
use super::sites::Count;
use super::stacks::StackId;
use crate::vm::{Jni, Result};

/// Set in the tag of each object that was there at VMInit.
const EXISTING: i64 = 1;
/// The tag of what may be no object. A thread that fills its allocation buffer overwrites what
/// the VM put there for the walk, and the new object has its tag.
const EXISTING_OR_FILLER: i64 = 2;
/// The tag of a class mirror has the class from this bit on.
const CLASS_SHIFT: u32 = 32;

/// The result of a walk for a class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// Objects that were there at VMInit.
    pub(super) existing: Count,
    /// All objects.
    pub(super) all: Count,
}

impl HeapSites {
    /// Tags and books the existing objects.
    ///
    /// # Errors
    /// The VM's error.
    pub(super) fn book_existing(&self, jni: &Jni) -> Result<()> {
        self.tag_classes(jni, EXISTING)?;
        let fillers = self.filler_classes();
        let mut counts: HashMap<ClassId, Count> = HashMap::new();
        self.jvmti.walk_heap(&mut |object| {
            let class = class_of(object.class_tag);
            if fillers.contains(&class) {
                *object.tag |= EXISTING_OR_FILLER;
                return;
            }
            *object.tag |= EXISTING;
            *counts.entry(class).or_default() += self.one(object.size);
        })?;
        for (class, count) in counts {
            self.sites
                .add(self.sites.intern(StackId::EMPTY, class), count);
        }
        Ok(())
    }

    /// The objects of the heap by class.
    ///
    /// # Errors
    /// The VM's error.
    pub(super) fn count_objects(&self, jni: &Jni) -> Result<HashMap<ClassId, Found>> {
        self.tag_classes(jni, 0)?;
        let fillers = self.filler_classes();
        let mut counts: HashMap<ClassId, Found> = HashMap::new();
        self.jvmti.walk_heap(&mut |object| {
            let class = class_of(object.class_tag);
            let found = counts.entry(class).or_default();
            let one = self.one(object.size);
            found.all += one;
            let may_exist = *object.tag & EXISTING_OR_FILLER != 0 && fillers.contains(&class);
            if may_exist || *object.tag & EXISTING != 0 {
                found.existing += one;
            }
        })?;
        Ok(counts)
    }

    /// Returns true if objects of this class may be no objects but unused memory, which
    /// the VM makes look like objects so that the heap can be walked.
    pub(super) fn may_be_filler(&self, class: &Class) -> bool {
        self.release.may_be_filler(&class.name)
    }

    fn filler_classes(&self) -> HashSet<ClassId> {
        let classes = self.classes.all();
        let fillers = classes.iter().filter(|class| self.may_be_filler(class));
        fillers.map(|class| class.id).collect()
    }

    fn one(&self, bytes: u64) -> Count {
        Count {
            objects: self.weights.unit(),
            bytes,
        }
    }

    /// Gives each class a tag that names it.
    fn tag_classes(&self, jni: &Jni, mark: i64) -> Result<()> {
        let jni = &*jni.large_local_frame();
        for mirror in self.jvmti.loaded_classes(jni)? {
            if self.jvmti.tag(mirror.get().as_object())? != 0 {
                continue;
            }
            let Ok(class) = self.classes.intern(&self.jvmti, jni, mirror.get()) else {
                continue;
            };
            let tag = i64::from(class.id.0) << CLASS_SHIFT | mark;
            self.jvmti.set_tag(mirror.get().as_object(), tag)?;
        }
        Ok(())
    }
}

fn class_of(tag: i64) -> ClassId {
    ClassId(u32::try_from(tag >> CLASS_SHIFT).unwrap_or(0))
}
