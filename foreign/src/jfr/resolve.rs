//! Looks up the names of a chunk's stacks, threads and classes, each once.

use std::borrow::Cow;

use hprof_format::ids::ThreadSerial;
use hprof_format::model::Line;
use hprof_java_names::source_form;
use hprof_stacks::FrameIndex;
use rustc_hash::FxHashMap;

use super::bytes::{Cursor, Text};
use super::events::{Choice, Cost, Entry, Events, Key, Kind};
use super::metadata::TypeId;
use super::plan::{Found, Plans, Role, Value};
use super::pools::Pools;
use crate::builder::{Builder, ClassIndex};

/// Virtual threads are mostly without names, and there may be millions of them.
const VIRTUAL: &str = "virtual threads";

/// Looks up one chunk.
struct Names<'a, 'b> {
    chunk: &'a [u8],
    pools: &'b Pools,
    plans: &'b mut Plans<'a>,
    builder: &'b mut Builder,
    methods: FxHashMap<Entry, (String, String)>,
    frames: FxHashMap<(Entry, u64, Entry), FrameIndex>,
    native: FxHashMap<Entry, bool>,
    threads: FxHashMap<Entry, Option<ThreadSerial>>,
    classes: FxHashMap<Entry, Option<ClassIndex>>,
}

/// Adds the costs of a chunk under their names; gives the number of events whose stacks it lacks.
pub(super) fn resolve<'a>(
    chunk: &'a [u8],
    events: &Events,
    pools: &Pools,
    plans: &mut Plans<'a>,
    builder: &mut Builder,
    choice: &mut Choice,
) -> u64 {
    let mut names = Names {
        chunk,
        pools,
        plans,
        builder,
        methods: FxHashMap::default(),
        frames: FxHashMap::default(),
        native: FxHashMap::default(),
        threads: FxHashMap::default(),
        classes: FxHashMap::default(),
    };
    let states = names.states();
    // By stack, so that only one has to be kept.
    let mut costs: Vec<(Key, Cost)> = events
        .costs
        .iter()
        .map(|(&key, &cost)| (key, cost))
        .collect();
    costs.sort_unstable_by_key(|(key, _)| (key.stack, key.thread, key.kind, key.state, key.class));
    let mut lacking = 0;
    let mut last: Option<(Entry, Option<Vec<FrameIndex>>)> = None;
    for (key, cost) in costs {
        if last.as_ref().is_none_or(|(stack, _)| *stack != key.stack) {
            last = Some((key.stack, names.stack(key.stack)));
        }
        let frames = last.as_ref().and_then(|(_, frames)| frames.as_deref());
        if frames.is_none() && key.stack.key != 0 {
            lacking += cost.count;
        }
        let thread = names.thread(key.thread);
        let class = names.class_index(key.class);
        let trace = names.builder.trace(thread, frames.unwrap_or_default());
        let is_wall = key.kind == Kind::Execution && states.is_wall(key.state);
        choice.add(names.builder, key.kind, is_wall, trace, class, cost);
    }
    lacking
}

/// The states of threads that samples name.
struct States {
    /// async-profiler has a state that is none of the JDK's, for samples of CPU time.
    tells_wall: bool,
    default: Vec<Entry>,
}

impl States {
    /// True if async-profiler took the sample whether or not the thread ran.
    fn is_wall(&self, state: Entry) -> bool {
        self.tells_wall && !self.default.contains(&state)
    }
}

impl<'a> Names<'a, '_> {
    fn states(&mut self) -> States {
        let types: Vec<TypeId> = self.plans.metadata.named("jdk.types.ThreadState").collect();
        let mut default = Vec::new();
        for of in types {
            let keys: Vec<u64> = self.pools.entries(of).collect();
            for key in keys {
                let state = Entry { of, key };
                if self.text(state, 0) == "STATE_DEFAULT" {
                    default.push(state);
                }
            }
        }
        States {
            tells_wall: !default.is_empty(),
            default,
        }
    }

    /// Reads an entry of a pool; `None` if the chunk lacks it.
    fn entry(&mut self, entry: Entry, found: &mut impl FnMut(Found<'a>)) -> Option<()> {
        let place = self.pools.place(entry.of, entry.key)?;
        let plan = self.plans.get(entry.of)?;
        plan.walk(&mut Cursor::new(self.chunk, place), found)
    }

    /// The text that an entry is, or has as its name.
    fn text(&mut self, entry: Entry, depth: u8) -> Cow<'a, str> {
        let mut name = None;
        // Entries without a name, damaged or not, have an empty one.
        let _ = self.entry(entry, &mut |found| {
            if let Found::Field(Role::Name, value) = found {
                name = name.or(Some(value));
            }
        });
        match name {
            Some(value) => self.value(value, entry, depth),
            None => Cow::Borrowed(""),
        }
    }

    /// The text of a value in an entry: its own, or that of another entry.
    fn value(&mut self, value: Value<'a>, within: Entry, depth: u8) -> Cow<'a, str> {
        // Class, symbol, string: deeper is damage.
        if depth > 3 {
            return Cow::Borrowed("");
        }
        match value {
            Value::Text(Text::Pooled(key)) => {
                let mut types = self.plans.metadata.named("java.lang.String");
                let of = types.next().unwrap_or(within.of);
                drop(types);
                self.text(Entry { of, key }, depth + 1)
            }
            Value::Text(text) => text.decode(),
            Value::Number(key, of) => self.text(Entry { of, key }, depth + 1),
            Value::Time(..) => Cow::Borrowed(""),
        }
    }

    fn stack(&mut self, stack: Entry) -> Option<Vec<FrameIndex>> {
        let mut frames: Vec<(Entry, u64, Entry)> = Vec::new();
        let mut frame = (Entry::default(), 0, Entry::default());
        self.entry(stack, &mut |found| match found {
            Found::Field(Role::Method, Value::Number(key, of)) => frame.0 = Entry { of, key },
            Found::Field(Role::Line, value) => frame.1 = value.number(),
            Found::Field(Role::Type, Value::Number(key, of)) => frame.2 = Entry { of, key },
            Found::Field(..) => {}
            Found::ElementEnd => frames.push(std::mem::take(&mut frame)),
        })?;
        Some(frames.into_iter().map(|frame| self.frame(frame)).collect())
    }

    fn frame(&mut self, frame: (Entry, u64, Entry)) -> FrameIndex {
        if let Some(&known) = self.frames.get(&frame) {
            return known;
        }
        let (method, line, kind) = frame;
        if !self.methods.contains_key(&method) {
            let names = self.method(method);
            self.methods.insert(method, names);
        }
        let line = match (self.is_native(kind), u32::try_from(line)) {
            (true, _) => Line::Native,
            (false, Ok(line)) if line > 0 && line <= i32::MAX as u32 => Line::Number(line),
            _ => Line::Unknown,
        };
        let (class, name) = &self.methods[&method];
        let index = self.builder.frame(class, name, None, line);
        self.frames.insert(frame, index);
        index
    }

    /// Class and name of a method.
    fn method(&mut self, method: Entry) -> (String, String) {
        let (mut class, mut name) = (None, None);
        let _ = self.entry(method, &mut |found| match found {
            Found::Field(Role::Type, value) => class = Some(value),
            Found::Field(Role::Name, value) => name = name.or(Some(value)),
            _ => {}
        });
        let class = class.map_or(Cow::Borrowed(""), |it| self.value(it, method, 0));
        let name = name.map_or(Cow::Borrowed(""), |it| self.value(it, method, 0));
        match name.is_empty() {
            true => (source_form(&class), "<unknown>".to_owned()),
            false => (source_form(&class), name.into_owned()),
        }
    }

    fn is_native(&mut self, kind: Entry) -> bool {
        if let Some(&known) = self.native.get(&kind) {
            return known;
        }
        let is_native = self.text(kind, 0) == "Native";
        self.native.insert(kind, is_native);
        is_native
    }

    fn thread(&mut self, thread: Entry) -> Option<ThreadSerial> {
        if let Some(&known) = self.threads.get(&thread) {
            return known;
        }
        let (mut java, mut os, mut is_virtual) = (None, None, false);
        let mut number = 0;
        let found = self.entry(thread, &mut |found| match found {
            Found::Field(Role::JavaName, value) => java = Some(value),
            Found::Field(Role::OsName, value) => os = Some(value),
            Found::Field(Role::IsVirtual, value) => is_virtual = value.number() != 0,
            Found::Field(Role::OsThreadId, value) => number = value.number(),
            _ => {}
        });
        let mut name = String::new();
        for value in [java, os].into_iter().flatten() {
            if name.is_empty() {
                name = self.value(value, thread, 0).into_owned();
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
        let name = self.text(class, 0);
        let index = match name.is_empty() {
            true => None,
            false => Some(self.builder.class(&source_form(&name))),
        };
        self.classes.insert(class, index);
        index
    }
}
