//! A writer and a reader of class files for tests, sharing nothing with the crate.

#![allow(dead_code, reason = "each test file uses its own part")]

use hprof_instrument::{Hooks, Member, MethodHook, MethodInfo, MethodNumber, Shape};

pub const HOOKS: Hooks<'static> = Hooks {
    class: b"test/Hooks",
    enter: b"enter",
    exit: b"exit",
    repair: b"repair",
    count: b"count",
};

/// A field whose writes become calls of [`SETTER`].
pub const SIZE: Member<'static> = Member {
    class: b"test/One",
    name: b"size",
    descriptor: b"J",
};
pub const SETTER: Member<'static> = Member {
    class: b"test/Two",
    name: b"set",
    descriptor: b"(Ltest/One;J)V",
};

/// Chooses every method, with numbers from `first` on.
pub fn all(first: u32, shape: Shape) -> impl FnMut(&MethodInfo<'_>) -> Option<MethodHook> {
    let mut number = first;
    move |_| {
        number += 1;
        Some(MethodHook {
            number: MethodNumber(number - 1),
            shape,
        })
    }
}

#[derive(Clone, Default, Debug)]
pub struct CodeSpec {
    pub max_stack: u16,
    pub max_locals: u16,
    pub bytes: Vec<u8>,
    pub exceptions: Vec<[u16; 4]>,
    /// Name and content.
    pub attributes: Vec<(&'static str, Vec<u8>)>,
}

pub struct ClassBuilder {
    /// 65535 in classes that use preview features.
    pub minor: u16,
    major: u16,
    pool: Vec<u8>,
    count: u16,
    this_class: u16,
    super_class: u16,
    fields: Vec<u8>,
    field_count: u16,
    methods: Vec<u8>,
    method_count: u16,
}

impl ClassBuilder {
    pub fn new(major: u16, name: &str) -> Self {
        let mut builder = Self {
            minor: 0,
            major,
            pool: Vec::new(),
            count: 1,
            this_class: 0,
            super_class: 0,
            fields: Vec::new(),
            field_count: 0,
            methods: Vec::new(),
            method_count: 0,
        };
        builder.this_class = builder.class(name);
        builder.super_class = builder.class("java/lang/Object");
        builder
    }

    pub fn entry(&mut self, bytes: &[u8]) -> u16 {
        self.pool.extend_from_slice(bytes);
        self.count += 1;
        self.count - 1
    }

    pub fn utf8(&mut self, text: &str) -> u16 {
        let mut bytes = vec![1];
        bytes.extend((text.len() as u16).to_be_bytes());
        bytes.extend(text.bytes());
        self.entry(&bytes)
    }

    pub fn class(&mut self, name: &str) -> u16 {
        let [high, low] = self.utf8(name).to_be_bytes();
        self.entry(&[7, high, low])
    }

    pub fn method_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        let class = self.class(class).to_be_bytes();
        let name = self.utf8(name).to_be_bytes();
        let descriptor = self.utf8(descriptor).to_be_bytes();
        let pair = self.entry(&[12, name[0], name[1], descriptor[0], descriptor[1]]);
        let pair = pair.to_be_bytes();
        self.entry(&[10, class[0], class[1], pair[0], pair[1]])
    }

    pub fn field_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        let method = self.method_ref(class, name, descriptor);
        let at = self.pool.len() - 5;
        self.pool[at] = 9;
        method
    }

    pub fn field(&mut self, access: u16, name: &str, descriptor: &str) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        for part in [access, name, descriptor, 0] {
            self.fields.extend(part.to_be_bytes());
        }
        self.field_count += 1;
    }

    pub fn method(&mut self, access: u16, name: &str, descriptor: &str, code: Option<&CodeSpec>) {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let code_name = self.utf8("Code");
        let names: Vec<u16> = code.map_or(vec![], |code| {
            code.attributes
                .iter()
                .map(|(name, _)| self.utf8(name))
                .collect()
        });
        for part in [access, name, descriptor, u16::from(code.is_some())] {
            self.methods.extend(part.to_be_bytes());
        }
        self.method_count += 1;
        let Some(code) = code else { return };
        let mut content = Vec::new();
        content.extend(code.max_stack.to_be_bytes());
        content.extend(code.max_locals.to_be_bytes());
        content.extend((code.bytes.len() as u32).to_be_bytes());
        content.extend(&code.bytes);
        content.extend((code.exceptions.len() as u16).to_be_bytes());
        content.extend(
            code.exceptions
                .iter()
                .flatten()
                .flat_map(|part| part.to_be_bytes()),
        );
        content.extend((code.attributes.len() as u16).to_be_bytes());
        for ((_, attribute), name) in code.attributes.iter().zip(names) {
            content.extend(name.to_be_bytes());
            content.extend((attribute.len() as u32).to_be_bytes());
            content.extend(attribute);
        }
        self.methods.extend(code_name.to_be_bytes());
        self.methods.extend((content.len() as u32).to_be_bytes());
        self.methods.extend(content);
    }

    pub fn build(&self) -> Vec<u8> {
        let mut class = vec![0xca, 0xfe, 0xba, 0xbe];
        class.extend(self.minor.to_be_bytes());
        class.extend(self.major.to_be_bytes());
        class.extend(self.count.to_be_bytes());
        class.extend(&self.pool);
        for part in [0x21, self.this_class, self.super_class, 0, self.field_count] {
            class.extend(part.to_be_bytes());
        }
        class.extend(&self.fields);
        class.extend(self.method_count.to_be_bytes());
        class.extend(&self.methods);
        class.extend([0, 0]);
        class
    }
}

/// A cursor that panics at the end.
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }
    pub fn u8(&mut self) -> u8 {
        self.take(1)[0]
    }
    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }
    pub fn u32(&mut self) -> usize {
        u32::from_be_bytes(self.take(4).try_into().unwrap()) as usize
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeView {
    pub max_stack: u16,
    pub max_locals: u16,
    pub bytes: Vec<u8>,
    pub exceptions: Vec<[u16; 4]>,
    pub attributes: Vec<(String, Vec<u8>)>,
}

impl CodeView {
    pub fn attribute(&self, name: &str) -> Option<&[u8]> {
        let found = self.attributes.iter().find(|(other, _)| other == name);
        found.map(|(_, content)| content.as_slice())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassView {
    /// Tag and content of each entry, `None` where there is none.
    pub pool: Vec<Option<(u8, Vec<u8>)>>,
    /// From the access flags to the fields.
    pub head: Vec<u8>,
    /// Access, name, descriptor and code.
    pub methods: Vec<(u16, String, String, Option<CodeView>)>,
}

impl ClassView {
    pub fn utf8(&self, index: u16) -> String {
        match &self.pool[usize::from(index)] {
            Some((1, text)) => String::from_utf8(text.clone()).unwrap(),
            other => panic!("{index}: {other:?}"),
        }
    }

    fn part(&self, index: u16, tag: u8, at: usize) -> u16 {
        match &self.pool[usize::from(index)] {
            Some((found, content)) if *found == tag => Cursor(&content[at..]).u16(),
            other => panic!("{index}: {other:?}"),
        }
    }

    pub fn class_name(&self, index: u16) -> String {
        self.utf8(self.part(index, 7, 0))
    }

    /// Class, name and descriptor of a method reference.
    pub fn method_ref(&self, index: u16) -> (String, String, String) {
        let pair = self.part(index, 10, 2);
        let class = self.class_name(self.part(index, 10, 0));
        (
            class,
            self.utf8(self.part(pair, 12, 0)),
            self.utf8(self.part(pair, 12, 2)),
        )
    }

    pub fn integer(&self, index: u16) -> i32 {
        match &self.pool[usize::from(index)] {
            Some((3, value)) => i32::from_be_bytes(value.as_slice().try_into().unwrap()),
            other => panic!("{index}: {other:?}"),
        }
    }

    pub fn parse(class: &[u8]) -> Self {
        let mut cursor = Cursor(class);
        assert_eq!(cursor.u32(), 0xcafe_babe);
        cursor.u32();
        let mut view = Self {
            pool: vec![None],
            head: vec![],
            methods: vec![],
        };
        let count = usize::from(cursor.u16());
        while view.pool.len() < count {
            let tag = cursor.u8();
            let len = match tag {
                1 => usize::from(cursor.u16()),
                7 | 8 | 16 | 19 | 20 => 2,
                15 => 3,
                5 | 6 => 8,
                _ => 4,
            };
            view.pool.push(Some((tag, cursor.take(len).to_vec())));
            if len == 8 && tag != 1 {
                view.pool.push(None);
            }
        }
        let start = cursor.0;
        cursor.take(6);
        let interfaces = cursor.u16();
        cursor.take(usize::from(interfaces) * 2);
        for _ in 0..cursor.u16() {
            cursor.take(6);
            for _ in 0..cursor.u16() {
                cursor.u16();
                let len = cursor.u32();
                cursor.take(len);
            }
        }
        view.head = start[..start.len() - cursor.0.len()].to_vec();
        for _ in 0..cursor.u16() {
            let access = cursor.u16();
            let (name, descriptor) = (view.utf8(cursor.u16()), view.utf8(cursor.u16()));
            let mut code = None;
            for _ in 0..cursor.u16() {
                let attribute = view.utf8(cursor.u16());
                let len = cursor.u32();
                let content = cursor.take(len);
                if attribute == "Code" {
                    code = Some(view.code(content));
                }
            }
            view.methods.push((access, name, descriptor, code));
        }
        for _ in 0..cursor.u16() {
            cursor.u16();
            let len = cursor.u32();
            cursor.take(len);
        }
        assert!(cursor.0.is_empty(), "bytes after the class");
        view
    }

    fn code(&self, content: &[u8]) -> CodeView {
        let mut cursor = Cursor(content);
        let (max_stack, max_locals, len) = (cursor.u16(), cursor.u16(), cursor.u32());
        let bytes = cursor.take(len).to_vec();
        let exceptions = (0..cursor.u16())
            .map(|_| [0; 4].map(|_| cursor.u16()))
            .collect();
        let mut attributes = Vec::new();
        for _ in 0..cursor.u16() {
            let name = self.utf8(cursor.u16());
            let len = cursor.u32();
            attributes.push((name, cursor.take(len).to_vec()));
        }
        assert!(cursor.0.is_empty(), "bytes after the code");
        CodeView {
            max_stack,
            max_locals,
            bytes,
            exceptions,
            attributes,
        }
    }
}

/// A type in a frame: tag and operand.
pub type FrameType = (u8, u16);

/// A stack map frame with everything spelled out: address, locals, stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub pc: usize,
    pub locals: Vec<FrameType>,
    pub stack: Vec<FrameType>,
}

fn frame_types(cursor: &mut Cursor<'_>, count: u16) -> Vec<FrameType> {
    let mut types = Vec::new();
    for _ in 0..count {
        let tag = cursor.u8();
        types.push((tag, if tag >= 7 { cursor.u16() } else { 0 }));
    }
    types
}

/// Spells out the frames of a StackMapTable of a method that starts with `locals`.
pub fn frames(content: &[u8], mut locals: Vec<FrameType>) -> Vec<Frame> {
    let mut cursor = Cursor(content);
    let mut frames = Vec::new();
    let mut next = 0;
    for _ in 0..cursor.u16() {
        let kind = cursor.u8();
        let delta = match kind {
            0..=63 => u16::from(kind),
            64..=127 => u16::from(kind) - 64,
            128..=246 => panic!("frame {kind}"),
            _ => cursor.u16(),
        };
        let mut stack = vec![];
        match kind {
            64..=127 | 247 => stack = frame_types(&mut cursor, 1),
            248..=250 => locals.truncate(locals.len() - usize::from(251 - kind)),
            252..=254 => locals.extend(frame_types(&mut cursor, u16::from(kind) - 251)),
            255 => {
                let count = cursor.u16();
                locals = frame_types(&mut cursor, count);
                let count = cursor.u16();
                stack = frame_types(&mut cursor, count);
            }
            _ => (),
        }
        let pc = next + usize::from(delta);
        next = pc + 1;
        frames.push(Frame {
            pc,
            locals: locals.clone(),
            stack,
        });
    }
    assert!(cursor.0.is_empty(), "bytes after the frames");
    frames
}

/// Addresses of all instructions, by noak's reader.
pub fn instruction_addresses(class: &[u8], method: usize) -> Vec<usize> {
    use noak::reader::{Class, attributes::Code};
    let class = Class::new(class).expect("class");
    let method = class
        .methods()
        .iter()
        .nth(method)
        .expect("method")
        .expect("method");
    let code = method.attributes().find_attribute::<Code<'_>>(class.pool());
    let instructions = code.expect("code").expect("code").raw_instructions();
    instructions
        .map(|found| found.expect("instruction").0.as_u32() as usize)
        .collect()
}
