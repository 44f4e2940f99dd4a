//! Events of any type, with all of their fields and their stacks.
//!
//! Where a profile sums events by what they cost, these come one by one. The events of a chunk are looked up at its end,
//! as they may come before the pools to which they refer.

mod layout;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_stacks::Stacks;
use hprof_stacks::timeline::Window;
use rustc_hash::FxHashMap;

use super::bytes::Cursor;
use super::chunk::{Head, Sink};
use super::events::Entry;
use super::facts::Skipped;
use super::metadata::{TypeId, Unit};
use super::plan::{Found, Plans, Role, Value};
use super::pools::{self, Pools};
use super::resolve::{Names, Source, class_name};
use crate::builder::{Builder, MAX_DAMAGE};
use crate::{Damage, Kind, Thread};
use layout::{Layout, Raw};

/// The bytes of texts that are handed out for each byte of the file, as a file may refer to one long text any
/// number of times.
const TEXT_ROOM: usize = 64;
/// The fewest bytes of texts for which there is room.
const LEAST_ROOM: usize = 8 << 20;
/// Types of events that are counted by name.
const MAX_TYPES: usize = 10_000;

/// An event.
pub struct Event<'a, 'b, 'c> {
    /// The name of its type, such as `jdk.SocketRead`.
    pub name: &'c str,
    /// Its start, in nanoseconds since 1970-01-01 UTC.
    pub at: i64,
    /// Its duration in nanoseconds, 0 if it has none.
    pub duration: u64,
    fields: &'c [(&'c str, Raw<'a>)],
    names: &'c mut Names<'a, 'b>,
    /// The layouts of entries to which the fields of wanted events refer.
    entries: &'c FxHashMap<TypeId, Layout>,
    room: &'c Cell<usize>,
    ticks_per_second: u64,
}

impl<'a> Event<'a, '_, '_> {
    fn raw(&self, field: &str) -> Option<Raw<'a>> {
        let mut fields = self.fields.iter();
        fields.find(|(name, _)| *name == field).map(|(_, raw)| *raw)
    }

    /// The names of its fields that are no arrays. Fields inside of others have names with dots.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| *name)
    }

    /// The number of a field, if the event has it.
    pub fn number(&self, field: &str) -> Option<i64> {
        match self.raw(field)? {
            Raw::Number(number, _) => Some(number),
            Raw::Fraction(number) => Some(number as i64),
            Raw::Entry(..) | Raw::Text(_) => None,
        }
    }

    /// The number of a field with its fraction, if the event has it.
    pub fn fraction(&self, field: &str) -> Option<f64> {
        match self.raw(field)? {
            Raw::Number(number, _) => Some(number as f64),
            Raw::Fraction(number) => Some(number),
            Raw::Entry(..) | Raw::Text(_) => None,
        }
    }

    /// The duration of a field in nanoseconds, if the event has it.
    pub fn nanos(&self, field: &str) -> Option<u64> {
        match self.raw(field)? {
            Raw::Number(number, unit) => Some(nanos(number, unit, self.ticks_per_second)),
            Raw::Fraction(_) | Raw::Entry(..) | Raw::Text(_) => None,
        }
    }

    /// The text of a field: its own or that of an entry of a pool, such as the name of a class, thread or method. Empty
    /// if the event has none.
    pub fn text(&mut self, field: &str) -> Cow<'a, str> {
        let text = match self.raw(field) {
            None | Some(Raw::Number(..) | Raw::Fraction(_)) => Cow::Borrowed(""),
            Some(Raw::Text(text)) => match self.names.source.found(Value::Text(text), 0) {
                Some(text) => text.decode(),
                None => Cow::Borrowed(""),
            },
            Some(Raw::Entry(of, key)) => self.entry(Entry { of, key }),
        };
        match self.room.get().checked_sub(text.len()) {
            Some(room) => {
                self.room.set(room);
                text
            }
            None => Cow::Borrowed(""),
        }
    }

    fn entry(&mut self, entry: Entry) -> Cow<'a, str> {
        match self.names.source.type_name(entry.of) {
            "java.lang.Class" => {
                let name = self.names.source.text(entry, 0);
                Cow::Owned(class_name(&name))
            }
            "jdk.types.Method" => {
                let (class, method) = self.names.method(entry);
                Cow::Owned(format!("{class}.{method}"))
            }
            "java.lang.Thread" => {
                let (mut java, mut os) = (None, None);
                let _ = self.names.source.entry(entry, &mut |found| match found {
                    Found::Field(Role::JavaName, value) => java = Some(value),
                    Found::Field(Role::OsName, value) => os = Some(value),
                    _ => {}
                });
                let texts = [java, os].into_iter().flatten();
                let mut texts = texts.map(|value| self.names.source.value(value, 0));
                texts
                    .find(|text| !text.is_empty())
                    .unwrap_or(Cow::Borrowed(""))
            }
            _ => match self.names.source.text(entry, 0) {
                // The entries of reasons and actions are called after no field that means something elsewhere.
                text if text.is_empty() => self.only_text(entry).unwrap_or(text),
                text => text,
            },
        }
    }

    /// The first text of an entry.
    fn only_text(&self, entry: Entry) -> Option<Cow<'a, str>> {
        let layout = self.entries.get(&entry.of)?;
        let mut cursor = self.names.source.at(entry)?;
        let mut first = None;
        layout.walk(&mut cursor, &mut |_, raw| {
            if let (None, Raw::Text(text)) = (first, raw) {
                first = Some(text);
            }
        })?;
        let text = self.names.source.found(Value::Text(first?), 0)?;
        Some(text.decode())
    }

    /// The stack of the event with its thread; `None` if it has neither, or the chunk lacks the stack.
    pub fn trace(&mut self) -> Option<TraceSerial> {
        let thread = self.thread();
        let frames = match self.raw("stackTrace") {
            Some(Raw::Entry(of, key)) if key != 0 => self.names.stack(Entry { of, key })?,
            _ if thread.is_none() => return None,
            _ => self.names.builder.stack(&[]),
        };
        Some(self.names.builder.trace_of(thread, frames))
    }

    /// Returns whether the event has a stack.
    pub fn has_stack(&self) -> bool {
        matches!(self.raw("stackTrace"), Some(Raw::Entry(_, key)) if key != 0)
    }

    /// The thread of the event, if it has one.
    pub fn thread(&mut self) -> Option<ThreadSerial> {
        let thread = self.raw("eventThread").or(self.raw("sampledThread"));
        match thread {
            Some(Raw::Entry(of, key)) if key != 0 => self.names.thread(Entry { of, key }),
            _ => None,
        }
    }

    /// The name of the type of events whose number a field has, as settings state it.
    pub fn type_named_by(&self, field: &str) -> Option<String> {
        let id = u32::try_from(self.number(field)?).ok()?;
        let name = self.names.source.type_name(TypeId(id));
        (!name.is_empty()).then(|| name.to_owned())
    }
}

fn nanos(number: i64, unit: Unit, ticks_per_second: u64) -> u64 {
    let number = u64::try_from(number).unwrap_or(0);
    let value = Value::Time(number, unit);
    super::events::in_nanos(value, ticks_per_second)
}

/// Takes the events of a recording. Those of a chunk come in the order of the file, which is not that of time.
pub trait Visitor {
    /// Returns true if events of a type are wanted.
    fn wants(&self, name: &str) -> bool;

    /// Takes an event.
    fn event(&mut self, event: &mut Event<'_, '_, '_>);
}

/// All that events refer to.
pub struct Read {
    /// The stacks.
    pub stacks: Stacks,
    /// The threads.
    pub threads: Vec<Thread>,
    /// The time that the recording covers, if it says.
    pub span: Option<Window>,
    /// The places that were not read.
    pub skipped: Skipped,
}

/// Reads the events of wanted types. It calls `passed` with each part that was read.
pub fn read(file: &[u8], visitor: &mut dyn Visitor, passed: &mut dyn FnMut(Range<usize>)) -> Read {
    let room = file.len().saturating_mul(TEXT_ROOM).max(LEAST_ROOM);
    let mut reader = Reader {
        visitor,
        builder: Builder::new(file.len()),
        room: Cell::new(room),
        types: FxHashMap::default(),
        entries: FxHashMap::default(),
        held: Vec::new(),
        skipped: Skipped::default(),
    };
    super::walk(file, passed, &mut reader);
    let Reader {
        builder,
        mut skipped,
        ..
    } = reader;
    let profile = builder.finish(Kind::Jfr, None);
    skipped.damaged += profile.damaged;
    skipped.damage.extend(profile.damage);
    skipped.damage.truncate(MAX_DAMAGE);
    Read {
        stacks: profile.stacks,
        threads: profile.threads,
        span: super::span(file),
        skipped,
    }
}

/// The wanted events.
struct Reader<'v> {
    visitor: &'v mut dyn Visitor,
    builder: Builder,
    room: Cell<usize>,
    /// The wanted types of the chunk that is read.
    types: FxHashMap<TypeId, (String, Layout)>,
    /// The layouts of entries to which their fields refer.
    entries: FxHashMap<TypeId, Layout>,
    /// The type of each event, and where its bytes begin after its head.
    held: Vec<(TypeId, usize)>,
    skipped: Skipped,
}

impl<'a> Sink<'a> for Reader<'_> {
    fn pools(&self) -> &'static [&'static str] {
        &[pools::ALL]
    }

    fn begin(&mut self, plans: &mut Plans<'a>, _: &Head) {
        self.types.clear();
        self.entries.clear();
        let named = plans.metadata.with_field("startTime");
        let wanted = named.filter(|(_, name)| self.visitor.wants(name));
        let wanted: Vec<(TypeId, String)> = wanted.map(|(id, it)| (id, it.to_owned())).collect();
        for (id, name) in wanted {
            if let Some(layout) = Layout::of(plans, id) {
                for of in layout.entries() {
                    if !self.entries.contains_key(&of)
                        && let Some(layout) = Layout::of(plans, of)
                    {
                        self.entries.insert(of, layout);
                    }
                }
                self.types.insert(id, (name, layout));
            }
        }
    }

    fn event(&mut self, type_id: u64, mut body: Cursor<'a>) -> Option<()> {
        let Ok(id) = u32::try_from(type_id).map(TypeId) else {
            return Some(());
        };
        let Some((_, layout)) = self.types.get(&id) else {
            return Some(());
        };
        let at = body.at();
        layout.walk(&mut body, &mut |_, _| {})?;
        self.held.push((id, at));
        Some(())
    }

    fn end(&mut self, chunk: &'a [u8], head: &Head, pools: Pools, plans: Plans<'a>) -> u64 {
        let source = Source::new(chunk, &pools, &plans);
        let mut names = Names::new(source, &mut self.builder);
        let ticks_per_second = head.ticks_per_second;
        let mut lacking = 0;
        for (id, at) in std::mem::take(&mut self.held) {
            let Some((name, layout)) = self.types.get(&id) else {
                continue;
            };
            let mut fields = Vec::new();
            // It was found to be whole.
            let _ = layout.walk(&mut Cursor::new(chunk, at), &mut |name, raw| {
                fields.push((name, raw));
            });
            let mut event = Event {
                name,
                at: i64::try_from(head.start_nanos).unwrap_or(i64::MAX),
                duration: 0,
                fields: &fields,
                names: &mut names,
                entries: &self.entries,
                room: &self.room,
                ticks_per_second,
            };
            if let Some(ticks) = event.number("startTime") {
                event.at = head.wall(ticks as u64);
            }
            event.duration = event.nanos("duration").unwrap_or(0);
            if let Some(Raw::Entry(of, key)) = event.raw("stackTrace")
                && key != 0
                && pools.place(of, key).is_none()
            {
                lacking += 1;
            }
            self.visitor.event(&mut event);
        }
        lacking
    }

    fn damage(&mut self, offset: Option<usize>, lost: usize, message: String) {
        add_damage(&mut self.skipped, offset, lost, message);
    }
}

fn add_damage(skipped: &mut Skipped, offset: Option<usize>, lost: usize, message: String) {
    skipped.damaged += 1;
    if skipped.damage.len() < MAX_DAMAGE {
        skipped.damage.push(Damage {
            offset: offset.map(|offset| offset as u64),
            lost_bytes: lost as u64,
            message,
        });
    }
}

/// How the values of a field are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A number without a unit that is known here.
    Number,
    /// A number of bytes.
    Bytes,
    /// A duration.
    Time,
    /// A number with a fraction.
    Fraction,
    /// True or false.
    Flag,
    /// A text, or the name of a class, method, thread and the like.
    Text,
}

/// A field of a type of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name. Fields inside of others have names with dots.
    pub name: String,
    /// The name of its type in Java, or in the JVM.
    pub of: String,
    /// How its values are meant.
    pub shape: Shape,
}

/// A type of events of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Type {
    /// Its label, for people; empty if it has none.
    pub label: String,
    /// The number of its events.
    pub count: u64,
    /// The number of its events that have a stack.
    pub with_stacks: u64,
    /// Its events can have stacks.
    pub has_stacks: bool,
    /// Its fields that are no arrays.
    pub fields: Vec<Field>,
}

impl Type {
    /// The first field of bytes, such as `bytesRead`.
    pub fn bytes_field(&self) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|field| field.shape == Shape::Bytes);
        found.map(|field| &*field.name)
    }
}

/// Counts the events of a recording by type, also types that it declares and has no event of.
pub fn types(
    file: &[u8],
    passed: &mut dyn FnMut(Range<usize>),
) -> (BTreeMap<String, Type>, Skipped) {
    let mut counter = Counter::default();
    super::walk(file, passed, &mut counter);
    (counter.types, counter.skipped)
}

#[derive(Default)]
struct Counter {
    counts: FxHashMap<u64, [u64; 2]>,
    /// The layouts of types of events that can have stacks.
    layouts: FxHashMap<u64, Layout>,
    types: BTreeMap<String, Type>,
    skipped: Skipped,
}

impl<'a> Sink<'a> for Counter {
    fn pools(&self) -> &'static [&'static str] {
        &[]
    }

    fn begin(&mut self, plans: &mut Plans<'a>, _: &Head) {
        self.counts.clear();
        self.layouts.clear();
        let with_stacks = plans.metadata.with_field("stackTrace").map(|(id, _)| id);
        for id in with_stacks.collect::<Vec<_>>() {
            if let Some(layout) = Layout::of(plans, id) {
                self.layouts.insert(u64::from(id.0), layout);
            }
        }
    }

    fn event(&mut self, type_id: u64, mut body: Cursor<'a>) -> Option<()> {
        let mut has_stack = false;
        if let Some(layout) = self.layouts.get(&type_id) {
            layout.walk(&mut body, &mut |name, raw| {
                has_stack |= name == "stackTrace" && matches!(raw, Raw::Entry(_, key) if key != 0);
            })?;
        }
        let [count, with_stacks] = self.counts.entry(type_id).or_default();
        *count += 1;
        *with_stacks += u64::from(has_stack);
        Some(())
    }

    fn end(&mut self, _: &'a [u8], _: &Head, _: Pools, mut plans: Plans<'a>) -> u64 {
        let declared = plans.metadata.with_field("startTime");
        let declared: Vec<(TypeId, String)> =
            declared.map(|(id, it)| (id, it.to_owned())).collect();
        for (id, name) in declared {
            let counts = self.counts.get(&u64::from(id.0)).copied();
            let [count, with_stacks] = counts.unwrap_or_default();
            if !self.types.contains_key(&name) {
                if self.types.len() >= MAX_TYPES {
                    continue;
                }
                let Some(layout) = Layout::of(&mut plans, id) else {
                    continue;
                };
                let of = Type {
                    label: plans.metadata.label(id).unwrap_or_default().to_owned(),
                    has_stacks: layout.has("stackTrace"),
                    fields: layout.fields().collect(),
                    ..Type::default()
                };
                self.types.insert(name.clone(), of);
            }
            if let Some(of) = self.types.get_mut(&name) {
                of.count += count;
                of.with_stacks += with_stacks;
            }
        }
        0
    }

    fn damage(&mut self, offset: Option<usize>, lost: usize, message: String) {
        add_damage(&mut self.skipped, offset, lost, message);
    }
}
