//! Finds the next place in a damaged file at which reading can continue.
//!
//! Nothing in the format marks where a record begins, and sub-records have no length at all. But
//! records form chains: each one gives the place where the next begins. So a place is taken for the
//! start of a record if a chain of sound ones begins there. All functions look at no more than
//! [`LOOK`] bytes from a place on, so that files in memory and streams are mended alike.

use super::file::{RECORD_HEAD, is_heap};
use crate::binary::tags::{heap, record as tag};
use crate::binary::{IdSize, Stop, SubRecord, decode_sub_record, u4};
use crate::ids::StringId;
use crate::model::RootKind;

/// The number of bytes after a place that are examined.
pub(crate) const LOOK: usize = 64 << 10;
/// The links of a chain that are enough.
const CHAIN: usize = 8;
/// The links that are enough for records with heads, which carry more information.
const RECORD_CHAIN: usize = 4;
/// Strings are no longer: class files hold at most 65,535 bytes (JVM specification 4.4.7).
const MAX_STRING: u64 = 1 << 20;
/// Nor strings that fill room.
const MAX_FILLER: u64 = 64 << 20;
/// Records of unknown tag are not believed to be longer.
pub(crate) const MAX_UNKNOWN: u64 = 256 << 10;
/// Nor tables of a profile.
const MAX_TABLE: u64 = 1 << 30;
/// The bytes that later versions may add to a record.
const SLACK: u64 = 256;

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// Reading can continue at this index.
    Found(usize),
    /// It cannot at any index below this one.
    NotBelow(usize),
}

/// Searches for a chain that `is_start` knows. `is_end` tells that nothing follows `bytes`;
/// else places with no more than [`LOOK`] bytes from there on are left for later.
fn search(bytes: &[u8], is_end: bool, is_start: impl Fn(&[u8], bool) -> bool) -> Search {
    let tested = match is_end {
        true => bytes.len(),
        false => bytes.len().saturating_sub(LOOK),
    };
    let found = (0..tested).find(|&at| {
        let rest = &bytes[at..];
        let window = &rest[..rest.len().min(LOOK)];
        is_start(window, is_end && window.len() == rest.len())
    });
    found.map_or(Search::NotBelow(tested), Search::Found)
}

/// Searches for sub-records.
pub(crate) fn find_sub_records(bytes: &[u8], id_size: IdSize, is_end: bool) -> Search {
    search(bytes, is_end, |window, ends| {
        are_sub_records(window, id_size, ends)
    })
}

/// Searches for records.
pub(crate) fn find_records(bytes: &[u8], id_size: IdSize, is_end: bool) -> Search {
    search(bytes, is_end, |window, ends| {
        are_records(window, id_size, ends)
    })
}

/// True if `window` begins with a chain of sub-records; `ends` tells that nothing may follow it.
fn are_sub_records(window: &[u8], id_size: IdSize, ends: bool) -> bool {
    if !is_sub_tag(window.first()) {
        return false;
    }
    let (mut rest, mut last, mut objects) = (window, 0, 0);
    for links in 0..CHAIN {
        if ends && rest.is_empty() {
            return links >= 2 && objects >= 1;
        }
        match decode_sub_record(rest, id_size) {
            Ok((sub, length)) => {
                let Some((id, is_object)) = credible(&sub, id_size).filter(|&(id, _)| id != last)
                else {
                    return false;
                };
                last = id;
                objects += usize::from(is_object);
                rest = &rest[length..];
            }
            // The chain leaves the window.
            Err(Stop::Incomplete { .. }) if !ends => return objects >= 3,
            Err(_) => return false,
        }
    }
    objects >= 2
}

fn is_sub_tag(tag: Option<&u8>) -> bool {
    let known = |tag: u8| {
        matches!(
            tag,
            heap::ROOT_JNI_GLOBAL..=heap::ROOT_THREAD_OBJECT
                | heap::CLASS_DUMP..=heap::PRIMITIVE_ARRAY_DUMP
                | heap::ROOT_INTERNED_STRING..=heap::ROOT_JNI_MONITOR
                | heap::UNREACHABLE
                | heap::PRIMITIVE_ARRAY_NO_DATA
                | heap::HEAP_DUMP_INFO
                | heap::ROOT_UNKNOWN
        )
    };
    tag.is_some_and(|&tag| known(tag))
}

/// The object that a sub-record is about, and whether it is an object or class rather than a
/// root; `None` if the fields look like chance.
fn credible(sub: &SubRecord<'_>, id_size: IdSize) -> Option<(u64, bool)> {
    // No VM's addresses need more than 48 bits.
    let is_id = |id: u64| id != 0 && (id_size == IdSize::Four || id >> 48 == 0);
    let is_serial = |serial: u32| serial < 1 << 28 || serial == u32::MAX;
    let (id, is_object, is_right) = match *sub {
        SubRecord::Root(root) => {
            let right = match root.kind {
                RootKind::JniLocal { thread, frame }
                | RootKind::JavaFrame { thread, frame }
                | RootKind::JniMonitor { thread, frame } => {
                    is_serial(thread.get()) && frame.is_none_or(|frame| frame < 1 << 16)
                }
                RootKind::NativeStack { thread } | RootKind::ThreadBlock { thread } => {
                    is_serial(thread.get())
                }
                RootKind::ThreadObject { thread, trace } => {
                    is_serial(thread.get()) && is_serial(trace.get())
                }
                _ => true,
            };
            (root.object.get(), false, right)
        }
        SubRecord::Unreachable { object } => (object.get(), false, true),
        SubRecord::HeapInfo { heap, name } => (name.get(), false, heap < 256),
        SubRecord::Class(class) => {
            let right = is_serial(class.trace.get()) && class.instance_size < 1 << 24;
            (class.class.get(), true, right)
        }
        SubRecord::Instance {
            object,
            trace,
            class,
            values,
        } => {
            let right = is_id(class.get()) && is_serial(trace.get()) && values.len() < 1 << 20;
            (object.get(), true, right)
        }
        SubRecord::ObjectArray {
            array,
            trace,
            class,
            ..
        } => (
            array.get(),
            true,
            is_id(class.get()) && is_serial(trace.get()),
        ),
        SubRecord::PrimitiveArray { array, trace, .. }
        | SubRecord::PrimitiveArrayNoData { array, trace, .. } => {
            (array.get(), true, is_serial(trace.get()))
        }
    };
    (is_right && is_id(id)).then_some((id, is_object))
}

/// True if `window` begins with a chain of records.
fn are_records(window: &[u8], id_size: IdSize, ends: bool) -> bool {
    let mut rest = window;
    for links in 0..RECORD_CHAIN {
        if ends && rest.is_empty() {
            return links >= 2;
        }
        let Some((head, after)) = rest.split_first_chunk::<RECORD_HEAD>() else {
            return !ends && links >= 3;
        };
        let (tag, length) = (head[0], u64::from(u4(head, 5)));
        let Some((least, most)) = lengths(tag, id_size) else {
            return false;
        };
        if length < least || length > most {
            return false;
        }
        if is_heap(tag) && length > 0 {
            let ends = ends || length <= after.len() as u64;
            let body = &after[..length.min(after.len() as u64) as usize];
            return are_sub_records(body, id_size, ends);
        }
        if tag == tag::HEAP_DUMP_END && ends && after.is_empty() {
            return true;
        }
        match after.get(length as usize..) {
            Some(next) => rest = next,
            None => return !ends && links >= 3,
        }
    }
    true
}

/// The shortest and the longest body of a record that is written in practice; `None` for unknown
/// tags.
fn lengths(tag: u8, id_size: IdSize) -> Option<(u64, u64)> {
    let id = id_size.bytes() as u64;
    let fixed = |length| Some((length, length));
    match tag {
        tag::UTF8 => Some((id, MAX_STRING)),
        tag::LOAD_CLASS => fixed(8 + 2 * id),
        tag::UNLOAD_CLASS | tag::END_THREAD => fixed(4),
        tag::FRAME | tag::START_THREAD => fixed(8 + 4 * id),
        tag::TRACE => Some((12, MAX_TABLE)),
        tag::ALLOC_SITES => Some((34, MAX_TABLE)),
        tag::HEAP_SUMMARY => fixed(24),
        tag::CPU_SAMPLES => Some((8, MAX_TABLE)),
        tag::CONTROL_SETTINGS => fixed(6),
        tag::HEAP_DUMP_END => fixed(0),
        tag::HEAP_DUMP | tag::HEAP_DUMP_SEGMENT => Some((0, u64::from(u32::MAX))),
        _ => None,
    }
}

/// The bytes of the body that [`is_too_long`] wants to see.
pub(crate) const BODY_START: usize = 34;

/// True if a record is so much longer than its fields that its length has to be wrong. `start` is
/// the start of its body, [`BODY_START`] bytes if there are as many.
pub(crate) fn is_too_long(tag: u8, length: u64, start: &[u8], id_size: IdSize) -> bool {
    let Some((least, most)) = lengths(tag, id_size) else {
        return length > MAX_UNKNOWN;
    };
    // Earlier agents filled the room before the objects of a VM with a single string.
    let is_filler = tag == tag::UTF8 && start.starts_with(&StringId::FILLER.to_be_bytes());
    let most = if is_filler { MAX_FILLER } else { most };
    if length > most + if least == most { SLACK } else { 0 } {
        return true;
    }
    let (at, fixed, row) = match tag {
        tag::TRACE => (8, 12, id_size.bytes() as u64),
        tag::ALLOC_SITES => (30, 34, 25),
        tag::CPU_SAMPLES => (4, 8, 8),
        _ => return false,
    };
    let rows = start
        .get(at..at + 4)
        .map_or(0, |count| u64::from(u4(count, 0)));
    length > fixed + rows * row + SLACK
}

/// True if a record of unknown tag is believed, `next` being the bytes after it: it is if a head
/// follows that can be one, or nothing.
pub(crate) fn is_followed(next: &[u8], id_size: IdSize) -> bool {
    let Some(head) = next.first_chunk::<RECORD_HEAD>() else {
        return true;
    };
    match (lengths(head[0], id_size), u64::from(u4(head, 5))) {
        (None, length) => length <= MAX_UNKNOWN && *head != [0; RECORD_HEAD],
        (Some((_, most)), length) => length <= most.saturating_add(SLACK),
    }
}

/// True if the tag is one of those that the manual lists, or that VMs write.
pub(crate) fn is_known(tag: u8) -> bool {
    lengths(tag, IdSize::Eight).is_some()
}
