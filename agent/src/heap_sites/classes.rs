//! The classes of allocated objects.
//!
//! A class is known by its mirror. Weak references hold the mirrors, so a class
//! can be unloaded; its name stays. The references are never deleted, because
//! threads compare mirrors with their words long after.

use std::collections::HashMap;
use std::sync::Arc;

use hprof_format::binary::BasicType;
use hprof_java_names::Primitive;
use parking_lot::{Mutex, RwLock};

use crate::names::{HiddenNames, java_class_name};
use crate::vm::{self, Jni, Jvmti, KeptWeakRef, Ref, Result, WeakRef};

/// The place of a class in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClassId(pub(crate) u32);

/// A class that objects were allocated of.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) id: ClassId,
    /// As Java source and the profile have it.
    pub(crate) name: String,
    /// The type of the elements, for an array.
    pub(crate) element: Option<BasicType>,
    /// Its mirror; `None` for the class of objects whose class is not known.
    pub(crate) mirror: Option<KeptWeakRef>,
}

/// All classes seen.
pub(crate) struct ClassTable {
    hidden: HiddenNames,
    by_hash: Mutex<HashMap<i32, Vec<Arc<Class>>>>,
    all: RwLock<Vec<Arc<Class>>>,
}

/// Why a class was not added; its reference comes back.
enum Refused {
    /// Others of the same hash were added meanwhile.
    Late(WeakRef),
    /// The table is full, and this class stands for the others.
    Full(Arc<Class>, WeakRef),
}

/// How many classes are distinguished. A program that makes classes for ever ends
/// up with the rest of them in one row.
const MAX_CLASSES: usize = 1 << 20;

impl ClassTable {
    pub(crate) fn new(hidden: HiddenNames) -> Self {
        let unknown = Arc::new(Class {
            id: ClassId(0),
            name: "<Unknown Class>".to_owned(),
            element: None,
            mirror: None,
        });
        Self {
            hidden,
            by_hash: Mutex::default(),
            all: RwLock::new(vec![unknown]),
        }
    }

    /// The class with this mirror, new or known.
    ///
    /// # Errors
    /// The VM's error; nothing is remembered then.
    pub(crate) fn intern(
        &self,
        jvmti: &Jvmti,
        jni: &Jni,
        mirror: Ref<'_, vm::Class>,
    ) -> Result<Arc<Class>> {
        let hash = jvmti.object_hash(mirror.as_object())?;
        // No lock is held while the VM compares, so another thread may have added
        // the same class before ours is in.
        let mut checked = 0;
        let mut made = None;
        loop {
            let known: Vec<Arc<Class>> = match self.by_hash.lock().get(&hash) {
                Some(classes) => classes.get(checked..).unwrap_or_default().to_vec(),
                None => Vec::new(),
            };
            checked += known.len();
            let same = |class: &&Arc<Class>| {
                class
                    .mirror
                    .is_some_and(|weak| jni.is_weak_of(mirror, weak.get()))
            };
            if let Some(class) = known.iter().find(same) {
                if let Some((_, weak)) = made {
                    jni.delete_weak(weak);
                }
                return Ok(Arc::clone(class));
            }
            let (signature, weak) = match made.take() {
                Some(made) => made,
                None => (jvmti.class_signature(mirror)?, jni.new_weak(mirror)?),
            };
            match self.add(hash, checked, &signature, weak) {
                Ok(class) => return Ok(class),
                Err(Refused::Full(class, weak)) => {
                    jni.delete_weak(weak);
                    return Ok(class);
                }
                Err(Refused::Late(weak)) => made = Some((signature, weak)),
            }
        }
    }

    /// Adds a class unless others of the same hash came after the `checked` first, or the table is full.
    fn add(
        &self,
        hash: i32,
        checked: usize,
        signature: &str,
        mirror: WeakRef,
    ) -> std::result::Result<Arc<Class>, Refused> {
        let mut by_hash = self.by_hash.lock();
        let classes = by_hash.entry(hash).or_default();
        if classes.len() > checked {
            return Err(Refused::Late(mirror));
        }
        let mut all = self.all.write();
        if let (true, Some(unknown)) = (all.len() >= MAX_CLASSES, all.first()) {
            return Err(Refused::Full(Arc::clone(unknown), mirror));
        }
        let class = Arc::new(Class {
            id: ClassId(u32::try_from(all.len()).unwrap_or(0)),
            name: self.hidden.shown(java_class_name(signature)),
            element: element_type(signature),
            mirror: Some(mirror.keep()),
        });
        all.push(Arc::clone(&class));
        classes.push(Arc::clone(&class));
        Ok(class)
    }

    /// All classes, in the order of their ids.
    pub(crate) fn all(&self) -> Vec<Arc<Class>> {
        self.all.read().clone()
    }
}

/// The type of an array's elements by its signature (JVM specification, 4.3.2).
fn element_type(signature: &str) -> Option<BasicType> {
    let &element = signature.strip_prefix('[')?.as_bytes().first()?;
    Some(Primitive::of_descriptor(element).map_or(BasicType::Object, BasicType::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_an_element_type() {
        assert_eq!(element_type("[I"), Some(BasicType::Int));
        assert_eq!(element_type("[[I"), Some(BasicType::Object));
        assert_eq!(element_type("[Ljava/lang/String;"), Some(BasicType::Object));
        assert_eq!(element_type("Ljava/lang/String;"), None);
        assert_eq!((element_type("["), element_type("")), (None, None));
    }
}
