//! Walks heap dumps in the binary format, for assertions. Keeps every object.
//!
//! Written from the format's description in the HPROF manual and the comment at the head of
//! HotSpot's `heapDumper.cpp` alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::binary_profile::Bytes;

/// One heap dump: all segments up to its end mark.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct BinaryHeap {
    /// True if the end mark was there.
    pub ended: bool,
    /// Classes by id.
    pub classes: BTreeMap<u64, HeapClass>,
    /// Objects and arrays by id.
    pub objects: HashMap<u64, HeapObject>,
    /// Roots in order.
    pub roots: Vec<HeapRoot>,
    /// The positions of segments in the file, as first and last byte.
    pub segments: Vec<(usize, usize)>,
}

/// A class.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct HeapClass {
    /// Its name in Java form.
    pub name: String,
    /// The super class, or 0.
    pub super_class: u64,
    /// Loader, signers, protection domain, or 0.
    pub others: [u64; 3],
    /// The bytes of an instance's values.
    pub instance_size: u32,
    /// Name, type and value of static fields; a reference is its id.
    pub statics: Vec<(String, u8, u64)>,
    /// Indexes and objects of the constant pool.
    pub constants: Vec<(u16, u64)>,
    /// Names and types of instance fields, own ones only.
    pub fields: Vec<(String, u8)>,
    /// Allocation trace.
    pub trace: u32,
}

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub struct HeapObject {
    /// Allocation trace.
    pub trace: u32,
    /// Its kind.
    pub content: Content,
}

/// An object's kind and contents.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// An instance of a class, with the bytes of its fields.
    Instance(u64, Vec<u8>),
    /// An array of a class, with its elements.
    Objects(u64, Vec<u64>),
    /// An array of a primitive type, with its elements' bytes.
    Primitives(u8, Vec<u8>),
}

/// A root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapRoot {
    /// The kind, by its tag.
    pub tag: u8,
    /// The object.
    pub object: u64,
    /// The thread, for the kinds that have one.
    pub thread: Option<u32>,
    /// The frame's number; the trace of a thread object.
    pub place: Option<u32>,
}

/// The facts that a walk over sub-records needs.
pub(crate) struct Names<'a> {
    pub(crate) id_size: u32,
    pub(crate) strings: &'a BTreeMap<u64, String>,
    pub(crate) class_names: &'a BTreeMap<u64, String>,
}

const TYPES: [(u8, usize, &str); 8] = [
    (4, 1, "boolean"),
    (5, 2, "char"),
    (6, 4, "float"),
    (7, 8, "double"),
    (8, 1, "byte"),
    (9, 2, "short"),
    (10, 4, "int"),
    (11, 8, "long"),
];

impl Names<'_> {
    fn width(&self, code: u8) -> Result<usize, String> {
        if code == 2 {
            return Ok(self.id_size as usize);
        }
        let known = TYPES.iter().find(|(it, _, _)| *it == code);
        known
            .map(|(_, width, _)| *width)
            .ok_or_else(|| format!("type {code}"))
    }

    fn id(&self, body: &mut Bytes) -> Result<u64, String> {
        let bytes = body.take(self.id_size as usize)?;
        Ok(bytes
            .iter()
            .fold(0, |id, byte| (id << 8) | u64::from(*byte)))
    }

    fn string(&self, body: &mut Bytes) -> Result<String, String> {
        let id = self.id(body)?;
        let text = self.strings.get(&id).cloned();
        text.ok_or_else(|| format!("string {id:x} has not been written"))
    }

    fn value(&self, body: &mut Bytes) -> Result<(u8, u64), String> {
        let code = body.u1()?;
        let bytes = body.take(self.width(code)?)?;
        let value = bytes
            .iter()
            .fold(0, |value, byte| (value << 8) | u64::from(*byte));
        Ok((code, value))
    }
}

impl BinaryHeap {
    pub(crate) fn segment(&mut self, body: &mut Bytes, names: &Names) -> Result<(), String> {
        let length = body.0.len();
        while !body.0.is_empty() {
            let at = length - body.0.len();
            let tag = body.u1()?;
            self.sub_record(tag, body, names)
                .map_err(|problem| format!("sub-record 0x{tag:02x} at {at}: {problem}"))?;
        }
        Ok(())
    }

    fn sub_record(&mut self, tag: u8, body: &mut Bytes, names: &Names) -> Result<(), String> {
        let object = names.id(body)?;
        match tag {
            0x20 => return self.class(object, body, names),
            0x21 => {
                let trace = body.u4()?;
                let class = names.id(body)?;
                let length = body.u4()? as usize;
                let content = Content::Instance(class, body.take(length)?.to_vec());
                return self.add(object, trace, content);
            }
            0x22 => {
                let trace = body.u4()?;
                let length = body.u4()?;
                let class = names.id(body)?;
                let elements = (0..length)
                    .map(|_| names.id(body))
                    .collect::<Result<_, _>>()?;
                return self.add(object, trace, Content::Objects(class, elements));
            }
            0x23 => {
                let trace = body.u4()?;
                let length = body.u4()? as usize;
                let element = body.u1()?;
                let bytes = body.take(length * names.width(element)?)?.to_vec();
                return self.add(object, trace, Content::Primitives(element, bytes));
            }
            _ => {}
        }
        let (mut thread, mut place) = (None, None);
        match tag {
            0x01 => {
                names.id(body)?;
            }
            0x02 | 0x03 | 0x08 => (thread, place) = (Some(body.u4()?), Some(body.u4()?)),
            0x04 | 0x06 => thread = Some(body.u4()?),
            0x05 | 0x07 | 0xff => {}
            _ => return Err("unknown".into()),
        }
        self.roots.push(HeapRoot {
            tag,
            object,
            thread,
            place,
        });
        Ok(())
    }

    fn add(&mut self, object: u64, trace: u32, content: Content) -> Result<(), String> {
        let new = self.objects.insert(object, HeapObject { trace, content });
        match new {
            None if object != 0 => Ok(()),
            _ => Err(format!("object {object:x} is null or written twice")),
        }
    }

    fn class(&mut self, id: u64, body: &mut Bytes, names: &Names) -> Result<(), String> {
        let mut class = HeapClass {
            name: names
                .class_names
                .get(&id)
                .cloned()
                .ok_or_else(|| format!("class {id:x} has no LOAD CLASS"))?,
            trace: body.u4()?,
            super_class: names.id(body)?,
            ..HeapClass::default()
        };
        for other in &mut class.others {
            *other = names.id(body)?;
        }
        names.id(body)?;
        names.id(body)?;
        class.instance_size = body.u4()?;
        for _ in 0..body.u2()? {
            let index = body.u2()?;
            class.constants.push((index, names.value(body)?.1));
        }
        for _ in 0..body.u2()? {
            let name = names.string(body)?;
            let (code, value) = names.value(body)?;
            class.statics.push((name, code, value));
        }
        for _ in 0..body.u2()? {
            let name = names.string(body)?;
            class.fields.push((name, body.u1()?));
        }
        let new = id != 0 && self.classes.insert(id, class).is_none();
        new.then_some(())
            .ok_or_else(|| format!("class {id:x} is null or written twice"))
    }

    /// Objects and bytes of content for each class, by name in Java form.
    pub fn counts(&self) -> BTreeMap<String, (u64, u64)> {
        let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for object in self.objects.values() {
            let (name, bytes) = match &object.content {
                Content::Instance(class, values) => (self.name(*class), values.len()),
                Content::Objects(class, elements) => (self.name(*class), 8 * elements.len()),
                Content::Primitives(element, bytes) => {
                    let known = TYPES.iter().find(|(it, _, _)| it == element);
                    (
                        known.map_or("?[]".to_owned(), |it| format!("{}[]", it.2)),
                        bytes.len(),
                    )
                }
            };
            let (objects, sum) = counts.entry(name).or_default();
            *objects += 1;
            *sum += bytes as u64;
        }
        counts
    }

    /// The name of a class.
    pub fn name(&self, class: u64) -> String {
        let class = self.classes.get(&class);
        class.map_or("?".to_owned(), |class| class.name.clone())
    }

    /// The only class of this name.
    ///
    /// # Panics
    ///
    /// When there is none or several.
    pub fn class_named(&self, name: &str) -> (u64, &HeapClass) {
        let mut found = self.classes.iter().filter(|(_, class)| class.name == name);
        let (id, class) = found.next().unwrap_or_else(|| panic!("no class {name}"));
        assert!(found.next().is_none(), "several classes {name}");
        (*id, class)
    }

    /// The ids of all instances of the only class of this name.
    ///
    /// # Panics
    ///
    /// When there is no such class or several.
    pub fn instances(&self, name: &str) -> BTreeSet<u64> {
        let (wanted, _) = self.class_named(name);
        let is_wanted = |object: &HeapObject| match &object.content {
            Content::Instance(class, _) | Content::Objects(class, _) => *class == wanted,
            Content::Primitives(..) => false,
        };
        let all = self.objects.iter();
        all.filter(|(_, object)| is_wanted(object))
            .map(|(id, _)| *id)
            .collect()
    }

    /// The fields of an instance by name, own ones first, then inherited ones: type and value.
    ///
    /// # Panics
    ///
    /// When it is no instance, or its values are not as long as its classes say.
    pub fn fields(&self, object: u64) -> Vec<(String, u8, u64)> {
        let Content::Instance(class, values) = &self.objects[&object].content else {
            panic!("{object:x} is no instance")
        };
        let mut rest = values.as_slice();
        let mut fields = Vec::new();
        let mut class = *class;
        while class != 0 {
            let found = &self.classes[&class];
            for (name, code) in &found.fields {
                let width = match code {
                    2 => 8,
                    _ => TYPES
                        .iter()
                        .find(|(it, _, _)| it == code)
                        .map_or(0, |it| it.1),
                };
                let (value, after) = rest.split_at(width);
                rest = after;
                let value = value
                    .iter()
                    .fold(0, |value, byte| (value << 8) | u64::from(*byte));
                fields.push((name.clone(), *code, value));
            }
            class = found.super_class;
        }
        assert!(rest.is_empty(), "values left over in {object:x}");
        fields
    }

    /// The static field of a class.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn static_field(&self, class: &str, field: &str) -> u64 {
        let (_, found) = self.class_named(class);
        let field = found.statics.iter().find(|(name, _, _)| name == field);
        field
            .unwrap_or_else(|| panic!("no such field in {class}"))
            .2
    }

    /// All references to what is not in the dump, as holder and target; roots hold from 0.
    pub fn dangling(&self) -> Vec<(u64, u64)> {
        let is_known =
            |id: u64| id == 0 || self.objects.contains_key(&id) || self.classes.contains_key(&id);
        let mut found = Vec::new();
        let mut check = |holder: u64, target: u64| {
            if !is_known(target) {
                found.push((holder, target));
            }
        };
        for (&id, object) in &self.objects {
            match &object.content {
                Content::Instance(class, _) => {
                    check(id, *class);
                    if self.classes.contains_key(class) {
                        let fields = self.fields(id);
                        let references = fields.iter().filter(|(_, code, _)| *code == 2);
                        references.for_each(|(_, _, value)| check(id, *value));
                    }
                }
                Content::Objects(class, elements) => {
                    check(id, *class);
                    elements.iter().for_each(|&element| check(id, element));
                }
                Content::Primitives(..) => {}
            }
        }
        for (&id, class) in &self.classes {
            check(id, class.super_class);
            class.others.iter().for_each(|&other| check(id, other));
            class
                .constants
                .iter()
                .for_each(|&(_, object)| check(id, object));
            let references = class.statics.iter().filter(|(_, code, _)| *code == 2);
            references.for_each(|(_, _, value)| check(id, *value));
        }
        self.roots.iter().for_each(|root| check(0, root.object));
        found
    }
}
