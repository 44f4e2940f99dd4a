//! Why objects are alive.

use hprof_format::binary::tags::heap as tag;
use hprof_format::model::{Root, RootKind};
use rustc_hash::{FxHashMap, FxHashSet};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Classes, IdMap};
use crate::names::Names;
use crate::numbers::ObjectNumber;

/// Stands for no thread or no frame.
pub const NOTHING: u32 = u32::MAX;

/// A reason why an object is alive.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct GraphRoot {
    /// The object.
    pub object: u64,
    /// The kind, as the tag of its record.
    pub tag: u32,
    /// The serial of the thread, or [`NOTHING`].
    pub thread: u32,
    /// The frame, 0 being the innermost, or [`NOTHING`].
    pub frame: u32,
    /// A thread object has its trace here. A local variable has its place among those of its frame: the file
    /// lists them in the order of the frame's slots. Other roots have [`NOTHING`].
    pub trace: u32,
}

impl GraphRoot {
    pub(super) fn new(object: usize, kind: RootKind) -> Self {
        let (tag, thread, frame, trace) = match kind {
            RootKind::Unknown => (tag::ROOT_UNKNOWN, None, None, None),
            RootKind::JniGlobal { .. } => (tag::ROOT_JNI_GLOBAL, None, None, None),
            RootKind::JniLocal { thread, frame } => {
                (tag::ROOT_JNI_LOCAL, Some(thread), frame, None)
            }
            RootKind::JavaFrame { thread, frame } => {
                (tag::ROOT_JAVA_FRAME, Some(thread), frame, None)
            }
            RootKind::NativeStack { thread } => (tag::ROOT_NATIVE_STACK, Some(thread), None, None),
            RootKind::StickyClass => (tag::ROOT_STICKY_CLASS, None, None, None),
            RootKind::ThreadBlock { thread } => (tag::ROOT_THREAD_BLOCK, Some(thread), None, None),
            RootKind::MonitorUsed => (tag::ROOT_MONITOR_USED, None, None, None),
            RootKind::ThreadObject { thread, trace } => {
                (tag::ROOT_THREAD_OBJECT, Some(thread), None, Some(trace))
            }
            RootKind::InternedString => (tag::ROOT_INTERNED_STRING, None, None, None),
            RootKind::Finalizing => (tag::ROOT_FINALIZING, None, None, None),
            RootKind::Debugger => (tag::ROOT_DEBUGGER, None, None, None),
            RootKind::ReferenceCleanup => (tag::ROOT_REFERENCE_CLEANUP, None, None, None),
            RootKind::VmInternal => (tag::ROOT_VM_INTERNAL, None, None, None),
            RootKind::JniMonitor { thread, frame } => {
                (tag::ROOT_JNI_MONITOR, Some(thread), frame, None)
            }
        };
        Self {
            object: object as u64,
            tag: u32::from(tag),
            thread: thread.map_or(NOTHING, |thread| thread.get()),
            frame: frame.unwrap_or(NOTHING),
            trace: trace.map_or(NOTHING, |trace| trace.get()),
        }
    }

    /// The object's number.
    pub fn object(&self) -> ObjectNumber {
        ObjectNumber::new(self.object as usize)
    }

    /// True for the object of a thread.
    pub fn is_thread(&self) -> bool {
        self.tag == u32::from(tag::ROOT_THREAD_OBJECT)
    }

    /// True for a class that the VM keeps.
    pub fn is_sticky_class(&self) -> bool {
        self.tag == u32::from(tag::ROOT_STICKY_CLASS)
    }

    /// True for what a stack holds.
    pub fn is_local(&self) -> bool {
        let tags = [
            tag::ROOT_JNI_LOCAL,
            tag::ROOT_JAVA_FRAME,
            tag::ROOT_NATIVE_STACK,
            tag::ROOT_THREAD_BLOCK,
            tag::ROOT_JNI_MONITOR,
        ];
        self.thread != NOTHING && tags.iter().any(|&tag| self.tag == u32::from(tag))
    }

    /// The kind in words, as a noun.
    pub fn label(&self) -> &'static str {
        match self.tag as u8 {
            tag::ROOT_JNI_GLOBAL => "JNI global reference",
            tag::ROOT_JNI_LOCAL => "JNI local reference",
            tag::ROOT_JAVA_FRAME => "local variable",
            tag::ROOT_NATIVE_STACK => "native stack",
            tag::ROOT_STICKY_CLASS => "class of the boot loader",
            tag::ROOT_THREAD_BLOCK => "thread block",
            tag::ROOT_MONITOR_USED => "monitor in use",
            tag::ROOT_THREAD_OBJECT => "running thread",
            tag::ROOT_INTERNED_STRING => "interned string",
            tag::ROOT_FINALIZING => "object to be finalized",
            tag::ROOT_DEBUGGER => "debugger",
            tag::ROOT_REFERENCE_CLEANUP => "reference cleanup",
            tag::ROOT_VM_INTERNAL => "VM internal",
            tag::ROOT_JNI_MONITOR => "JNI monitor",
            _ => "root of unknown kind",
        }
    }
}

/// True of a class of the boot loader that the file names, and of which it has neither a dump nor an object: an old
/// version of a class that was redefined, or one that is not linked yet. HotSpot dumps neither, so nothing is
/// missing. `used` are the classes of objects.
pub(super) fn is_undumped_class(root: &Root, names: &Names, used: &FxHashSet<u64>) -> bool {
    matches!(root.kind, RootKind::StickyClass)
        && names.is_class(root.object)
        && !used.contains(&root.object.get())
}

/// Numbers what each frame of a stack holds, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct FrameSlots(FxHashMap<(u32, u32), u32>);

impl FrameSlots {
    /// The root with its place in its frame.
    pub fn placed(&mut self, mut root: GraphRoot) -> GraphRoot {
        if root.is_local() {
            let next = self.0.entry((root.thread, root.frame)).or_default();
            root.trace = *next;
            *next = (*next + 1).min(NOTHING - 1);
        }
        root
    }
}

/// Roots in two groups.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// Roots that keep their object alive by themselves.
    pub roots: Vec<GraphRoot>,
    /// Roots of a stack whose thread has an object: the thread keeps them alive. With the
    /// thread's object.
    pub locals: Vec<(ObjectNumber, GraphRoot)>,
}

/// Puts what is on the stack of a thread under the thread's object.
pub(super) fn sort(mut all: Vec<GraphRoot>) -> Sorted {
    all.sort_unstable();
    // Of several slots of a frame with one object the last one counts.
    let key = |root: &GraphRoot| (root.object, root.tag, root.thread, root.frame);
    all.dedup_by(|later, first| {
        let is_same = key(later) == key(first) && (first.is_local() || later.trace == first.trace);
        if is_same {
            first.trace = later.trace;
        }
        is_same
    });
    let threads: FxHashMap<u32, ObjectNumber> = (all.iter().filter(|root| root.is_thread()))
        .map(|root| (root.thread, root.object()))
        .collect();
    let mut sorted = Sorted::default();
    for root in all {
        match threads.get(&root.thread) {
            Some(&thread) if root.is_local() => {
                if thread != root.object() {
                    sorted.locals.push((thread, root));
                }
            }
            _ => sorted.roots.push(root),
        }
    }
    sorted.locals.sort_unstable();
    sorted
}

/// Without any root that is a class, as other VMs write dumps, all classes of the boot loader are
/// roots, as Eclipse MAT has it.
pub(super) fn add_boot_classes(roots: &mut Vec<GraphRoot>, classes: &Classes, ids: &IdMap) {
    let described = || classes.list().iter().filter(|class| class.is_described);
    let objects: FxHashSet<usize> = described().filter_map(|c| ids.number(c.id)).collect();
    if roots
        .iter()
        .any(|root| objects.contains(&root.object().index()))
    {
        return;
    }
    for class in described().filter(|class| class.loader == 0) {
        if let Some(object) = ids.number(class.id) {
            roots.push(GraphRoot::new(object, RootKind::StickyClass));
        }
    }
}

/// References that no field holds: of a thread to what is on its stack, of a loader to its classes.
pub(super) fn extra(
    locals: &[(ObjectNumber, GraphRoot)],
    classes: &Classes,
    ids: &IdMap,
) -> FxHashMap<usize, Vec<usize>> {
    let mut extra: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (thread, root) in locals {
        let targets = extra.entry(thread.index()).or_default();
        targets.push(root.object().index());
    }
    for class in classes.list().iter().filter(|class| class.loader != 0) {
        if let (Some(loader), Some(class)) = (ids.number(class.loader), ids.number(class.id)) {
            extra.entry(loader).or_default().push(class);
        }
    }
    extra
}
