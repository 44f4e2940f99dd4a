//! Ids that the VM gives to methods and fields.

use std::ptr;

use jni_sys::{jfieldID, jmethodID};

use crate::hotspot::releases::layout::INSTANCE_FIELD;

/// The id of a method. It outlives its class: HotSpot frees no method id, and answers
/// `INVALID_METHODID` for one whose class was unloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct JMethodId(jmethodID);

// SAFETY: the VM accepts a method id on every thread, and nothing here looks behind it.
unsafe impl Send for JMethodId {}
// SAFETY: as above.
unsafe impl Sync for JMethodId {}

impl JMethodId {
    /// No method. The VM answers `INVALID_METHODID`.
    pub const NONE: Self = Self(ptr::null_mut());

    /// An id that did not come through this crate.
    ///
    /// # Safety
    /// The VM gave it as the id of a method.
    pub unsafe fn from_raw(id: jmethodID) -> Self {
        Self(id)
    }

    /// The raw id.
    pub fn as_raw(self) -> jmethodID {
        self.0
    }

    /// The id as a number, for hashes and keys.
    #[inline]
    pub fn as_word(self) -> u64 {
        self.0 as u64
    }
}

/// The id of a field. Reading an object that lacks the field is undefined behaviour, so the functions that take
/// one are `unsafe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JFieldId(jfieldID);

// SAFETY: the VM accepts a field id on every thread, and nothing here looks behind it.
unsafe impl Send for JFieldId {}
// SAFETY: as above.
unsafe impl Sync for JFieldId {}

impl JFieldId {
    pub(crate) fn new(id: jfieldID) -> Option<Self> {
        (!id.is_null()).then_some(Self(id))
    }

    pub(crate) fn as_raw(self) -> jfieldID {
        self.0
    }

    /// Where an instance has the field, in bytes, if an id has this many bits besides the offset. `None` when the VM keeps
    /// something else in its ids, as it does with `-Xcheck:jni`.
    pub(crate) fn offset(self, kind_bits: u32) -> Option<usize> {
        let id = self.0 as usize;
        let kind = id & ((1 << kind_bits) - 1);
        (kind == INSTANCE_FIELD).then_some(id >> kind_bits)
    }
}
