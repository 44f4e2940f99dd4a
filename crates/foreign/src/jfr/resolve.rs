//! Looks up the names of a chunk's stacks, threads and classes, each once.

use std::borrow::Cow;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::Line;
use hprof_java_names::source_form;
use hprof_stacks::{FrameIndex, family};
use rustc_hash::FxHashMap;

use super::bytes::{Cursor, Text};
use super::events::{Choice, Clock, Cost, Entry, Events, Key, Kind};
use super::metadata::TypeId;
use super::moments::{Account, Moments};
use super::parks::waits_for_event;
use super::plan::{Found, Plans, Role, Value};
use super::pools::Pools;
use crate::builder::{Builder, ClassIndex, StackIndex};

/// Virtual threads are mostly without names, and there may be millions of them.
const VIRTUAL: &str = "virtual threads";

/// The entries of a chunk's pools.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, 'b> {
    chunk: &'a [u8],
    pools: &'b Pools,
    plans: &'b Plans<'a>,
    /// The type of strings in pools.
    strings: TypeId,
}

/// A frame as stacks have it: method, line and kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct RawFrame {
    method: u64,
    kind: u64,
    method_type: TypeId,
    kind_type: TypeId,
    line: u32,
}

/// The kind of code that a frame belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    /// Bytecode, interpreted or compiled.
    Java,
    /// A native method of Java.
    NativeMethod,
    /// A function of a library.
    Symbol,
    /// A function of the kernel.
    Kernel,
}

/// Looks up one chunk.
pub(super) struct Names<'a, 'b> {
    pub(super) source: Source<'a, 'b>,
    pub(super) builder: &'b mut Builder,
    methods: FxHashMap<Entry, (String, String)>,
    frames: FxHashMap<RawFrame, FrameIndex>,
    kinds: FxHashMap<Entry, FrameKind>,
    /// async-profiler has frames of native code, whose classes are libraries.
    has_libraries: bool,
    threads: FxHashMap<Entry, Option<ThreadSerial>>,
    classes: FxHashMap<Entry, Option<ClassIndex>>,
}

/// The sums to which costs are added.
pub(super) struct Into<'b> {
    pub(super) builder: &'b mut Builder,
    pub(super) choice: &'b mut Choice,
    /// Costs with their times, if they are wanted.
    pub(super) moments: Option<&'b mut Moments>,
}

/// Adds the costs of a chunk under their names; gives the number of events whose stacks it lacks.
pub(super) fn resolve<'a>(
    chunk: &'a [u8],
    events: Events,
    pools: &Pools,
    plans: &Plans<'a>,
    into: Into<'_>,
) -> u64 {
    let Into {
        builder,
        choice,
        moments,
    } = into;
    let mut names = Names::new(Source::new(chunk, pools, plans), builder);
    let states = States::of(&mut names);
    let types = events.types;
    let stack_of = |key: &Key| Entry {
        of: types[key.event as usize].stack,
        key: key.stack,
    };
    // By stack, so that only one has to be kept.
    let mut costs: Vec<(Key, Cost)> = events.costs.into_iter().collect();
    costs.sort_unstable_by_key(|(key, _)| {
        let stack = stack_of(key);
        (stack, key.thread, key.event, key.state, key.class)
    });
    let mut accounts: Vec<Option<(TraceSerial, Account)>> = match moments {
        Some(_) => vec![None; costs.len()],
        None => Vec::new(),
    };
    let mut lacking = 0;
    let mut last: Option<(Entry, Option<StackIndex>)> = None;
    for (key, cost) in costs {
        let stack = stack_of(&key);
        if last.is_none_or(|(before, _)| before != stack) {
            last = Some((stack, names.stack(stack)));
        }
        let found = last.and_then(|(_, found)| found);
        if found.is_none() && key.stack != 0 {
            lacking += cost.count;
        }
        let frames = found.unwrap_or_else(|| names.builder.stack(&[]));
        let event = &types[key.event as usize];
        let entry = |of, key| Entry { of, key };
        let thread = names.thread(entry(event.thread, key.thread));
        let class = names.class_index(entry(event.class, key.class));
        let trace = names.builder.trace_of(thread, frames);
        let clock = match event.kind {
            Kind::Execution => states.clock(entry(event.state, key.state)),
            _ => Clock::Cpu,
        };
        let kind = match event.kind {
            Kind::Park => {
                let blocker = class.map(|class| names.builder.class_name(class));
                match waits_for_event(blocker) {
                    true => Kind::Wait,
                    false => Kind::Lock,
                }
            }
            kind => kind,
        };
        let account = choice.add(names.builder, kind, clock, trace, class, cost);
        if let Some(place) = accounts.get_mut(cost.place as usize) {
            *place = Some((trace, account));
        }
    }
    if let Some(moments) = moments {
        moments.sample_nanos = events.sample_nanos.or(moments.sample_nanos);
        for (place, at, value) in events.times {
            if let Some(Some((trace, account))) = accounts.get(place as usize) {
                moments.add(at, value, *trace, *account);
            }
        }
    }
    lacking
}

/// A class's name in source form, without what differs from run to run. Hidden classes of JDK 17 and 21 have two
/// numbers, address and hash: `App$$Lambda+0x00000000800c5400/1760126453`.
pub(super) fn class_name(name: &str) -> String {
    let name = source_form(name);
    family(&family(&name)).into_owned()
}

/// The states of threads that samples name.
struct States {
    /// async-profiler's state that is none of the JDK's, for samples of CPU time.
    default: Vec<Entry>,
    /// The states of threads that do not run. The JDK samples no thread in them.
    sleeping: Vec<Entry>,
    /// async-profiler wrote the file.
    is_async: bool,
}

impl States {
    fn of(names: &mut Names<'_, '_>) -> Self {
        let mut named = |name: &str| names.entries_named("jdk.types.ThreadState", |it| it == name);
        Self {
            default: named("STATE_DEFAULT"),
            sleeping: named("STATE_SLEEPING"),
            is_async: names.has_libraries,
        }
    }

    /// The clock of a sample whose thread was in a state.
    fn clock(&self, state: Entry) -> Clock {
        match (self.default.is_empty(), self.is_async) {
            (false, _) if self.default.contains(&state) => Clock::Cpu,
            (false, _) => Clock::Wall,
            (true, _) if self.sleeping.contains(&state) => Clock::Sleeping,
            (true, true) => Clock::CpuOrWall,
            (true, false) => Clock::Cpu,
        }
    }
}

impl<'a, 'b> Source<'a, 'b> {
    /// The entries of a chunk.
    pub(super) fn new(chunk: &'a [u8], pools: &'b Pools, plans: &'b Plans<'a>) -> Self {
        let mut strings = plans.metadata.named("java.lang.String");
        Self {
            chunk,
            pools,
            plans,
            strings: strings.next().unwrap_or_default(),
        }
    }

    /// Reads an entry of a pool; `None` if the chunk lacks it.
    pub(super) fn entry(&self, entry: Entry, found: &mut impl FnMut(Found<'a>)) -> Option<()> {
        let place = self.pools.place(entry.of, entry.key)?;
        let plan = self.plans.made(entry.of)?;
        plan.walk(&mut Cursor::new(self.chunk, place), found)
    }

    /// Where an entry is in the chunk; `None` if the chunk lacks it.
    pub(super) fn at(&self, entry: Entry) -> Option<Cursor<'a>> {
        let place = self.pools.place(entry.of, entry.key)?;
        Some(Cursor::new(self.chunk, place))
    }

    /// The name of a type; empty if the chunk lacks it.
    pub(super) fn type_name(&self, id: TypeId) -> &'b str {
        self.plans.metadata.name(id).unwrap_or_default()
    }

    /// The text that an entry is, or has as its name.
    pub(super) fn text(&self, entry: Entry, depth: u8) -> Cow<'a, str> {
        self.name(entry, depth)
            .map_or(Cow::Borrowed(""), Text::decode)
    }

    /// The text of a value in an entry: its own, or that of another entry.
    pub(super) fn value(&self, value: Value<'a>, depth: u8) -> Cow<'a, str> {
        self.found(value, depth)
            .map_or(Cow::Borrowed(""), Text::decode)
    }

    /// The text that an entry is, or has as its name, as it is in the chunk.
    fn name(&self, entry: Entry, depth: u8) -> Option<Text<'a>> {
        let mut name = None;
        // Entries without a name, damaged or not, have an empty one.
        let _ = self.entry(entry, &mut |found| match found {
            Found::Field(Role::Name, value)
            // The entries of collectors, causes and kinds are called after their only field.
            | Found::Field(Role::Type | Role::Fact(_), value @ Value::Text(_)) => {
                name = name.or(Some(value));
            }
            _ => {}
        });
        self.found(name?, depth)
    }

    /// The text of a value, as it is in the chunk.
    pub(super) fn found(&self, value: Value<'a>, depth: u8) -> Option<Text<'a>> {
        // Class, symbol, string: deeper is damage.
        if depth > 3 {
            return None;
        }
        match value {
            Value::Text(Text::Pooled(key)) => {
                let of = self.strings;
                self.name(Entry { of, key }, depth + 1)
            }
            Value::Text(text) => Some(text),
            Value::Number(key, of) => self.name(Entry { of, key }, depth + 1),
            Value::Time(..) | Value::Float(_) => None,
        }
    }
}

impl<'a, 'b> Names<'a, 'b> {
    /// Names of a chunk, which go into a profile.
    pub(super) fn new(source: Source<'a, 'b>, builder: &'b mut Builder) -> Self {
        let mut names = Self {
            source,
            builder,
            methods: FxHashMap::default(),
            frames: FxHashMap::default(),
            kinds: FxHashMap::default(),
            has_libraries: false,
            threads: FxHashMap::default(),
            classes: FxHashMap::default(),
        };
        // The JDK has no frames of the kernel; async-profiler lists all kinds that it has.
        let of_kernel = names.entries_named("jdk.types.FrameType", |name| name == "Kernel");
        names.has_libraries = !of_kernel.is_empty();
        names
    }

    /// The entries of a pool whose names are as asked for.
    fn entries_named(&mut self, of_type: &str, is_asked_for: impl Fn(&str) -> bool) -> Vec<Entry> {
        let source = self.source;
        let mut found = Vec::new();
        for of in source.plans.metadata.named(of_type) {
            for key in source.pools.entries(of) {
                let entry = Entry { of, key };
                if is_asked_for(&self.text(entry)) {
                    found.push(entry);
                }
            }
        }
        found
    }

    /// The text of an entry, as far as there is room for names.
    pub(super) fn text(&mut self, entry: Entry) -> Cow<'a, str> {
        let text = self.source.text(entry, 0);
        self.builder.within_room(text)
    }

    /// The text of a value, as far as there is room for names.
    fn value(&mut self, value: Value<'a>) -> Cow<'a, str> {
        let text = self.source.value(value, 0);
        self.builder.within_room(text)
    }

    pub(super) fn stack(&mut self, stack: Entry) -> Option<StackIndex> {
        let mut frames = Vec::new();
        let mut frame = RawFrame::default();
        let source = self.source;
        source.entry(stack, &mut |found| match found {
            Found::Field(Role::Method, Value::Number(key, of)) => {
                (frame.method, frame.method_type) = (key, of);
            }
            Found::Field(Role::Line, value) => {
                frame.line = u32::try_from(value.number()).unwrap_or(u32::MAX);
            }
            Found::Field(Role::Type, Value::Number(key, of)) => {
                (frame.kind, frame.kind_type) = (key, of);
            }
            Found::Field(..) => {}
            Found::ElementEnd => frames.push(self.frame(std::mem::take(&mut frame))),
        })?;
        Some(self.builder.stack(&frames))
    }

    fn frame(&mut self, frame: RawFrame) -> FrameIndex {
        if let Some(&known) = self.frames.get(&frame) {
            return known;
        }
        let method = Entry {
            of: frame.method_type,
            key: frame.method,
        };
        let kind = Entry {
            of: frame.kind_type,
            key: frame.kind,
        };
        if !self.methods.contains_key(&method) {
            let names = self.method(method);
            self.methods.insert(method, names);
        }
        let kind = self.kind(kind);
        let line = match (kind, frame.line) {
            (FrameKind::NativeMethod | FrameKind::Symbol | FrameKind::Kernel, _) => Line::Native,
            (FrameKind::Java, line) if line > 0 && line <= i32::MAX as u32 => Line::Number(line),
            (FrameKind::Java, _) => Line::Unknown,
        };
        let (class, name) = &self.methods[&method];
        let index = match kind {
            FrameKind::Kernel => {
                let name = crate::frames::kernel(name);
                self.builder.frame("", &name, None, line)
            }
            FrameKind::Symbol => self.builder.frame("", name, None, line),
            FrameKind::Java | FrameKind::NativeMethod => {
                self.builder.frame(class, name, None, line)
            }
        };
        self.frames.insert(frame, index);
        index
    }

    /// Class and name of a method.
    pub(super) fn method(&mut self, method: Entry) -> (String, String) {
        let (mut class, mut name) = (None, None);
        let _ = self.source.entry(method, &mut |found| match found {
            Found::Field(Role::Type, value) => class = Some(value),
            Found::Field(Role::Name, value) => name = name.or(Some(value)),
            _ => {}
        });
        let class = class.map_or(Cow::Borrowed(""), |it| self.value(it));
        let name = name.map_or(Cow::Borrowed(""), |it| self.value(it));
        match name.is_empty() {
            true => (class_name(&class), "<unknown>".to_owned()),
            false => (class_name(&class), name.into_owned()),
        }
    }

    fn kind(&mut self, kind: Entry) -> FrameKind {
        if let Some(&known) = self.kinds.get(&kind) {
            return known;
        }
        let found = match (&*self.text(kind), self.has_libraries) {
            ("Kernel", true) => FrameKind::Kernel,
            ("Native" | "C++", true) => FrameKind::Symbol,
            ("Native", false) => FrameKind::NativeMethod,
            _ => FrameKind::Java,
        };
        self.kinds.insert(kind, found);
        found
    }

    pub(super) fn thread(&mut self, thread: Entry) -> Option<ThreadSerial> {
        if let Some(&known) = self.threads.get(&thread) {
            return known;
        }
        let (mut java, mut os, mut is_virtual) = (None, None, false);
        let mut number = 0;
        let found = self.source.entry(thread, &mut |found| match found {
            Found::Field(Role::JavaName, value) => java = Some(value),
            Found::Field(Role::OsName, value) => os = Some(value),
            Found::Field(Role::IsVirtual, value) => is_virtual = value.number() != 0,
            Found::Field(Role::OsThreadId, value) => number = value.number(),
            _ => {}
        });
        let mut name = String::new();
        for value in [java, os].into_iter().flatten() {
            if name.is_empty() {
                name = self.value(value).into_owned();
            }
        }
        if name.is_empty() {
            name = match is_virtual {
                true => VIRTUAL.to_owned(),
                false => format!("thread {number}"),
            };
        }
        let serial = found.map(|()| self.builder.thread(&name));
        self.threads.insert(thread, serial);
        serial
    }

    fn class_index(&mut self, class: Entry) -> Option<ClassIndex> {
        if let Some(&known) = self.classes.get(&class) {
            return known;
        }
        let name = self.text(class);
        let index = match name.is_empty() {
            true => None,
            false => Some(self.builder.class(&class_name(&name))),
        };
        self.classes.insert(class, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_classes_have_no_address() {
        for (name, expected) in [
            // JDK 11, 17, 21 and 25.
            ("a.B$$Lambda$65/776700275", "a.B$$Lambda"),
            (
                "a.B$$Lambda$88+0x00007f23e0007a08/2084663827",
                "a.B$$Lambda",
            ),
            ("a.B$$Lambda+0x00000000800c5400/1760126453", "a.B$$Lambda"),
            ("a.B$$Lambda/0x0000000063045888", "a.B$$Lambda"),
            ("a/B$$Lambda+0x00007f2ff0006a08", "a.B$$Lambda"),
            ("a.B$$Lambda$12/0x0800", "a.B$$Lambda"),
            ("[La/B$$Lambda+0x0800/17;", "a.B$$Lambda[]"),
            (
                "a.LambdaForm$MH+0x0000000080001000/1324578393",
                "a.LambdaForm$MH",
            ),
            ("a/B$1", "a.B$1"),
            ("[I", "int[]"),
        ] {
            assert_eq!(class_name(name), expected);
        }
    }
}
