//! Roots of a heap dump.

use super::body::Body;
use super::bytes::{id, u4};
use super::sub_record::{Stop, head, object};
use super::tags::heap as tag;
use crate::ids::{ThreadSerial, TraceSerial};
use crate::model::{Root, RootKind};

/// Decodes the root at the start of `bytes`, which is its tag, and its length with the tag.
pub(crate) fn decode_root<const I: usize>(tag: u8, bytes: &[u8]) -> Result<(Root, usize), Stop> {
    let extra = match tag {
        tag::ROOT_JNI_GLOBAL => I,
        tag::ROOT_JNI_LOCAL
        | tag::ROOT_JAVA_FRAME
        | tag::ROOT_JNI_MONITOR
        | tag::ROOT_THREAD_OBJECT => 8,
        tag::ROOT_NATIVE_STACK | tag::ROOT_THREAD_BLOCK => 4,
        _ => 0,
    };
    // An unknown tag has to be told from a root that is cut short.
    let known = RootKind::is_tag(tag);
    let head = if known {
        head(bytes, 1 + I + extra)?
    } else {
        return Err(Stop::Tag(tag));
    };
    let thread = || ThreadSerial::new(u4(head, 1 + I));
    let frame = || Some(u4(head, 5 + I)).filter(|&frame| frame != u32::MAX);
    let kind = match tag {
        tag::ROOT_JNI_GLOBAL => RootKind::JniGlobal {
            reference: id::<I>(head, 1 + I),
        },
        tag::ROOT_JNI_LOCAL => RootKind::JniLocal {
            thread: thread(),
            frame: frame(),
        },
        tag::ROOT_JAVA_FRAME => RootKind::JavaFrame {
            thread: thread(),
            frame: frame(),
        },
        tag::ROOT_NATIVE_STACK => RootKind::NativeStack { thread: thread() },
        tag::ROOT_STICKY_CLASS => RootKind::StickyClass,
        tag::ROOT_THREAD_BLOCK => RootKind::ThreadBlock { thread: thread() },
        tag::ROOT_MONITOR_USED => RootKind::MonitorUsed,
        tag::ROOT_THREAD_OBJECT => {
            let trace = TraceSerial::new(u4(head, 5 + I));
            RootKind::ThreadObject {
                thread: thread(),
                trace,
            }
        }
        tag::ROOT_INTERNED_STRING => RootKind::InternedString,
        tag::ROOT_FINALIZING => RootKind::Finalizing,
        tag::ROOT_DEBUGGER => RootKind::Debugger,
        tag::ROOT_REFERENCE_CLEANUP => RootKind::ReferenceCleanup,
        tag::ROOT_VM_INTERNAL => RootKind::VmInternal,
        tag::ROOT_JNI_MONITOR => RootKind::JniMonitor {
            thread: thread(),
            frame: frame(),
        },
        _ => RootKind::Unknown,
    };
    Ok((
        Root {
            object: object::<I>(head, 1),
            kind,
        },
        head.len(),
    ))
}

impl RootKind {
    fn is_tag(tag: u8) -> bool {
        matches!(tag, 0x01..=0x08 | 0x89..=0x8e | tag::ROOT_UNKNOWN)
    }

    fn tag(&self) -> u8 {
        match self {
            Self::Unknown => tag::ROOT_UNKNOWN,
            Self::JniGlobal { .. } => tag::ROOT_JNI_GLOBAL,
            Self::JniLocal { .. } => tag::ROOT_JNI_LOCAL,
            Self::JavaFrame { .. } => tag::ROOT_JAVA_FRAME,
            Self::NativeStack { .. } => tag::ROOT_NATIVE_STACK,
            Self::StickyClass => tag::ROOT_STICKY_CLASS,
            Self::ThreadBlock { .. } => tag::ROOT_THREAD_BLOCK,
            Self::MonitorUsed => tag::ROOT_MONITOR_USED,
            Self::ThreadObject { .. } => tag::ROOT_THREAD_OBJECT,
            Self::InternedString => tag::ROOT_INTERNED_STRING,
            Self::Finalizing => tag::ROOT_FINALIZING,
            Self::Debugger => tag::ROOT_DEBUGGER,
            Self::ReferenceCleanup => tag::ROOT_REFERENCE_CLEANUP,
            Self::VmInternal => tag::ROOT_VM_INTERNAL,
            Self::JniMonitor { .. } => tag::ROOT_JNI_MONITOR,
        }
    }
}

/// Appends a root with its tag.
pub(crate) fn encode_root(root: &Root, body: &mut Body) {
    body.u1(root.kind.tag()).object(root.object);
    match root.kind {
        RootKind::JniGlobal { reference } => body.id(reference),
        RootKind::JniLocal { thread, frame }
        | RootKind::JavaFrame { thread, frame }
        | RootKind::JniMonitor { thread, frame } => {
            body.thread(thread).u4(frame.unwrap_or(u32::MAX))
        }
        RootKind::NativeStack { thread } | RootKind::ThreadBlock { thread } => body.thread(thread),
        RootKind::ThreadObject { thread, trace } => body.thread(thread).trace(trace),
        RootKind::Unknown
        | RootKind::StickyClass
        | RootKind::MonitorUsed
        | RootKind::InternedString
        | RootKind::Finalizing
        | RootKind::Debugger
        | RootKind::ReferenceCleanup
        | RootKind::VmInternal => body,
    };
}
