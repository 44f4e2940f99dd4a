//! Looks up what records refer to.

use std::collections::HashMap;
use std::fmt::LowerHex;

use super::Faults;
use super::known::{Known, Layout};
use crate::binary::{ClassDump, Record, SubRecord, Value};
use crate::ids::{ClassSerial, FrameId, ObjectId, StringId, ThreadSerial, TraceSerial};
use crate::model::{Root, RootKind};
use crate::reader::Event;

/// Checks references, and counts them.
pub(super) struct References<'a> {
    known: &'a Known,
    faults: &'a mut Faults,
    layouts: HashMap<ObjectId, Option<Layout>>,
    count: u64,
    archived: u64,
    /// Where the present record starts.
    offset: u64,
}

impl<'a> References<'a> {
    pub(super) fn new(known: &'a Known, faults: &'a mut Faults) -> Self {
        Self {
            known,
            faults,
            layouts: HashMap::new(),
            count: 0,
            archived: 0,
            offset: 0,
        }
    }

    /// References looked up so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// See [`super::Verified::archived`].
    pub(super) fn archived(&self) -> u64 {
        self.archived
    }

    pub(super) fn check(&mut self, event: &Event<'_>) {
        match event {
            Event::Record(found) => {
                self.offset = found.offset;
                self.record(&found.record);
            }
            Event::Heap { .. } => {}
            Event::SubRecord { offset, sub_record }
            | Event::LongSubRecord {
                offset,
                start: sub_record,
                ..
            } => {
                self.offset = *offset;
                self.sub_record(sub_record);
            }
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        match *record {
            Record::LoadClass { trace, name, .. } => {
                self.trace(trace);
                self.string("a class's name", name);
            }
            Record::Frame {
                method,
                signature,
                source_file,
                class,
                ..
            } => {
                self.string("a frame's method", method);
                self.string("a frame's signature", signature);
                self.string("a frame's source file", source_file);
                self.class(class);
            }
            Record::Trace { thread, frames, .. } => {
                self.thread(thread);
                for frame in frames.iter() {
                    self.frame(FrameId::new(frame));
                }
            }
            Record::AllocSites { sites, .. } => {
                for site in sites.iter() {
                    self.class(site.class);
                    self.trace(site.trace);
                }
            }
            Record::StartThread {
                trace,
                name,
                group,
                parent_group,
                ..
            } => {
                self.trace(trace);
                for string in [name, group, parent_group] {
                    self.string("a thread's name or group", string);
                }
            }
            Record::EndThread { serial } => self.thread(serial),
            Record::CpuSamples { total, samples } => {
                let mut sum = 0;
                for sample in samples.iter() {
                    sum += u64::from(sample.cost);
                    self.trace(sample.trace);
                }
                if sum > u64::from(total) {
                    self.fault("sum", || {
                        format!(
                            "the rows of CPU samples add up to {sum}, more than their total {total}"
                        )
                    });
                }
            }
            _ => {}
        }
    }

    fn sub_record(&mut self, sub_record: &SubRecord<'_>) {
        match *sub_record {
            SubRecord::Root(root) => self.root(&root),
            SubRecord::Class(class) => self.class_dump(&class),
            SubRecord::Instance {
                object,
                trace,
                class,
                values,
            } => {
                self.trace(trace);
                self.instance(object, class, values);
            }
            SubRecord::ObjectArray {
                array,
                trace,
                class,
                elements,
            } => {
                self.trace(trace);
                self.object(array, class);
                let is_global = self.known.jni_globals.contains(&array.get());
                for element in elements.iter().map(ObjectId::new) {
                    if is_global && !element.is_null() && !self.known.has_object(element) {
                        self.count += 1;
                        self.archived += 1;
                    } else {
                        self.object(array, element);
                    }
                }
            }
            SubRecord::PrimitiveArray { trace, .. }
            | SubRecord::PrimitiveArrayNoData { trace, .. } => self.trace(trace),
            SubRecord::HeapInfo { name, .. } => self.string("a heap's name", name),
            SubRecord::Unreachable { .. } => {}
        }
    }

    fn root(&mut self, root: &Root) {
        self.object(ObjectId::NULL, root.object);
        match root.kind {
            RootKind::JniLocal { thread, .. }
            | RootKind::JavaFrame { thread, .. }
            | RootKind::JniMonitor { thread, .. }
            | RootKind::NativeStack { thread }
            | RootKind::ThreadBlock { thread } => self.thread(thread),
            RootKind::ThreadObject { thread, trace } => {
                self.thread(thread);
                self.trace(trace);
            }
            _ => {}
        }
    }

    fn class_dump(&mut self, class: &ClassDump<'_>) {
        self.trace(class.trace);
        self.count += 1;
        if !self.known.loaded.contains(&class.class.get()) {
            self.fault("class without a name", || {
                format!("class {:x} has no LOAD CLASS record", class.class)
            });
        }
        for object in [class.super_class, class.loader, class.signers, class.domain] {
            self.object(class.class, object);
        }
        for field in class.statics.iter() {
            self.string("a static field's name", field.name);
            if let Value::Object(object) = field.value {
                self.object(class.class, object);
            }
        }
        for constant in class.constants.iter() {
            if let Value::Object(object) = constant.value {
                self.object(class.class, object);
            }
        }
        for field in class.fields.iter() {
            self.string("a field's name", field.name);
        }
    }

    fn instance(&mut self, object: ObjectId, class: ObjectId, values: &[u8]) {
        let id_size = self.known.id_size;
        let known = self.known;
        let mut layouts = std::mem::take(&mut self.layouts);
        let layout = layouts
            .entry(class)
            .or_insert_with(|| known.layout(class, id_size));
        match layout {
            None => self.fault("class not in the dump", || {
                format!("object {object:x} is of class {class:x}, which or whose super class is not in the dump")
            }),
            Some(layout) if layout.width != values.len() => {
                let expected = layout.width;
                self.fault("length of an instance", || {
                    format!(
                        "object {object:x} has {} bytes of values, its class has fields of {expected}",
                        values.len()
                    )
                });
            }
            Some(layout) => {
                for &at in &layout.references {
                    let bytes = &values[at..at + id_size.bytes()];
                    let value = bytes.iter().fold(0, |id, &byte| id << 8 | u64::from(byte));
                    self.object(object, ObjectId::new(value));
                }
            }
        }
        self.layouts = layouts;
    }

    fn object(&mut self, from: ObjectId, to: ObjectId) {
        self.count += 1;
        if !to.is_null() && !self.known.has_object(to) {
            let from = match from.is_null() {
                true => "a root".to_owned(),
                false => format!("object {from:x}"),
            };
            self.fault("object not in the dump", || {
                format!("{from} refers to object {to:x}, which is not in the dump")
            });
        }
    }

    fn string(&mut self, what: &'static str, string: StringId) {
        let found = string.is_null() || self.known.strings.contains(&string.get());
        self.need(found, what, || hexadecimal(string));
    }

    fn frame(&mut self, frame: FrameId) {
        let found = self.known.frames.contains(&frame.get());
        self.need(found, "a trace's frame", || hexadecimal(frame));
    }

    fn class(&mut self, class: ClassSerial) {
        let found = self.known.class_serials.contains(&class.get());
        self.need(found, "a class serial", || class.to_string());
    }

    fn trace(&mut self, trace: TraceSerial) {
        let found = trace.get() == 0 || self.known.traces.contains(&trace.get());
        self.need(found, "a trace serial", || trace.to_string());
    }

    fn thread(&mut self, thread: ThreadSerial) {
        let found = thread.get() == 0
            || thread == ThreadSerial::UNKNOWN
            || self.known.threads.contains(&thread.get());
        self.need(found, "a thread serial", || thread.to_string());
    }

    fn need(&mut self, found: bool, what: &'static str, which: impl FnOnce() -> String) {
        self.count += 1;
        if !found {
            self.fault(what, || format!("{what}, {}, is defined nowhere", which()));
        }
    }

    fn fault(&mut self, kind: &'static str, message: impl FnOnce() -> String) {
        let offset = self.offset;
        self.faults
            .add(kind, || format!("at byte {offset}: {}", message()));
    }
}

fn hexadecimal(id: impl LowerHex) -> String {
    format!("{id:x}")
}
