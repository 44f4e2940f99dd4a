//! Heap dumps made by hand, of objects that no VM of today would dump.
#![allow(dead_code)]

use std::collections::BTreeMap;

use hprof_analysis::snapshot::{OpenOptions, Snapshot};

/// A value of a field.
#[derive(Clone, Copy)]
pub enum Put {
    /// A reference, 0 for null.
    Ref(u64),
    Int(i32),
    Long(i64),
    Bool(bool),
    Byte(i8),
}

use Put::{Bool, Byte, Int, Long, Ref};

impl Put {
    fn code(self) -> u8 {
        match self {
            Ref(_) => 2,
            Bool(_) => 4,
            Byte(_) => 8,
            Int(_) => 10,
            Long(_) => 11,
        }
    }

    fn bytes(self, id_bytes: usize) -> Vec<u8> {
        match self {
            Ref(id) => id.to_be_bytes()[8 - id_bytes..].to_vec(),
            Bool(value) => vec![u8::from(value)],
            Byte(value) => value.to_be_bytes().to_vec(),
            Int(value) => value.to_be_bytes().to_vec(),
            Long(value) => value.to_be_bytes().to_vec(),
        }
    }
}

struct Class {
    super_id: u64,
    fields: Vec<(String, u8)>,
}

/// A heap dump in the making.
pub struct Made {
    version: &'static str,
    id_bytes: usize,
    records: Vec<u8>,
    heap: Vec<u8>,
    strings: BTreeMap<String, u64>,
    classes: BTreeMap<u64, Class>,
    next: u64,
    /// The loader of the classes that are made from now on.
    pub loader: u64,
}

impl Made {
    /// With identifiers of eight bytes, which are addresses, and `java.lang.Object`.
    pub fn new() -> Self {
        Self::of("JAVA PROFILE 1.0.2", 8)
    }

    /// In a version of the format, with identifiers of `id_bytes` bytes.
    pub fn of(version: &'static str, id_bytes: usize) -> Self {
        let mut made = Self::bare(version, id_bytes);
        let object = made.object();
        made.class("java.lang.Class", object, &[]);
        made
    }

    /// A dump without any class.
    pub fn bare(version: &'static str, id_bytes: usize) -> Self {
        Self {
            version,
            id_bytes,
            records: Vec::new(),
            heap: Vec::new(),
            strings: BTreeMap::new(),
            classes: BTreeMap::new(),
            next: 0x10_0000,
            loader: 0,
        }
    }

    /// The class `java.lang.Object`, which is made if it is not there.
    pub fn object(&mut self) -> u64 {
        match self.classes.keys().next() {
            Some(&first) => first,
            None => self.class("java.lang.Object", 0, &[]),
        }
    }

    /// An identifier that nothing has.
    pub fn fresh(&mut self) -> u64 {
        self.next += 0x1000;
        self.next
    }

    fn id(&self, id: u64) -> Vec<u8> {
        Ref(id).bytes(self.id_bytes)
    }

    /// A record outside of the heap.
    pub fn record(&mut self, tag: u8, body: &[u8]) {
        self.records.push(tag);
        self.records.extend([0; 4]);
        self.records.extend((body.len() as u32).to_be_bytes());
        self.records.extend(body);
    }

    /// The identifier of a string outside of the heap.
    pub fn name(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = self.fresh();
        let body = [self.id(id), text.as_bytes().to_vec()].concat();
        self.record(1, &body);
        self.strings.insert(text.to_owned(), id);
        id
    }

    /// A class with fields; each value stands for the type.
    pub fn class(&mut self, name: &str, super_id: u64, fields: &[(&str, Put)]) -> u64 {
        self.class_with(name, super_id, fields, &[], 0)
    }

    /// A class with static fields too, and the size of instances that the file states.
    pub fn class_with(
        &mut self,
        name: &str,
        super_id: u64,
        fields: &[(&str, Put)],
        statics: &[(&str, Put)],
        size: u32,
    ) -> u64 {
        let id = self.fresh();
        self.describe_class(id, name, super_id, fields, statics, size);
        id
    }

    /// A class of a given identifier.
    pub fn describe_class(
        &mut self,
        id: u64,
        name: &str,
        super_id: u64,
        fields: &[(&str, Put)],
        statics: &[(&str, Put)],
        size: u32,
    ) {
        // Android writes names as source code has them.
        let name_id = match self.version.ends_with("1.0.3") {
            true => self.name(name),
            false => self.name(&name.replace('.', "/")),
        };
        let load = [
            1u32.to_be_bytes().to_vec(),
            self.id(id),
            vec![0; 4],
            self.id(name_id),
        ];
        self.record(2, &load.concat());
        let mut body = vec![0x20];
        body.extend(self.id(id));
        body.extend([0; 4]);
        body.extend(self.id(super_id));
        body.extend(self.id(self.loader));
        for _ in 0..4 {
            body.extend(self.id(0));
        }
        body.extend(size.to_be_bytes());
        body.extend([0; 2]);
        body.extend((statics.len() as u16).to_be_bytes());
        for (name, value) in statics {
            let name = self.name(name);
            body.extend(self.id(name));
            body.push(value.code());
            body.extend(value.bytes(self.id_bytes));
        }
        body.extend((fields.len() as u16).to_be_bytes());
        let mut known = Vec::new();
        for (name, value) in fields {
            let name_id = self.name(name);
            body.extend(self.id(name_id));
            body.push(value.code());
            known.push(((*name).to_owned(), value.code()));
        }
        self.heap.extend(body);
        self.classes.insert(
            id,
            Class {
                super_id,
                fields: known,
            },
        );
    }

    /// An instance with values by field name; fields that are not named are zero.
    pub fn instance(&mut self, class: u64, values: &[(&str, Put)]) -> u64 {
        let id = self.fresh();
        self.put_instance(id, class, values);
        id
    }

    /// An instance of a given identifier.
    pub fn put_instance(&mut self, id: u64, class: u64, values: &[(&str, Put)]) {
        let mut bytes = Vec::new();
        let mut next = class;
        while let Some(class) = self.classes.get(&next) {
            for (name, code) in &class.fields {
                let value = values.iter().find(|value| value.0 == name);
                bytes.extend(value.map_or_else(
                    || match code {
                        2 => vec![0; self.id_bytes],
                        4 | 8 => vec![0],
                        10 => vec![0; 4],
                        _ => vec![0; 8],
                    },
                    |value| value.1.bytes(self.id_bytes),
                ));
            }
            next = class.super_id;
        }
        self.put_record(id, class, &bytes);
    }

    /// An instance whose fields have the given bytes.
    pub fn put_record(&mut self, id: u64, class: u64, bytes: &[u8]) {
        let head = [vec![0x21], self.id(id), vec![0; 4], self.id(class)].concat();
        self.heap.extend(head);
        self.heap.extend((bytes.len() as u32).to_be_bytes());
        self.heap.extend(bytes);
    }

    /// An array of references.
    pub fn array(&mut self, class: u64, elements: &[u64]) -> u64 {
        let id = self.fresh();
        let mut body = [vec![0x22], self.id(id), vec![0; 4]].concat();
        body.extend((elements.len() as u32).to_be_bytes());
        body.extend(self.id(class));
        for &element in elements {
            body.extend(self.id(element));
        }
        self.heap.extend(body);
        id
    }

    /// An array of a primitive type, by the type's code.
    pub fn primitives(&mut self, code: u8, length: u32, bytes: &[u8]) -> u64 {
        let id = self.fresh();
        let mut body = [vec![0x23], self.id(id), vec![0; 4]].concat();
        body.extend(length.to_be_bytes());
        body.push(code);
        body.extend(bytes);
        self.heap.extend(body);
        id
    }

    /// A `java.lang.String` of a class with the field `value`.
    pub fn string(&mut self, class: u64, text: &str) -> u64 {
        let value = self.primitives(8, text.len() as u32, text.as_bytes());
        self.instance(class, &[("value", Ref(value))])
    }

    /// Says that the objects from now on are of one of Android's heaps, by the number that ART gives it.
    pub fn heap(&mut self, number: u8, name: &str) {
        let name = self.name(name);
        let body = [
            vec![0xfe],
            u32::from(number).to_be_bytes().to_vec(),
            self.id(name),
        ];
        self.heap.extend(body.concat());
    }

    /// A thread that started, as the agent writes it.
    pub fn start_thread(&mut self, serial: u32, thread: u64, name: &str) {
        let name = self.name(name);
        let group = self.name("main");
        let body = [
            serial.to_be_bytes().to_vec(),
            self.id(thread),
            vec![0; 4],
            self.id(name),
            self.id(group),
            self.id(group),
        ];
        self.record(0x0a, &body.concat());
    }

    /// A global reference of native code.
    pub fn native(&mut self, object: u64) {
        self.root(0x01, object);
        self.heap.extend(self.id(0));
    }

    /// The object of a running thread.
    pub fn thread(&mut self, object: u64, serial: u32) {
        self.thread_with(object, serial, u32::MAX);
    }

    /// The object of a running thread with a stack.
    pub fn thread_with(&mut self, object: u64, serial: u32, trace: u32) {
        self.root(0x08, object);
        self.heap.extend(serial.to_be_bytes());
        self.heap.extend(trace.to_be_bytes());
    }

    /// A local variable of a thread.
    pub fn local(&mut self, object: u64, thread: u32) {
        self.root(0x03, object);
        self.heap.extend(thread.to_be_bytes());
        self.heap.extend([0xff; 4]);
    }

    /// A root of a tag without more to say than the object.
    pub fn root(&mut self, tag: u8, object: u64) {
        self.heap.push(tag);
        self.heap.extend(self.id(object));
    }

    /// The heap that the objects after it belong to (Android).
    pub fn heap_of(&mut self, heap: u8, name: &str) {
        let name = self.name(name);
        self.heap.extend([0xfe, 0, 0, 0, heap]);
        let id = self.id(name);
        self.heap.extend(id);
    }

    /// The file.
    pub fn bytes(mut self) -> Vec<u8> {
        let heap = std::mem::take(&mut self.heap);
        self.record(0x1c, &heap);
        self.record(0x2c, &[]);
        let mut file = self.version.as_bytes().to_vec();
        file.push(0);
        file.extend((self.id_bytes as u32).to_be_bytes());
        file.extend([0; 8]);
        file.extend(self.records);
        file
    }

    /// The file, opened.
    pub fn open(self) -> Snapshot {
        open(&self.bytes())
    }
}

/// A file, opened.
pub fn open(bytes: &[u8]) -> Snapshot {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), bytes).expect("written");
    Snapshot::open(file.path(), &OpenOptions::default()).expect("a snapshot")
}
