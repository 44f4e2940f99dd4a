//! Objects that were there before the first event: made by the VM while it
//! started, or mapped from its archive.
//!
//! They are tagged at VMInit and booked under the empty stack. A dump counts the
//! tagged ones that are left.

use std::collections::HashMap;

use super::HeapSites;
use super::classes::ClassId;
use super::sites::Count;
use super::stacks::StackId;
use crate::vm::{Jni, Result};

/// Set in the tag of each object that was there at VMInit.
const EXISTING: i64 = 1;
/// The tag of a class mirror has the class from this bit on.
const CLASS_SHIFT: u32 = 32;

impl HeapSites {
    /// Tags and books what is there.
    ///
    /// # Errors
    /// What the VM says.
    pub(super) fn book_existing(&self, jni: &Jni) -> Result<()> {
        self.tag_classes(jni, EXISTING)?;
        let mut counts: HashMap<ClassId, Count> = HashMap::new();
        self.jvmti.walk_heap(false, &mut |object| {
            *object.tag |= EXISTING;
            *counts.entry(class_of(object.class_tag)).or_default() += Count {
                objects: self.weights.unit(),
                bytes: object.size,
            };
        })?;
        for (class, count) in counts {
            self.sites
                .add(self.sites.intern(StackId::EMPTY, class), count);
        }
        Ok(())
    }

    /// The objects of VMInit that are left, by class.
    ///
    /// # Errors
    /// What the VM says.
    pub(super) fn existing_left(&self) -> Result<HashMap<ClassId, Count>> {
        let mut counts: HashMap<ClassId, Count> = HashMap::new();
        self.jvmti.walk_heap(true, &mut |object| {
            if *object.tag & EXISTING != 0 {
                *counts.entry(class_of(object.class_tag)).or_default() += Count {
                    objects: self.weights.unit(),
                    bytes: object.size,
                };
            }
        })?;
        Ok(counts)
    }

    fn tag_classes(&self, jni: &Jni, mark: i64) -> Result<()> {
        let classes = self.jvmti.loaded_classes()?;
        for &class in classes.iter() {
            let mirror = jni.own(class);
            let Ok(class) = self.classes.intern(self.jvmti, jni, mirror.as_raw()) else {
                continue;
            };
            let tag = i64::from(class.id.0) << CLASS_SHIFT | mark;
            self.jvmti.set_tag(mirror.as_raw(), tag)?;
        }
        Ok(())
    }
}

fn class_of(tag: i64) -> ClassId {
    ClassId(u32::try_from(tag >> CLASS_SHIFT).unwrap_or(0))
}
