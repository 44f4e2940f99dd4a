//! How large the VM makes objects. A heap dump does not tell: it has the sum of the fields'
//! widths, without header, compression and padding.

use std::os::raw::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use hprof_native_headers as raw;
use jni_sys::{jint, jlong};

use super::env::call;
use super::refs::{LocalRef, Ref};
use crate::{Jni, Jvmti, JvmtiError, Result};

/// The size of all instances of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSize {
    /// Signature of the class.
    pub signature: String,
    /// Bytes of an instance.
    pub bytes: u64,
}

/// The size of arrays besides their elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayLayout {
    /// Bytes before the elements: of arrays whose elements are narrower than eight bytes, and of
    /// the others.
    header: [u64; 2],
    /// Bytes of a reference.
    reference: u64,
    /// Objects take multiples of this.
    alignment: u64,
}

impl ArrayLayout {
    /// Bytes of an array of `length` elements, each `width` bytes wide; `None` for references.
    #[inline]
    pub fn bytes(&self, length: u64, width: Option<u64>) -> u64 {
        let width = width.unwrap_or(self.reference);
        let header = self.header[usize::from(width >= 8)];
        self.align(header + length * width)
    }

    /// About what an instance with these fields takes. The VM may reorder fields and use gaps.
    pub fn estimate_instance(&self, references: u64, primitive_bytes: u64) -> u64 {
        // An array has its length, four bytes, after the header that every object has.
        let header = self.header[0] - 4;
        self.align(header + references * self.reference + primitive_bytes)
    }

    #[inline]
    fn align(&self, bytes: u64) -> u64 {
        let mask = self.alignment - 1;
        (bytes + mask) & !mask
    }
}

/// Learns the layout of arrays by making a few.
///
/// # Errors
/// When there is no room for them in the Java heap.
pub fn measure_arrays(jvmti: &Jvmti, jni: &Jni) -> Result<ArrayLayout> {
    let size = |array: &LocalRef<'_>| jvmti.object_size(array.get());
    // The largest gap between two sizes shows the alignment.
    let mut bytes = Vec::new();
    for length in 0..=64 {
        bytes.push(size(&jni.new_byte_array(length)?)?);
    }
    let alignment = bytes
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .max()
        .filter(|&step| step > 0)
        .ok_or(JvmtiError::INTERNAL)?;
    // The last length that fits into a size fills it.
    let filled = bytes
        .windows(2)
        .position(|pair| pair[1] > pair[0])
        .ok_or(JvmtiError::INTERNAL)?;
    let narrow = bytes[filled].saturating_sub(filled as u64);
    if narrow < 4 || !alignment.is_power_of_two() {
        return Err(JvmtiError::INTERNAL);
    }
    // Elements of eight bytes start at a multiple of eight.
    let wide = narrow.next_multiple_of(8);
    let class = jni.find_class(c"java/lang/Object")?;
    const REFERENCES: u64 = 64;
    let references = jni.new_object_array(REFERENCES as i32, class.get())?;
    let reference = size(&references)?.saturating_sub(narrow) / REFERENCES;
    Ok(ArrayLayout {
        header: [narrow, wide],
        reference,
        alignment,
    })
}

/// The instance size of each class that has instances, measured by a walk over the heap at a
/// safepoint. Classes of the same name are reported one by one.
///
/// # Errors
/// The error of a JVMTI function; `NOT_AVAILABLE` when tags are not to be had.
pub fn measure_classes(jni: &Jni) -> Result<Vec<ClassSize>> {
    // An environment of its own, since tags belong to an environment.
    let jvmti = &Jvmti::another(jni)?;
    let mut wanted = crate::Capabilities::default();
    wanted.set_can_tag_objects(1);
    let refused = jvmti.add_capabilities(&wanted)?;
    if refused.can_tag_objects() != 0 {
        return Err(JvmtiError::NOT_AVAILABLE);
    }
    let frame = jni.large_local_frame();
    let classes = jvmti.loaded_classes(&frame)?;
    let mut signatures = Vec::with_capacity(classes.len());
    for class in &classes {
        let signature = jvmti.class_signature(class.get())?;
        if signature.starts_with('[') {
            continue;
        }
        signatures.push(signature);
        let tag = jlong::try_from(signatures.len()).map_err(|_| JvmtiError::INTERNAL)?;
        call!(jvmti, SetTag, class.get().as_raw(), tag)?;
    }
    let mut sizes: Vec<u64> = vec![0; signatures.len() + 1];
    let callbacks = raw::jvmtiHeapCallbacks {
        heap_iteration_callback: Some(note_size),
        ..Default::default()
    };
    let filter = raw::JVMTI_HEAP_FILTER_CLASS_UNTAGGED as jint;
    call!(
        jvmti,
        IterateThroughHeap,
        filter,
        ptr::null_mut(),
        &callbacks,
        (&raw mut sizes).cast::<c_void>().cast_const(),
    )?;
    let measured = signatures.into_iter().zip(sizes.into_iter().skip(1));
    Ok(measured
        .filter(|&(_, bytes)| bytes > 0)
        .map(|(signature, bytes)| ClassSize { signature, bytes })
        .collect())
}

unsafe extern "C" fn note_size(
    class_tag: jlong,
    size: jlong,
    _tag: *mut jlong,
    _length: jint,
    sizes: *mut c_void,
) -> jint {
    // SAFETY: `measure_classes` passed the address of its vector, and the VM calls us only during
    // that call, from one thread.
    let sizes = unsafe { &mut *sizes.cast::<Vec<u64>>() };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let place = usize::try_from(class_tag)
            .ok()
            .and_then(|tag| sizes.get_mut(tag));
        let size = u64::try_from(size).unwrap_or(0);
        // Class objects differ in size; the least is that of one without static fields.
        if let Some(place) = place.filter(|known| **known == 0 || **known > size) {
            *place = size;
        }
    }));
    0
}

impl Jvmti {
    /// Bytes that an object takes.
    ///
    /// # Errors
    /// The error of `GetObjectSize`.
    pub fn object_size(&self, object: Ref<'_>) -> Result<u64> {
        let mut size: jlong = 0;
        call!(self, GetObjectSize, object.as_raw(), &mut size)?;
        Ok(u64::try_from(size).unwrap_or(0))
    }

    /// One more environment, with tags of its own.
    ///
    /// # Errors
    /// `NOT_AVAILABLE` when the VM has none to give.
    pub fn another(jni: &Jni) -> Result<Self> {
        let vm = jni.java_vm()?;
        // SAFETY: the pointer is what the VM itself returned.
        unsafe { Self::from_vm(vm) }.map_err(|_| JvmtiError::NOT_AVAILABLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_have_a_header_and_are_aligned() {
        // HotSpot with and without compressed class pointers.
        let layout = ArrayLayout {
            header: [16, 16],
            reference: 4,
            alignment: 8,
        };
        assert_eq!(layout.bytes(0, Some(1)), 16);
        assert_eq!(layout.bytes(5, Some(1)), 24);
        assert_eq!(layout.bytes(3, None), 32);
        assert_eq!(layout.bytes(3, Some(8)), 40);
        let layout = ArrayLayout {
            header: [20, 24],
            reference: 8,
            alignment: 8,
        };
        assert_eq!(layout.bytes(1, Some(4)), 24);
        assert_eq!(layout.bytes(1, Some(8)), 32);
        assert_eq!(layout.bytes(1, None), 32);
    }
}
