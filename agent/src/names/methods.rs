//! Methods and frames.
//!
//! A method is what its names say, not what its id in the VM is: the same class
//! loaded again by another loader, or redefined, is the same row of a profile,
//! and a program that loads classes for ever does not fill the table.

use std::collections::HashMap;
use std::fmt;

use hprof_format::ids::ObjectId;
use hprof_format::model::{Frame, Line, MethodName};

use super::class_name::HiddenNames;

/// The names of a method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// The declaring class, as [`java_class_name`](super::java_class_name) has it.
    pub class_name: String,
    /// The plain name.
    pub name: String,
    /// The descriptor.
    pub descriptor: String,
    /// The SourceFile attribute.
    pub source_file: Option<String>,
}

/// The place of a method in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodId(u32);

/// The place of a frame (a method and a line) in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameId(u32);

/// All methods and frames seen.
pub struct MethodTable {
    hidden: HiddenNames,
    methods: Vec<Method>,
    method_ids: HashMap<Method, MethodId>,
    classes: HashMap<String, u32>,
    frames: Vec<(MethodId, Line)>,
    frame_ids: HashMap<(MethodId, Line), FrameId>,
    bytes: usize,
}

/// A rough size of what the maps and vectors hold for each entry.
const ENTRY_OVERHEAD: usize = 64;

impl fmt::Display for MethodTable {
    /// The table's sizes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "classes={} methods={} frames={} method_bytes={}",
            self.classes.len(),
            self.methods.len(),
            self.frames.len(),
            self.bytes()
        )
    }
}

impl MethodTable {
    /// An empty table.
    pub fn new(hidden: HiddenNames) -> Self {
        Self {
            hidden,
            methods: Vec::new(),
            method_ids: HashMap::new(),
            classes: HashMap::new(),
            frames: Vec::new(),
            frame_ids: HashMap::new(),
            bytes: 0,
        }
    }

    /// The id of a method, new or known.
    pub fn intern(&mut self, mut method: Method) -> MethodId {
        method.class_name = self.hidden.shown(method.class_name);
        if let Some(&id) = self.method_ids.get(&method) {
            return id;
        }
        let id = MethodId(u32::try_from(self.methods.len()).unwrap_or(u32::MAX));
        let class_number = u32::try_from(self.classes.len()).unwrap_or(u32::MAX);
        self.classes
            .entry(method.class_name.clone())
            .or_insert(class_number);
        let text = method.class_name.len() + method.name.len() + method.descriptor.len();
        self.bytes += 2 * text + 2 * size_of::<Method>() + ENTRY_OVERHEAD;
        self.methods.push(method.clone());
        self.method_ids.insert(method, id);
        id
    }

    /// The object that represents a class in profiles without a heap dump.
    pub fn class_object(&mut self, class_name: &str) -> ObjectId {
        if !self.classes.contains_key(class_name) {
            let number = u32::try_from(self.classes.len()).unwrap_or(u32::MAX);
            self.classes.insert(class_name.to_owned(), number);
            self.bytes += class_name.len() + ENTRY_OVERHEAD;
        }
        self.class_id(class_name)
    }

    /// The id of a frame, new or known.
    pub fn frame(&mut self, method: MethodId, line: Line) -> FrameId {
        let next = FrameId(u32::try_from(self.frames.len()).unwrap_or(u32::MAX));
        let id = *self.frame_ids.entry((method, line)).or_insert(next);
        if id == next {
            self.frames.push((method, line));
            self.bytes += ENTRY_OVERHEAD;
        }
        id
    }

    /// A frame as the format crate wants it.
    pub fn describe(&self, frame: FrameId) -> Frame<'_> {
        let (method, line) = self.frames[frame.0 as usize];
        let Method {
            class_name,
            name,
            descriptor,
            source_file,
        } = &self.methods[method.0 as usize];
        Frame {
            class_name,
            class_id: self.class_id(class_name),
            method: name,
            signature: descriptor,
            source_file: source_file.as_deref(),
            line,
        }
    }

    /// Class and method of a frame.
    pub fn name(&self, frame: FrameId) -> MethodName<'_> {
        let Frame {
            class_name, method, ..
        } = self.describe(frame);
        MethodName { class_name, method }
    }

    /// Returns true if the frame is in the native part of a method.
    pub fn is_continuation_entry(&self, frame: FrameId) -> bool {
        let Frame {
            class_name, method, ..
        } = self.describe(frame);
        class_name == "jdk.internal.vm.Continuation" && method.starts_with("enter")
    }

    /// Roughly how many bytes the tables take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn class_id(&self, class_name: &str) -> ObjectId {
        let number = self.classes.get(class_name).copied().unwrap_or(0);
        // Objects of a VM lie at multiples of eight: no heap dump has this id.
        ObjectId::new(ObjectId::BASE + (1 << 32) + 8 * u64::from(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(class_name: &str, name: &str) -> Method {
        Method {
            class_name: class_name.into(),
            name: name.into(),
            descriptor: "()V".into(),
            source_file: Some("A.java".into()),
        }
    }

    #[test]
    fn the_same_names_are_the_same_method_and_class() {
        let mut table = MethodTable::new(HiddenNames::Whole);
        let run = table.intern(method("A", "run"));
        assert_eq!(table.intern(method("A", "run")), run);
        let stop = table.intern(method("A", "stop"));
        let other = table.intern(method("B", "run"));
        let frames = [run, stop, other].map(|m| table.frame(m, Line::Number(3)));
        assert_eq!(table.frame(run, Line::Number(3)), frames[0]);
        assert_ne!(table.frame(run, Line::Unknown), frames[0]);
        let ids = frames.map(|f| table.describe(f).class_id);
        assert_eq!(ids[0], ids[1]);
        assert_ne!(ids[0], ids[2]);
        assert_eq!(table.describe(frames[1]).method, "stop");
    }

    #[test]
    fn lambdas_of_a_class_are_one_method_in_text() {
        let mut table = MethodTable::new(HiddenNames::Families);
        let one = table.intern(method("A$$Lambda$1.0x0800", "run"));
        assert_eq!(table.intern(method("A$$Lambda$2.0x0900", "run")), one);
        let frame = table.frame(one, Line::Unknown);
        assert_eq!(table.name(frame).class_name, "A$$Lambda");
    }
}
