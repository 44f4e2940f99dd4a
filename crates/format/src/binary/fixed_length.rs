//! Lengths of sub-records, as far as the tag alone determines them.

use super::IdSize;
use super::tags::heap as tag;

/// The bytes of a sub-record of a heap dump after its tag, as far as they do not depend on what it
/// holds: all of a root, and of objects and classes what tells how long the rest is. `None` for
/// unknown tags.
pub const fn fixed_length(code: u8, id_size: IdSize) -> Option<usize> {
    let id = id_size.bytes();
    Some(match code {
        tag::ROOT_UNKNOWN
        | tag::ROOT_STICKY_CLASS
        | tag::ROOT_MONITOR_USED
        | tag::ROOT_INTERNED_STRING
        | tag::ROOT_FINALIZING
        | tag::ROOT_DEBUGGER
        | tag::ROOT_REFERENCE_CLEANUP
        | tag::ROOT_VM_INTERNAL
        | tag::UNREACHABLE => id,
        tag::ROOT_JNI_GLOBAL => 2 * id,
        tag::ROOT_NATIVE_STACK | tag::ROOT_THREAD_BLOCK | tag::HEAP_DUMP_INFO => id + 4,
        tag::ROOT_JNI_LOCAL
        | tag::ROOT_JAVA_FRAME
        | tag::ROOT_THREAD_OBJECT
        | tag::ROOT_JNI_MONITOR => id + 8,
        tag::CLASS_DUMP => 7 * id + 10,
        tag::INSTANCE_DUMP | tag::OBJECT_ARRAY_DUMP => 2 * id + 8,
        tag::PRIMITIVE_ARRAY_DUMP | tag::PRIMITIVE_ARRAY_NO_DATA => id + 9,
        _ => return None,
    })
}
