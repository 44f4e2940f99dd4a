//! The heap: sampling of allocations, collections, walks and tags.

use std::os::raw::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use hprof_native_headers as raw;
use jni_sys::{jclass, jint, jlong};

use super::env::call;
use super::refs::{Class, Ref};
use crate::{Jvmti, JvmtiError, Result};

/// An object that a walk visits.
pub struct HeapObject<'a> {
    /// The tag of its class, 0 for none.
    pub class_tag: i64,
    /// Its size in bytes.
    pub size: u64,
    /// Its own tag, which the visitor may change.
    pub tag: &'a mut i64,
}

/// The user data of a walk's callback.
struct Visit<'a> {
    visitor: &'a mut dyn FnMut(HeapObject<'_>),
    panicked: bool,
}

impl Jvmti {
    /// Sets the mean distance in bytes between two sampled allocations of a
    /// thread; 0 makes every allocation an event. Each thread takes the new value
    /// at its next sampling point.
    ///
    /// # Errors
    /// The error of `SetHeapSamplingInterval`.
    pub fn set_heap_sampling_interval(&self, bytes: u32) -> Result<()> {
        let bytes = jint::try_from(bytes).map_err(|_| JvmtiError::INTERNAL)?;
        call!(self, SetHeapSamplingInterval, bytes)
    }

    /// Collects garbage, all of it.
    ///
    /// # Errors
    /// The error of `ForceGarbageCollection`.
    pub fn force_garbage_collection(&self) -> Result<()> {
        call!(self, ForceGarbageCollection)
    }

    /// Sets the tag of an object; 0 takes it away.
    ///
    /// # Errors
    /// The error of `SetTag`.
    pub fn set_tag(&self, object: Ref<'_>, tag: i64) -> Result<()> {
        call!(self, SetTag, object.as_raw(), tag)
    }

    /// The tag of an object, 0 for none.
    ///
    /// # Errors
    /// The error of `GetTag`.
    pub fn tag(&self, object: Ref<'_>) -> Result<i64> {
        let mut tag: jlong = 0;
        call!(self, GetTag, object.as_raw(), &mut tag)?;
        Ok(tag)
    }

    /// The identity hash of an object.
    ///
    /// # Errors
    /// The error of `GetObjectHashCode`.
    pub fn object_hash(&self, object: Ref<'_>) -> Result<i32> {
        let mut hash: jint = 0;
        call!(self, GetObjectHashCode, object.as_raw(), &mut hash)?;
        Ok(hash)
    }

    /// Visits all objects of the heap at a safepoint.
    /// Objects that are not reachable any more may be among them. The visitor must
    /// not call the VM.
    ///
    /// # Errors
    /// The error of `IterateThroughHeap`; `INTERNAL` when the visitor panicked.
    pub fn walk_heap(&self, visitor: &mut dyn FnMut(HeapObject<'_>)) -> Result<()> {
        self.iterate(ptr::null_mut(), visitor)
    }

    /// As [`Self::walk_heap`], but visits the instances of one class only, not those of its subclasses.
    ///
    /// # Errors
    /// The error of `IterateThroughHeap`; `INTERNAL` when the visitor panicked.
    pub fn walk_instances(
        &self,
        class: Ref<'_, Class>,
        visitor: &mut dyn FnMut(HeapObject<'_>),
    ) -> Result<()> {
        self.iterate(class.as_raw(), visitor)
    }

    /// Visits all objects, or those of a class.
    fn iterate(&self, class: jclass, visitor: &mut dyn FnMut(HeapObject<'_>)) -> Result<()> {
        let callbacks = raw::jvmtiHeapCallbacks {
            heap_iteration_callback: Some(visit),
            ..Default::default()
        };
        let mut state = Visit {
            visitor,
            panicked: false,
        };
        call!(
            self,
            IterateThroughHeap,
            0,
            class,
            &callbacks,
            (&raw mut state).cast::<c_void>().cast_const(),
        )?;
        if state.panicked {
            return Err(JvmtiError::INTERNAL);
        }
        Ok(())
    }
}

unsafe extern "C" fn visit(
    class_tag: jlong,
    size: jlong,
    tag: *mut jlong,
    _length: jint,
    state: *mut c_void,
) -> jint {
    // SAFETY: `iterate` passed the address of its state, and the VM calls us
    // only during that call, from one thread.
    let state = unsafe { &mut *state.cast::<Visit<'_>>() };
    let object = HeapObject {
        class_tag,
        size: u64::try_from(size).unwrap_or(0),
        // SAFETY: the VM passes the place of the object's tag for this call.
        tag: unsafe { &mut *tag },
    };
    if catch_unwind(AssertUnwindSafe(|| (state.visitor)(object))).is_err() {
        state.panicked = true;
        return raw::JVMTI_VISIT_ABORT as jint;
    }
    0
}
