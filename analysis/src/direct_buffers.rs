//! Memory outside of the heap that direct buffers own.

use serde::Serialize;

use crate::numbers::ObjectNumber;
use crate::snapshot::Snapshot;

/// The direct buffers that own memory. Slices and duplicates share that of another buffer, and
/// mapped files are no such buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DirectBuffers {
    /// Their number.
    pub buffers: u64,
    /// The bytes that they hold, as `BufferPoolMXBean.getTotalCapacity` counts them.
    pub capacity: u64,
}

/// The direct buffers of a dump of HotSpot; `None` if it has no class of them, or blank values.
///
/// A buffer of `ByteBuffer.allocateDirect` has a `Cleaner`, whose `thunk` is a `Deallocator` (JDK 8
/// to 25, `Direct-X-Buffer.java.template`). Once the memory was freed, the `Cleaner` is in no
/// list any more, and leads to itself (`Cleaner.java`).
pub fn direct_buffers(snapshot: &Snapshot) -> Option<DirectBuffers> {
    let graph = snapshot.graph();
    let classes = graph.classes();
    let named = |name: &str| {
        let mut numbers = classes.numbers();
        numbers.find(|&class| classes.get(class).name == name)
    };
    let buffer = named("java.nio.DirectByteBuffer")?;
    if snapshot.is_stripped() {
        return None;
    }
    let Some(deallocator) = named("java.nio.DirectByteBuffer$Deallocator") else {
        return Some(DirectBuffers::default());
    };
    let capacity = |object: ObjectNumber| {
        let cleaner = snapshot.field_object(object, "cleaner")?;
        if snapshot.field_object(cleaner, "next") == Some(cleaner) {
            return None;
        }
        let thunk = snapshot.field_object(cleaner, "thunk")?;
        let is_owner = graph.class_of(thunk) == deallocator;
        let capacity = snapshot.field(thunk, "capacity").filter(|_| is_owner)?;
        u64::try_from(capacity.integer()?).ok()
    };
    let buffers = graph.objects().filter(|&it| graph.class_of(it) == buffer);
    let owned = buffers.filter_map(capacity);
    Some(
        owned.fold(DirectBuffers::default(), |sum, bytes| DirectBuffers {
            buffers: sum.buffers + 1,
            capacity: sum.capacity.saturating_add(bytes),
        }),
    )
}
