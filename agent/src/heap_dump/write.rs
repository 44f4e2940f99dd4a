//! The common part of both formats: serials, stacks, roots and classes.

use std::io;

use hashbrown::HashMap;
use hprof_format::binary::tags::line;
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{
    Frame, HeapClass, HeapField, HeapFieldType, HeapRoot, InstanceLayout, Line, Root, RootKind,
    ThreadStart, Trace,
};
use hprof_format::writer::ProfileWriter;

use super::ids::DumpIds;
use super::strip;
use super::survey::{Class, Stack, Survey};
use crate::options::Strip;
use crate::vm::ThreadInfo;

/// The contents of a dump.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// Text, not binary.
    pub text: bool,
    /// Values of primitive fields (`primfields`).
    pub fields: bool,
    /// Elements of primitive arrays (`primarrays`).
    pub arrays: bool,
    /// The contents that are left out (`dumplevel`, `strip`).
    pub strip: &'static Strip,
    /// Line numbers in stacks (`lineno`).
    pub lines: bool,
}

/// From the VM's serials to those of the profile.
#[derive(Default)]
pub struct Serials {
    threads: HashMap<ThreadSerial, ThreadSerial>,
    traces: HashMap<TraceSerial, TraceSerial>,
}

/// A thread that the profile has not shown.
pub struct NewThread {
    serial: ThreadSerial,
    object: ObjectId,
    info: ThreadInfo,
    has_ended: bool,
}

impl NewThread {
    /// Tells of it.
    pub fn write(&self, writer: &mut dyn ProfileWriter) -> io::Result<()> {
        writer.thread_start(&ThreadStart {
            object: self.object,
            serial: self.serial,
            name: &self.info.name,
            group: &self.info.group.name,
            parent_group: &self.info.group.parent,
            trace: TraceSerial::SYSTEM,
        })?;
        match self.has_ended {
            true => writer.thread_end(self.serial),
            false => Ok(()),
        }
    }
}

impl Serials {
    /// Gives each thread of the dump its serial in the profile, and returns those that the profile has not shown.
    pub fn name_threads(&mut self, ids: &mut DumpIds<'_>, survey: &Survey) -> Vec<NewThread> {
        let mut new = Vec::new();
        let mut name = |vm_serial: ThreadSerial, object: ObjectId, vm_thread: u64| {
            if vm_serial.get() == 0 {
                return;
            }
            self.threads.entry(vm_serial).or_insert_with(|| {
                if let Some(serial) = ids.thread(vm_thread) {
                    let held = ids.take_held(serial);
                    new.extend(held.map(|thread| NewThread {
                        serial,
                        object,
                        info: thread.info,
                        has_ended: thread.has_ended,
                    }));
                    return serial;
                }
                let (serial, name) = ids.new_thread(vm_thread);
                new.push(NewThread {
                    serial,
                    object,
                    info: ThreadInfo {
                        name: name.to_owned(),
                        ..ThreadInfo::default()
                    },
                    has_ended: false,
                });
                serial
            });
        };
        for root in &survey.roots {
            if let RootKind::ThreadObject { thread, .. } = root.kind {
                name(thread, root.object, survey.vm_thread(root.object));
            }
        }
        for root in &survey.roots {
            match root.kind {
                RootKind::JniLocal { thread, .. }
                | RootKind::JavaFrame { thread, .. }
                | RootKind::NativeStack { thread }
                | RootKind::ThreadBlock { thread } => name(thread, ObjectId::NULL, 0),
                _ => {}
            }
        }
        new
    }

    /// Gives each stack of the dump its serial in the profile.
    pub fn name_traces(&mut self, ids: &mut DumpIds<'_>, survey: &Survey) {
        for stack in &survey.stacks {
            let trace = if stack.thread.get() == 0 && stack.frames.is_empty() {
                TraceSerial::SYSTEM
            } else {
                ids.new_trace()
            };
            self.traces.insert(stack.trace, trace);
        }
    }
}

/// Writes the stacks of all threads. Those of a binary profile do not name their thread, which is known
/// when the objects have been read only; the roots of the threads name their stacks.
pub fn stacks(
    writer: &mut dyn ProfileWriter,
    survey: &Survey,
    serials: &Serials,
    lines: bool,
) -> io::Result<()> {
    if !writer.has_trace(TraceSerial::SYSTEM) {
        writer.trace(&Trace {
            serial: TraceSerial::SYSTEM,
            thread: None,
            frames: &[],
        })?;
    }
    for stack in &survey.stacks {
        let serial = serials.trace(stack.trace);
        if serial != TraceSerial::SYSTEM {
            stack_trace(writer, survey, stack, serial, serials, lines)?;
        }
    }
    Ok(())
}

fn stack_trace(
    writer: &mut dyn ProfileWriter,
    survey: &Survey,
    stack: &Stack,
    serial: TraceSerial,
    serials: &Serials,
    lines: bool,
) -> io::Result<()> {
    let found: Vec<_> = stack
        .frames
        .iter()
        .filter_map(|id| survey.frames.get(id))
        .map(|frame| (frame, survey.loaded_class(frame.class)))
        .collect();
    let frames: Vec<Frame<'_>> = found
        .iter()
        .map(|(frame, (class_id, class_name))| Frame {
            class_name,
            class_id: *class_id,
            method: survey.text(frame.method),
            signature: survey.text(frame.signature),
            source_file: Some(survey.text(frame.source_file)).filter(|name| !name.is_empty()),
            line: match frame.line {
                line::NATIVE => Line::Native,
                number => match u32::try_from(number) {
                    Ok(number @ 1..) if lines => Line::Number(number),
                    _ => Line::Unknown,
                },
            },
        })
        .collect();
    writer.trace(&Trace {
        serial,
        thread: serials.threads.get(&stack.thread).copied(),
        frames: &frames,
    })
}

/// Writes all roots: those of the VM's dump, monitors that are held, and a thread block for each thread, as the JDK's agent did.
pub fn roots(
    writer: &mut dyn ProfileWriter,
    ids: &DumpIds<'_>,
    survey: &Survey,
    serials: &Serials,
) -> io::Result<()> {
    for root in &survey.roots {
        let kind = match serials.root(root.kind) {
            RootKind::JniGlobal { reference } if ids.is_monitor(reference) => RootKind::MonitorUsed,
            kind => kind,
        };
        let class = survey.class(root.object);
        let mut write = |kind| {
            writer.heap_root(&HeapRoot {
                root: Root { kind, ..*root },
                trace: ids.trace(root.object),
                class_name: class.map_or("Unknown_class", |class| &class.name),
            })
        };
        write(kind)?;
        if let RootKind::ThreadObject { thread, .. } = kind {
            write(RootKind::ThreadBlock { thread })?;
        }
    }
    Ok(())
}

impl Serials {
    fn thread(&self, vm_serial: ThreadSerial) -> ThreadSerial {
        let known = self.threads.get(&vm_serial).copied();
        known.unwrap_or(ThreadSerial::UNKNOWN)
    }

    fn trace(&self, vm_serial: TraceSerial) -> TraceSerial {
        let known = self.traces.get(&vm_serial).copied();
        known.unwrap_or(TraceSerial::SYSTEM)
    }

    /// With the profile's serials.
    pub fn root(&self, mut kind: RootKind) -> RootKind {
        match &mut kind {
            RootKind::ThreadObject { thread, trace } => {
                *thread = self.thread(*thread);
                *trace = self.trace(*trace);
            }
            RootKind::JniLocal { thread, .. }
            | RootKind::JavaFrame { thread, .. }
            | RootKind::NativeStack { thread }
            | RootKind::ThreadBlock { thread } => *thread = self.thread(*thread),
            _ => {}
        }
        kind
    }
}

/// Shows the classes from the one at `first` on, each super class before its subclasses. `strip` decides
/// which static fields have their value.
pub fn each_class(
    survey: &Survey,
    ids: &DumpIds<'_>,
    first: usize,
    strip: &Strip,
    show: &mut dyn FnMut(&HeapClass<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut shown = vec![false; survey.classes.len()];
    shown[..first].fill(true);
    let mut line = Vec::new();
    for class in &survey.classes[first..] {
        line.clear();
        for class in survey.hierarchy(class.id) {
            match survey.place(class.id) {
                Some(place) if !shown[place] => line.push(place),
                _ => break,
            }
        }
        for &place in line.iter().rev() {
            if !std::mem::replace(&mut shown[place], true) {
                show_class(survey, ids, &survey.classes[place], strip, show)?;
            }
        }
    }
    Ok(())
}

fn show_class(
    survey: &Survey,
    ids: &DumpIds<'_>,
    class: &Class,
    strip: &Strip,
    show: &mut dyn FnMut(&HeapClass<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let statics = class.statics.iter();
    let statics: Vec<_> = statics
        .map(|&(name, value)| {
            let name = survey.text(name);
            let value = strip::static_value(strip, &class.name, name, value);
            HeapField { name, value }
        })
        .collect();
    let fields = class.fields.iter();
    let fields: Vec<_> = fields
        .map(|&(name, basic_type)| HeapFieldType {
            name: survey.text(name),
            basic_type,
        })
        .collect();
    let instance = if class.name.ends_with(']') {
        InstanceLayout::default()
    } else {
        survey.layout(class.id)
    };
    show(&HeapClass {
        class: class.id,
        name: &class.name,
        trace: ids.trace(class.id),
        super_class: class.super_class,
        loader: class.loader,
        signers: class.signers,
        domain: class.domain,
        instance,
        constants: &[],
        statics: &statics,
        fields: &fields,
    })
}
