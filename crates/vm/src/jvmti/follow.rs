//! Walks along the references from the roots of the heap, and objects by their tags.

use std::os::raw::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use hprof_native_headers as raw;
use jni_sys::{jint, jlong};

use super::env::call;
use super::memory::VmMemory;
use super::refs::LocalRef;
use crate::{Jni, Jvmti, JvmtiError, Result};

/// The kind of a reference (`jvmtiHeapReferenceKind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReferenceKind {
    /// A field of an object.
    Field,
    /// An element of an array.
    Element,
    /// A static field; the referrer is the class.
    Static,
    /// Something else of a class: its loader, constants, interfaces, superclass, signers, domain.
    Class,
    /// A JNI global reference.
    JniGlobal,
    /// A class of the boot loader.
    SystemClass,
    /// A monitor that is in use.
    Monitor,
    /// A local variable.
    Local,
    /// A JNI local reference.
    JniLocal,
    /// A running thread.
    Thread,
    /// Another root.
    Other,
}

impl ReferenceKind {
    fn of(kind: raw::jvmtiHeapReferenceKind) -> Self {
        match kind {
            raw::JVMTI_HEAP_REFERENCE_FIELD => Self::Field,
            raw::JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT => Self::Element,
            raw::JVMTI_HEAP_REFERENCE_STATIC_FIELD => Self::Static,
            raw::JVMTI_HEAP_REFERENCE_JNI_GLOBAL => Self::JniGlobal,
            raw::JVMTI_HEAP_REFERENCE_SYSTEM_CLASS => Self::SystemClass,
            raw::JVMTI_HEAP_REFERENCE_MONITOR => Self::Monitor,
            raw::JVMTI_HEAP_REFERENCE_STACK_LOCAL => Self::Local,
            raw::JVMTI_HEAP_REFERENCE_JNI_LOCAL => Self::JniLocal,
            raw::JVMTI_HEAP_REFERENCE_THREAD => Self::Thread,
            raw::JVMTI_HEAP_REFERENCE_OTHER => Self::Other,
            _ => Self::Class,
        }
    }
}

/// A reference that a walk meets.
#[derive(Debug)]
pub struct HeapReference<'a> {
    /// Its kind.
    pub kind: ReferenceKind,
    /// The tag of the class of the object that is referred to, 0 for none.
    pub class_tag: i64,
    /// The tag of that object, which the visitor may change; 0 for none.
    pub tag: &'a mut i64,
    /// The tag of the referrer, 0 for none and for roots.
    pub referrer_tag: i64,
    /// The tag of the referrer's class, 0 for none and for roots.
    pub referrer_class_tag: i64,
}

/// The user data of a walk along references.
struct References<'a> {
    visitor: &'a mut dyn FnMut(HeapReference<'_>),
    panicked: bool,
}

impl Jvmti {
    /// Visits all references that can be reached from the roots, at a safepoint. The visitor must not
    /// call the VM.
    ///
    /// # Errors
    /// The error of `FollowReferences`; `INTERNAL` when the visitor panicked.
    pub fn follow_references(&self, visitor: &mut dyn FnMut(HeapReference<'_>)) -> Result<()> {
        let callbacks = raw::jvmtiHeapCallbacks {
            heap_reference_callback: Some(visit_reference),
            ..Default::default()
        };
        let mut walk = References {
            visitor,
            panicked: false,
        };
        call!(
            self,
            FollowReferences,
            0,
            ptr::null_mut(),
            ptr::null_mut(),
            &callbacks,
            (&raw mut walk).cast::<c_void>().cast_const(),
        )?;
        match walk.panicked {
            true => Err(JvmtiError::INTERNAL),
            false => Ok(()),
        }
    }

    /// The objects that have one of these tags, with their tags.
    ///
    /// # Errors
    /// The error of `GetObjectsWithTags`.
    pub fn objects_with_tags<'a>(
        &self,
        jni: &'a Jni,
        tags: &[i64],
    ) -> Result<Vec<(LocalRef<'a>, i64)>> {
        let wanted = jint::try_from(tags.len()).map_err(|_| JvmtiError::INTERNAL)?;
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let (mut count, mut objects, mut found) = (0, ptr::null_mut(), ptr::null_mut());
        call!(
            self,
            GetObjectsWithTags,
            wanted,
            tags.as_ptr(),
            &mut count,
            &mut objects,
            &mut found
        )?;
        let count = count.max(0) as usize;
        // SAFETY: the VM allocated `count` references for us, and as many tags.
        let (objects, found) = unsafe {
            (
                VmMemory::new(self, objects, count),
                VmMemory::new(self, found, count),
            )
        };
        let mut owned = Vec::with_capacity(count);
        for (&object, &tag) in objects.iter().zip(&*found) {
            // SAFETY: the VM made them for us, as local references.
            let object = unsafe { LocalRef::own(jni, object) };
            owned.extend(object.map(|object| (object, tag)));
        }
        Ok(owned)
    }
}

unsafe extern "C" fn visit_reference(
    kind: raw::jvmtiHeapReferenceKind,
    _info: *const raw::jvmtiHeapReferenceInfo,
    class_tag: jlong,
    referrer_class_tag: jlong,
    _size: jlong,
    tag: *mut jlong,
    referrer_tag: *mut jlong,
    _length: jint,
    walk: *mut c_void,
) -> jint {
    // SAFETY: `follow_references` passed the address of its state, and the VM calls us only during that
    // call, from one thread.
    let walk = unsafe { &mut *walk.cast::<References<'_>>() };
    // SAFETY: the place of the referrer's tag, or null for roots. It is read before the other place is
    // borrowed: an object may refer to itself.
    let referrer_tag = unsafe { referrer_tag.as_ref() }.copied().unwrap_or(0);
    let reference = HeapReference {
        kind: ReferenceKind::of(kind),
        class_tag,
        // SAFETY: the VM passes the place of the object's tag for this call.
        tag: unsafe { &mut *tag },
        referrer_tag,
        referrer_class_tag,
    };
    if catch_unwind(AssertUnwindSafe(|| (walk.visitor)(reference))).is_err() {
        walk.panicked = true;
        return raw::JVMTI_VISIT_ABORT as jint;
    }
    raw::JVMTI_VISIT_OBJECTS as jint
}
