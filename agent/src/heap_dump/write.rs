//! Writes a dump of the VM into the profile.

use hashbrown::HashMap;
use hprof_format::binary::tags::line;
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{
    Frame, HeapClass, HeapField, HeapFieldType, HeapRoot, HeapTotals, InstanceLayout, Line, Root,
    RootKind, ThreadStart, Trace,
};
use hprof_format::writer::ProfileWriter;

use super::reader::{DumpError, DumpReader};
use super::splice::Splice;
use super::survey::{Class, Stack, Survey};
use super::text::{ClassText, TextObjects};
use super::{Dump, Summary};

/// What a dump is to hold.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// Text, not binary.
    pub text: bool,
    /// Values of primitive fields (`primfields`).
    pub fields: bool,
    /// Elements of primitive arrays (`primarrays`).
    pub arrays: bool,
    /// Line numbers in stacks (`lineno`).
    pub lines: bool,
}

/// Who gives out the numbers of a profile.
pub trait Numbers {
    /// The serial of a live thread by the VM's pointer to it.
    fn thread(&self, vm_thread: u64) -> Option<ThreadSerial>;
    /// A serial for a thread that the profile does not know.
    fn new_thread(&mut self) -> ThreadSerial;
    /// A serial for the stack of a thread.
    fn new_trace(&mut self) -> TraceSerial;
}

/// From the VM's serials to those of the profile.
#[derive(Default)]
struct Serials {
    threads: HashMap<ThreadSerial, ThreadSerial>,
    traces: HashMap<TraceSerial, TraceSerial>,
}

impl Dump {
    /// Writes the dump. `ctime` is the present time as text.
    ///
    /// # Errors
    /// [`DumpError::Output`] when the profile cannot be written; any other one when the VM's dump
    /// cannot be read, and then what was written of it is whole but for its end.
    pub fn write(
        self,
        writer: &mut dyn ProfileWriter,
        numbers: &mut dyn Numbers,
        content: Content,
        ctime: &str,
    ) -> Result<Summary, DumpError> {
        let result = self.write_all(writer, numbers, content, ctime);
        match &result {
            Ok(()) => writer.heap_end().map_err(DumpError::Output)?,
            Err(DumpError::Output(_)) => {}
            // A binary dump without its end mark is known to be cut off.
            Err(error) if content.text => {
                writer
                    .heap_end()
                    .and_then(|()| writer.comment(&format!("this heap dump is cut off: {error}")))
                    .map_err(DumpError::Output)?;
            }
            Err(_) => {}
        }
        result.map(|()| self.summary())
    }

    fn write_all(
        &self,
        writer: &mut dyn ProfileWriter,
        numbers: &mut dyn Numbers,
        content: Content,
        ctime: &str,
    ) -> Result<(), DumpError> {
        let survey = &self.survey;
        let serials = threads(writer, numbers, survey).map_err(DumpError::Output)?;
        stacks(writer, survey, &serials, content.lines).map_err(DumpError::Output)?;
        // All names before the heap: see `heap_class_names`.
        each_class(survey, &mut |class| writer.heap_class_names(class))?;
        let size = |place: usize| {
            let class = &survey.classes[place];
            let sizes = self.sizes.as_ref();
            sizes.map_or(0, |sizes| {
                sizes.instance(&class.name, &survey.layout(class.id))
            })
        };
        let reader = DumpReader::new(&self.file, true)?;
        if content.text {
            let classes = ClassText::of(survey, size);
            let objects = |class: &Class| class.instances * size_of_instances(class, &classes, survey);
            let totals = HeapTotals {
                objects: survey.objects,
                bytes: survey.array_bytes + survey.classes.iter().map(objects).sum::<u64>(),
            };
            writer
                .heap_begin(&totals, ctime)
                .map_err(DumpError::Output)?;
            roots(writer, survey, &serials).map_err(DumpError::Output)?;
            let arrays = self.sizes.as_ref().map(super::Sizes::arrays);
            reader.read(&mut TextObjects::new(writer, survey, &classes, arrays))?;
            each_class(survey, &mut |class| writer.heap_class(class))
        } else {
            writer
                .heap_begin(&HeapTotals::default(), ctime)
                .map_err(DumpError::Output)?;
            each_class(survey, &mut |class| writer.heap_class(class))?;
            roots(writer, survey, &serials).map_err(DumpError::Output)?;
            let (fields, arrays) = (content.fields, content.arrays);
            reader.read(&mut Splice::new(writer, survey, fields, arrays))
        }
    }
}

/// The size of each instance; arrays are counted by themselves.
fn size_of_instances(class: &Class, classes: &[ClassText], survey: &Survey) -> u64 {
    if class.name.ends_with(']') {
        return 0;
    }
    survey
        .place(class.id)
        .map_or(0, |place| classes[place].size())
}

/// Gives each thread of the dump its serial in the profile, and tells of those that are new.
fn threads(
    writer: &mut dyn ProfileWriter,
    numbers: &mut dyn Numbers,
    survey: &Survey,
) -> std::io::Result<Serials> {
    let mut serials = Serials::default();
    let mut name = |vm_serial: ThreadSerial, object: ObjectId, pointer: u64| {
        if vm_serial.get() == 0 || serials.threads.contains_key(&vm_serial) {
            return std::io::Result::Ok(());
        }
        let serial = match numbers.thread(pointer).filter(|_| pointer != 0) {
            Some(serial) => serial,
            None => {
                let serial = numbers.new_thread();
                writer.thread_start(&ThreadStart {
                    object,
                    serial,
                    name: "(thread of a heap dump)",
                    group: "",
                    parent_group: "",
                    trace: TraceSerial::SYSTEM,
                })?;
                serial
            }
        };
        serials.threads.insert(vm_serial, serial);
        Ok(())
    };
    for root in &survey.roots {
        if let RootKind::ThreadObject { thread, .. } = root.kind {
            let pointer = survey.thread_pointers.get(&root.object);
            name(thread, root.object, pointer.copied().unwrap_or(0))?;
        }
    }
    for root in &survey.roots {
        match root.kind {
            RootKind::JniLocal { thread, .. }
            | RootKind::JavaFrame { thread, .. }
            | RootKind::NativeStack { thread }
            | RootKind::ThreadBlock { thread } => name(thread, ObjectId::NULL, 0)?,
            _ => {}
        }
    }
    for stack in &survey.stacks {
        let trace = if stack.thread.get() == 0 && stack.frames.is_empty() {
            TraceSerial::SYSTEM
        } else {
            numbers.new_trace()
        };
        serials.traces.insert(stack.trace, trace);
    }
    Ok(serials)
}

fn stacks(
    writer: &mut dyn ProfileWriter,
    survey: &Survey,
    serials: &Serials,
    lines: bool,
) -> std::io::Result<()> {
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
) -> std::io::Result<()> {
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
        thread: Some(serials.thread(stack.thread)).filter(|_| stack.thread.get() != 0),
        frames: &frames,
    })
}

fn roots(
    writer: &mut dyn ProfileWriter,
    survey: &Survey,
    serials: &Serials,
) -> std::io::Result<()> {
    for root in &survey.roots {
        let kind = serials.root(root.kind);
        let class = survey.class(root.object);
        writer.heap_root(&HeapRoot {
            root: Root { kind, ..*root },
            trace: TraceSerial::SYSTEM,
            class_name: class.map_or("Unknown_class", |class| &class.name),
        })?;
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

    fn root(&self, mut kind: RootKind) -> RootKind {
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

/// Shows all classes, each super class before its subclasses.
fn each_class(
    survey: &Survey,
    show: &mut dyn FnMut(&HeapClass<'_>) -> std::io::Result<()>,
) -> Result<(), DumpError> {
    let mut shown = vec![false; survey.classes.len()];
    let mut line = Vec::new();
    for class in &survey.classes {
        line.clear();
        for class in survey.hierarchy(class.id) {
            match survey.place(class.id) {
                Some(place) if !shown[place] => line.push(place),
                _ => break,
            }
        }
        for &place in line.iter().rev() {
            if !std::mem::replace(&mut shown[place], true) {
                show_class(survey, &survey.classes[place], show).map_err(DumpError::Output)?;
            }
        }
    }
    Ok(())
}

fn show_class(
    survey: &Survey,
    class: &Class,
    show: &mut dyn FnMut(&HeapClass<'_>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let statics = class.statics.iter();
    let statics: Vec<_> = statics
        .map(|&(name, value)| HeapField {
            name: survey.text(name),
            value,
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
        trace: TraceSerial::SYSTEM,
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
