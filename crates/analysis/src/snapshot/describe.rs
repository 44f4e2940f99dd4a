//! Objects and references in words.

use std::fmt;

use hprof_format::binary::SubRecord;
use hprof_stacks::pictures::numbers::count;

use super::Snapshot;
use super::values::{Value, decimal};
use crate::graph::{
    ClassKind, Classes, GraphRoot, NOTHING, PlacedField, ReferenceKind, is_referent,
};
use crate::leaks::is_of_the_jdk;
use crate::numbers::{ClassNumber, ObjectNumber};

/// How one object keeps another one alive.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Edge {
    /// The kind of reference.
    pub kind: EdgeKind,
    /// The name of the field, the index of the element, or a word.
    pub name: String,
    /// The kind of `java.lang.ref.Reference`, if it is by such an object's `referent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceKind>,
}

impl Edge {
    /// A reference that is no `referent`.
    pub fn new(kind: EdgeKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            reference: None,
        }
    }

    /// The reference by a field of an instance of a class.
    pub(crate) fn of_field(
        classes: &Classes,
        class: ClassNumber,
        placed: &PlacedField<'_>,
    ) -> Self {
        let declared_by = &classes.get(placed.class).name;
        let kind = classes.get(class).reference_kind;
        Self {
            reference: kind.filter(|_| is_referent(declared_by, &placed.field.name)),
            ..Self::new(EdgeKind::Field, placed.field.name.as_str())
        }
    }

    /// The reference of each object to its class.
    pub(crate) fn to_class() -> Self {
        Self::new(EdgeKind::Class, "class")
    }
}

/// The kind of reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// A field of an instance.
    Field,
    /// A static field.
    Static,
    /// An element of an array.
    Element,
    /// A constant of a class.
    Constant,
    /// A local variable or argument on a thread's stack.
    Local,
    /// An object's class, or a class's super class, loader, signers or domain.
    Class,
    /// A class of a loader.
    DefinedClass,
    /// Not known.
    Unknown,
}

impl std::fmt::Display for Edge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            EdgeKind::Field => match self.reference {
                Some(kind) => write!(f, ".{} ({})", self.name, kind.name()),
                None => write!(f, ".{}", self.name),
            },
            EdgeKind::Static => write!(f, ".{} (static)", self.name),
            EdgeKind::Element => write!(f, "[{}]", self.name),
            EdgeKind::Constant => write!(f, " constant {}", self.name),
            EdgeKind::Local | EdgeKind::Class | EdgeKind::DefinedClass | EdgeKind::Unknown => {
                write!(f, " {}", self.name)
            }
        }
    }
}

/// Characters of a string that a line shows.
const PREVIEW: usize = 60;

/// An object in a few words; prints as them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The name of its class; of a class, its own name.
    pub class: String,
    /// True of a class.
    pub is_class: bool,
    /// Words that tell the object from others of its class, after the name.
    pub detail: Option<String>,
}

impl Description {
    /// Adds words at the end.
    pub fn push(&mut self, words: &str) {
        match &mut self.detail {
            Some(detail) => {
                detail.push(' ');
                detail.push_str(words);
            }
            None => self.detail = Some(words.to_owned()),
        }
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_class {
            f.write_str("class ")?;
        }
        f.write_str(&self.class)?;
        match &self.detail {
            Some(detail) => write!(f, " {detail}"),
            None => Ok(()),
        }
    }
}

impl Snapshot {
    /// An object by its class, and by the words that tell it from others of the class.
    pub fn description(&self, object: ObjectNumber) -> Description {
        match self.graph.class_of_object(object) {
            Some(class) => Description {
                class: self.graph.classes().get(class).name.clone(),
                is_class: true,
                detail: None,
            },
            None => Description {
                class: self.class_name(object).to_owned(),
                is_class: false,
                detail: self.detail(object),
            },
        }
    }

    /// [`Self::description`] as text.
    pub fn describe(&self, object: ObjectNumber) -> String {
        self.description(object).to_string()
    }

    /// A few words that tell an object from others of its class, if there are such.
    pub fn detail(&self, object: ObjectNumber) -> Option<String> {
        let class = self.graph.class_of(object);
        let classes = self.graph.classes();
        let name = classes.get(class).name.as_str();
        if name.ends_with("[]") || matches!(classes.get(class).kind, ClassKind::Primitives(_)) {
            let length = self.array_length(object)?;
            return Some(match length {
                1 => "of 1 element".to_owned(),
                length => format!("of {} elements", count(length)),
            });
        }
        if name == "java.lang.String" {
            let text = self.string(object, PREVIEW + 1)?;
            return Some(quoted(&text, PREVIEW));
        }
        if let Some(boxed) = self.boxed(object) {
            return Some(boxed);
        }
        if let Some(collection) = self.collection(object) {
            return Some(match (collection.kind, collection.size?) {
                (super::CollectionKind::Map, 1) => "with 1 entry".to_owned(),
                (super::CollectionKind::Map, size) => format!("with {} entries", count(size)),
                (_, 1) => "with 1 element".to_owned(),
                (_, size) => format!("with {} elements", count(size)),
            });
        }
        if classes.is_a(class, "java.lang.Thread") {
            return self.thread_name(object).map(|name| quoted(&name, PREVIEW));
        }
        if classes.is_a(class, "java.lang.ClassLoader") {
            let name = self.field_object(object, "name");
            let name = name.and_then(|name| self.string(name, PREVIEW))?;
            return Some(quoted(&name, PREVIEW));
        }
        if classes.is_a(class, "java.lang.Enum") {
            let name = self.field_object(object, "name")?;
            return Some(clean(&self.string(name, PREVIEW)?));
        }
        None
    }

    /// The value in a box such as `java.lang.Integer` or `java.util.concurrent.atomic.AtomicLong`.
    pub fn unboxed(&self, object: ObjectNumber) -> Option<Value> {
        let is_box = matches!(
            self.class_name(object),
            "java.lang.Boolean"
                | "java.lang.Character"
                | "java.lang.Byte"
                | "java.lang.Short"
                | "java.lang.Integer"
                | "java.lang.Long"
                | "java.lang.Float"
                | "java.lang.Double"
                | "java.util.concurrent.atomic.AtomicInteger"
                | "java.util.concurrent.atomic.AtomicLong"
                | "java.util.concurrent.atomic.AtomicBoolean"
        );
        let value = self.field(object, "value").filter(|_| is_box)?;
        // Never an object, whatever a damaged file says.
        matches!(
            value,
            Value::Boolean(_) | Value::Char(_) | Value::Integer(_) | Value::Float(_)
        )
        .then_some(value)
    }

    fn boxed(&self, object: ObjectNumber) -> Option<String> {
        match self.unboxed(object)? {
            Value::Boolean(value) => Some(value.to_string()),
            Value::Char(value) => Some(format!("'{}'", value.escape_debug())),
            Value::Integer(value) => Some(value.to_string()),
            Value::Float(value) => Some(decimal(value)),
            _ => None,
        }
    }

    /// The name of a thread object.
    pub fn thread_name(&self, thread: ObjectNumber) -> Option<String> {
        self.name_of(thread, 200)
    }

    /// The first `most` characters of the name of a thread or of a group of threads.
    pub(super) fn name_of(&self, object: ObjectNumber, most: usize) -> Option<String> {
        let name = self.field_object(object, "name")?;
        if let Some(text) = self.string(name, most) {
            return Some(text);
        }
        // Up to JDK 8 the field holds a char[].
        let chars = self
            .primitives(name, most)
            .into_iter()
            .map(|value| match value {
                Value::Char(unit) => unit,
                _ => '?',
            });
        let text: String = chars.collect();
        (!text.is_empty()).then_some(text)
    }

    /// How `from` keeps `to` alive; the first way if there are several.
    pub fn edge(&self, from: ObjectNumber, to: ObjectNumber) -> Edge {
        let edge = self.edge_in_record(from, to);
        edge.unwrap_or_else(|| Edge::new(EdgeKind::Unknown, "refers to"))
    }

    fn edge_in_record(&self, from: ObjectNumber, to: ObjectNumber) -> Option<Edge> {
        let id = self.graph.id(to);
        let edge = |kind, name: &str| Some(Edge::new(kind, name));
        let classes = self.graph.classes();
        if let Some(class) = self.graph.class_of_object(from) {
            let class = classes.get(class);
            let is_reference = |field: &&crate::graph::Static| field.type_code <= 2;
            let mut statics = class.statics.iter().filter(is_reference);
            if let Some(field) = statics.find(|field| field.bits == id) {
                return edge(EdgeKind::Static, &field.name);
            }
            if let Some(constant) = class.constants.iter().find(|c| c.bits == id) {
                return edge(EdgeKind::Constant, &constant.name);
            }
            let words = [
                (class.super_id, "super class"),
                (class.loader, "class loader"),
                (class.signers, "signers"),
                (class.domain, "protection domain"),
            ];
            if let Some((_, word)) = words.iter().find(|(other, _)| *other == id) {
                return edge(EdgeKind::Class, word);
            }
            return (self.class_object(from) == Some(to)).then(Edge::to_class);
        }
        let (_, record) = self.graph.locate(&self.file, from)?;
        match record {
            SubRecord::Instance { values, .. } => {
                let mut fields = classes.fields(self.graph.class_of(from));
                let refers = |placed: &crate::graph::PlacedField<'_>| {
                    let value = values.get(placed.offset..);
                    let value = value.and_then(|it| self.value(placed.field.basic_type(), it));
                    value == Some(Value::Object(to))
                };
                if let Some(placed) = fields.find(refers) {
                    return Some(Edge::of_field(classes, self.graph.class_of(from), &placed));
                }
            }
            SubRecord::ObjectArray { elements, .. } => {
                if let Some(index) = elements.iter().position(|element| element == id) {
                    return edge(EdgeKind::Element, &index.to_string());
                }
            }
            _ => {}
        }
        if let Some(local) = self.local_of(from, to) {
            return Some(Edge::new(EdgeKind::Local, self.local_in_words(local)));
        }
        if self.graph.class_of_object(to) == Some(self.graph.class_of(from)) {
            return Some(Edge::to_class());
        }
        let class = classes.get(self.graph.class_of_object(to)?);
        if class.loader == self.graph.id(from) {
            return edge(EdgeKind::DefinedClass, "defined class");
        }
        None
    }

    /// The local of a thread's stack that holds an object; of several the one in the innermost method that is not of
    /// the JDK.
    pub(crate) fn local_of(
        &self,
        thread: ObjectNumber,
        object: ObjectNumber,
    ) -> Option<&GraphRoot> {
        let locals = self.graph.locals();
        let start = locals.partition_point(|local| local.0 < thread);
        let of_thread = locals[start..].iter().take_while(|local| local.0 == thread);
        let mut found = (of_thread.map(|(_, local)| local))
            .filter(|local| local.object() == object)
            .peekable();
        let first = *found.peek()?;
        Some(
            found
                .find(|local| self.is_own_local(local))
                .unwrap_or(first),
        )
    }

    /// True of a local in a method that is not of the JDK.
    pub(crate) fn is_own_local(&self, local: &GraphRoot) -> bool {
        self.frame_of(local)
            .is_some_and(|frame| !is_of_the_jdk(&frame))
    }

    /// A local of a stack, with the method: `local variable in App.run(App.java:10)`.
    pub fn local_in_words(&self, local: &GraphRoot) -> String {
        match self.frame_of(local) {
            Some(frame) => format!("{} in {frame}", local.label()),
            None => self.root_label(local).to_owned(),
        }
    }

    /// The method whose frame holds a local.
    pub fn frame_of(&self, local: &GraphRoot) -> Option<String> {
        if local.frame == NOTHING {
            return None;
        }
        let frames = self.stack(local.thread)?;
        frames.get(local.frame as usize).cloned()
    }

    /// The kind of a root in words, as a noun.
    pub fn root_label(&self, root: &GraphRoot) -> &'static str {
        if !root.is_sticky_class() {
            return root.label();
        }
        let classes = self.graph.classes();
        let loader = self.graph.class_of_object(root.object());
        let loader = loader.map(|class| classes.get(class).loader);
        // Android's VM names classes of programs too, and its boot loader has an object.
        let is_of_boot_loader = loader.is_some_and(|loader| {
            let object = self.graph.number(loader).filter(|_| loader != 0);
            object.map_or(loader == 0, |it| {
                self.class_name(it) == "java.lang.BootClassLoader"
            })
        });
        match (is_of_boot_loader, self.graph.is_android()) {
            (true, true) => "system class",
            (true, false) => root.label(),
            (false, _) => "class that the VM keeps",
        }
    }

    /// Why a root is alive, in words.
    pub fn root_in_words(&self, root: &GraphRoot) -> String {
        if root.is_thread() {
            return match self.thread_name(root.object()) {
                Some(name) if !name.is_empty() => {
                    format!("running thread {}", quoted(&name, PREVIEW))
                }
                _ => "running thread".to_owned(),
            };
        }
        self.local_in_words(root)
    }
}

/// Text in quotation marks, cut, without control characters.
pub(crate) fn quoted(text: &str, most: usize) -> String {
    let end = text
        .char_indices()
        .nth(most)
        .map_or(text.len(), |(at, _)| at);
    let mut short = clean(&text[..end]);
    if end < text.len() {
        short.push('\u{2026}');
    }
    format!("\"{short}\"")
}

/// Text with a point in the place of each control character, as in names that were left out of a dump.
fn clean(text: &str) -> String {
    let clean = |c: char| if c.is_control() { '\u{b7}' } else { c };
    text.chars().map(clean).collect()
}
