//! The pools to which the events of a chunk refer.

use std::borrow::Cow;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::Line;
use hprof_java_names::Primitive;
use hprof_stacks::Stacks;
use rustc_hash::FxHashMap;

use super::bytes::Bytes;
use super::metadata::id;

/// The only state of a thread that is written.
pub(super) const RUNNABLE: u64 = 1;
/// The types of frames: how a method was compiled is not known.
const UNKNOWN: u64 = 1;
const NATIVE: u64 = 2;

/// Entries by what they hold, numbered from the one after `before`.
struct Pool {
    before: u64,
    entries: FxHashMap<Vec<u8>, u64>,
    bytes: Bytes,
}

impl Pool {
    fn new() -> Self {
        Self::after(0)
    }

    fn after(before: u64) -> Self {
        Self {
            before,
            entries: FxHashMap::default(),
            bytes: Bytes::default(),
        }
    }

    fn entry(&mut self, value: Bytes) -> u64 {
        let next = self.before + self.entries.len() as u64 + 1;
        if let Some(&known) = self.entries.get(&value.0) {
            return known;
        }
        self.bytes.number(next);
        self.bytes.0.extend_from_slice(&value.0);
        self.entries.insert(value.0, next);
        next
    }
}

/// All pools.
pub(super) struct Pools {
    symbols: Pool,
    classes: Pool,
    methods: Pool,
    stacks: Pool,
    threads: Pool,
    known_stacks: FxHashMap<TraceSerial, u64>,
}

impl Default for Pools {
    fn default() -> Self {
        Self::after(0)
    }
}

impl Pools {
    /// Pools whose numbers are larger. The JDK's reader looks numbers up in the chunk before, too, and takes what it finds there.
    pub(super) fn after(before: u64) -> Self {
        Self {
            symbols: Pool::after(before),
            classes: Pool::after(before),
            methods: Pool::after(before),
            stacks: Pool::after(before),
            threads: Pool::after(before),
            known_stacks: FxHashMap::default(),
        }
    }

    fn symbol(&mut self, text: &str) -> u64 {
        let mut value = Bytes::default();
        value.text(text);
        self.symbols.entry(value)
    }

    /// A class whose name is in the form of Java source.
    pub(super) fn class(&mut self, name: &str) -> u64 {
        let mut value = Bytes::default();
        value.number(self.symbol(&internal_form(&without_bracket(name))));
        value.number(0);
        self.classes.entry(value)
    }

    pub(super) fn thread(&mut self, serial: ThreadSerial, name: String) -> u64 {
        let mut value = Bytes::default();
        value.text(&name);
        value.number(u64::from(serial.get()));
        value.text(&name);
        value.number(u64::from(serial.get()));
        self.threads.entry(value)
    }

    pub(super) fn stack(&mut self, trace: TraceSerial, stacks: &Stacks) -> u64 {
        if let Some(&known) = self.known_stacks.get(&trace) {
            return known;
        }
        let frames = stacks.frames_of(trace);
        let mut value = Bytes::default();
        value.number(0);
        value.number(frames.len() as u64);
        for &at in frames {
            let frame = stacks.frame(at);
            let (line, kind) = match frame.line {
                Line::Number(line) => (u64::from(line), UNKNOWN),
                Line::Unknown => (0, UNKNOWN),
                Line::Native => (0, NATIVE),
            };
            value.number(self.method(&frame.class_name, &frame.method));
            value.number(line);
            value.number(0);
            value.number(kind);
        }
        let stack = self.stacks.entry(value);
        self.known_stacks.insert(trace, stack);
        stack
    }

    fn method(&mut self, class: &str, name: &str) -> u64 {
        // Profiles have no descriptors, and tools cannot do without.
        self.method_of(class, name, "()V")
    }

    /// A method with its descriptor.
    pub(super) fn method_of(&mut self, class: &str, name: &str, descriptor: &str) -> u64 {
        let mut value = Bytes::default();
        value.number(self.class(class));
        value.number(self.symbol(name));
        value.number(self.symbol(descriptor));
        value.number(0);
        value.number(0);
        self.methods.entry(value)
    }

    /// The body of the checkpoint. The JDK's reader takes no empty pools.
    pub(super) fn body(&self) -> Bytes {
        let mut fixed = [Pool::new(), Pool::new()];
        let texts: [&[&str]; 2] = [&["Unknown", "Native"], &["STATE_RUNNABLE"]];
        for (pool, texts) in fixed.iter_mut().zip(texts) {
            for text in texts {
                let mut value = Bytes::default();
                value.text(text);
                pool.entry(value);
            }
        }
        let pools = [
            (id::FRAME_TYPE, &fixed[0]),
            (id::THREAD_STATE, &fixed[1]),
            (id::SYMBOL, &self.symbols),
            (id::CLASS, &self.classes),
            (id::METHOD, &self.methods),
            (id::THREAD, &self.threads),
            (id::STACK_TRACE, &self.stacks),
        ];
        let pools = pools.iter().filter(|(_, pool)| !pool.entries.is_empty());
        let mut body = Bytes::default();
        // Start time, duration, no checkpoint before, and one that is complete.
        for number in [super::START_TICKS, 0, 0, 1] {
            body.number(number);
        }
        body.number(pools.clone().count() as u64);
        for (of, pool) in pools {
            body.number(*of);
            body.number(pool.entries.len() as u64);
            body.0.extend_from_slice(&pool.bytes.0);
        }
        body
    }
}

/// `java/lang/String` for `java.lang.String`, `[[I` for `int[][]`.
fn internal_form(name: &str) -> String {
    let element = name.trim_end_matches("[]");
    let dimensions = (name.len() - element.len()) / 2;
    let slashed = element.replace('.', "/");
    if dimensions == 0 {
        return slashed;
    }
    let element = match Primitive::of_name(element) {
        Some(primitive) => char::from(primitive.descriptor()).to_string(),
        None => format!("L{slashed};"),
    };
    "[".repeat(dimensions) + &element
}

/// A name that no reader takes for that of an array: Mission Control throws at `[native] a` in front of `.cold`.
fn without_bracket(name: &str) -> Cow<'_, str> {
    match name.strip_prefix('[') {
        Some(rest) => Cow::Owned(format!("({}", rest.replacen(']', ")", 1))),
        None => Cow::Borrowed(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_java_names::source_form;

    #[test]
    fn a_class_that_begins_with_a_bracket_is_no_array() {
        for (name, written) in [
            ("[native] a", "(native) a"),
            ("[gc]", "(gc)"),
            ("[", "("),
            ("int[]", "[I"),
        ] {
            assert_eq!(internal_form(&without_bracket(name)), written);
        }
    }

    #[test]
    fn names_of_classes_come_back() {
        for name in ["java.lang.String", "int[][]", "a.B[]", "C"] {
            assert_eq!(source_form(&internal_form(name)), name);
        }
    }
}
