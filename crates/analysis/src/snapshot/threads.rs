//! Threads with their stacks and what those hold.

use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Snapshot;
use super::values::Value;
use crate::contents::Thread;
use crate::graph::{GraphRoot, NOTHING};
use crate::heap::{ThreadFacts, is_virtual, thread_state};
use crate::numbers::ObjectNumber;
use crate::stacks::Frame;

/// A thread of a dump.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ThreadInfo {
    /// The thread object, by number.
    pub object: ObjectNumber,
    /// Its serial.
    pub serial: u32,
    /// Its name.
    pub name: Option<String>,
    /// The retained size of the thread, in bytes: of its object and the locals of its stack.
    pub retained_bytes: u64,
    /// The methods on its stack, innermost first.
    pub stack: Vec<String>,
    /// The objects of the stack.
    pub locals: Vec<Local>,
}

/// An object that a stack holds.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Local {
    /// The index of the frame within the stack, if that is known.
    pub frame: Option<u32>,
    /// The kind in words.
    pub kind: &'static str,
    /// The object, by number.
    pub object: ObjectNumber,
}

impl Snapshot {
    /// The value of a field of a thread: since JDK 19 some are in an object of its own, `holder` (JEP 425).
    pub fn thread_field(&self, thread: ObjectNumber, name: &str) -> Option<Value> {
        let own = self.field(thread, name);
        own.or_else(|| self.field(self.field_object(thread, "holder")?, name))
    }

    /// The state of a thread, named as in `java.lang.Thread.State`, with `SLEEPING` apart from other
    /// timed waiting. `None` for virtual threads, and for dumps without the field.
    pub fn thread_state(&self, thread: ObjectNumber) -> Option<&'static str> {
        let status = self.thread_field(thread, "threadStatus")?.integer()?;
        thread_state(i32::try_from(status).ok()?)
    }

    /// The facts about a thread that its object has, as [`thread_facts`](crate::heap::thread_facts)
    /// gives them for a file without a graph.
    pub fn thread_facts(&self, thread: ObjectNumber) -> ThreadFacts {
        let field = |name: &str| self.thread_field(thread, name);
        let small = |name: &str| i32::try_from(field(name)?.integer()?).ok();
        let is_daemon = match field("daemon") {
            Some(Value::Boolean(is)) => Some(is),
            _ => None,
        };
        let is_virtual = is_virtual(self.class_name(thread));
        let group = field("group").and_then(|group| group.object());
        ThreadFacts {
            name: self.name_of(thread, usize::MAX),
            group: group.and_then(|group| self.name_of(group, usize::MAX)),
            state: small("threadStatus")
                .filter(|_| !is_virtual)
                .and_then(thread_state),
            is_daemon: is_daemon.unwrap_or(is_virtual),
            priority: small("priority"),
            is_virtual,
            parked_for: (self.field_object(thread, "parkBlocker"))
                .map(|blocker| ObjectId::new(self.graph.id(blocker))),
        }
    }

    /// The threads that the file names and those that are roots of the heap dump, as
    /// [`read`](crate::contents::read) finds them, each with its object if that is a root.
    pub fn named_threads(&self) -> Vec<(Thread, Option<ObjectNumber>)> {
        let roots = || self.graph.roots().iter().filter(|root| root.is_thread());
        let objects: FxHashMap<ObjectId, ObjectNumber> = roots()
            .map(|root| (self.object_id(root), root.object()))
            .collect();
        let known = &self.contents.threads;
        let mut serials: FxHashSet<ThreadSerial> = known.iter().map(|it| it.serial).collect();
        let mut rest: Vec<Thread> = roots()
            .filter(|root| serials.insert(ThreadSerial::new(root.thread)))
            .map(|root| Thread {
                serial: ThreadSerial::new(root.thread),
                object: self.object_id(root),
                name: None,
                group: None,
                trace: (root.trace != NOTHING).then(|| TraceSerial::new(root.trace)),
                has_ended: false,
            })
            .collect();
        rest.sort_by_key(|thread| thread.serial);
        let all = known.iter().cloned().chain(rest);
        all.map(|thread| {
            let object = objects.get(&thread.object).copied();
            (thread, object)
        })
        .collect()
    }

    fn object_id(&self, root: &GraphRoot) -> ObjectId {
        ObjectId::new(self.graph.id(root.object()))
    }

    /// The methods on the stack of the thread with a serial, innermost first.
    pub fn stack(&self, serial: u32) -> Option<Vec<String>> {
        let in_words = |frame: &Frame| format!("{}({})", frame.name(), frame.place());
        Some(self.frames(serial)?.into_iter().map(in_words).collect())
    }

    /// The frames on the stack of the thread with a serial, innermost first.
    pub fn frames(&self, serial: u32) -> Option<Vec<&Frame>> {
        let stacks = &self.contents.stacks;
        let root = (self.graph.roots().iter()).find(|r| r.is_thread() && r.thread == serial);
        let trace = root.filter(|root| root.trace != NOTHING);
        let own = trace.and_then(|root| stacks.trace(TraceSerial::new(root.trace)));
        // Dumps of the Serviceability Agent name a dummy trace in the root, so a trace that names
        // the thread goes before that.
        let own = own.filter(|trace| !trace.frames.is_empty());
        let frames = match own {
            Some(trace) => &trace.frames,
            None => {
                let serial = ThreadSerial::new(serial);
                let mut all = stacks.traces().into_iter();
                let found = all.find(|(_, trace)| trace.thread == Some(serial))?;
                &found.1.frames
            }
        };
        Some(frames.iter().map(|&frame| stacks.frame(frame)).collect())
    }

    /// All threads that have an object, those that retain most first.
    pub fn threads(&self) -> Vec<ThreadInfo> {
        let locals = self.graph.locals();
        let info = |root: &GraphRoot| {
            let object = root.object();
            let start = locals.partition_point(|local| local.0 < object);
            let own = locals[start..].iter().take_while(|local| local.0 == object);
            let local = |(_, local): &(ObjectNumber, GraphRoot)| Local {
                frame: (local.frame != NOTHING).then_some(local.frame),
                kind: local.label(),
                object: local.object(),
            };
            let of_record = self.contents.thread(ThreadSerial::new(root.thread));
            let of_record = of_record.and_then(|thread| thread.name.clone());
            ThreadInfo {
                object,
                serial: root.thread,
                name: self.thread_name(object).or(of_record),
                retained_bytes: self.retained(object),
                stack: self.stack(root.thread).unwrap_or_default(),
                locals: own.map(local).collect(),
            }
        };
        let threads = self.graph.roots().iter().filter(|root| root.is_thread());
        let mut threads: Vec<ThreadInfo> = threads.map(info).collect();
        threads.sort_by(|a, b| {
            (b.retained_bytes.cmp(&a.retained_bytes)).then_with(|| a.serial.cmp(&b.serial))
        });
        threads
    }
}
