//! Recordings made by hand.

#![allow(dead_code, reason = "each test file uses a part")]

/// A compressed integer.
pub fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

pub fn numbers(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|&it| number(it)).collect()
}

/// An event with its size, which takes three bytes.
pub fn event(type_id: u64, body: &[u8]) -> Vec<u8> {
    let type_id = number(type_id);
    let size = 3 + type_id.len() + body.len();
    assert!(size < 1 << 21, "{size}");
    let size = [
        size as u8 | 0x80,
        (size >> 7) as u8 | 0x80,
        (size >> 14) as u8,
    ];
    [&size[..], &type_id, body].concat()
}

/// A chunk of events, the first of which is its metadata.
pub fn chunk(events: &[Vec<u8>]) -> Vec<u8> {
    let events = events.concat();
    let mut chunk = b"FLR\0\0\x02\0\0".to_vec();
    for word in [68 + events.len() as u64, 68, 68, 0, 0, 0, 1_000_000_000] {
        chunk.extend(word.to_be_bytes());
    }
    chunk.extend([0, 0, 0, 1]);
    [chunk, events].concat()
}

/// The strings and the tree of a metadata event.
#[derive(Default)]
pub struct Metadata {
    pub strings: Vec<Vec<u8>>,
    pub classes: Vec<Vec<u8>>,
}

impl Metadata {
    pub fn string(&mut self, text: &str) -> u64 {
        let encoded = [&[3][..], &number(text.len() as u64), text.as_bytes()].concat();
        let known = self.strings.iter().position(|it| *it == encoded);
        let index = known.unwrap_or_else(|| {
            self.strings.push(encoded);
            self.strings.len() - 1
        });
        index as u64
    }

    /// An element, whose children are bytes already.
    pub fn element(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        children: &[Vec<u8>],
    ) -> Vec<u8> {
        let mut bytes = number(self.string(name));
        bytes.extend(number(attributes.len() as u64));
        for (key, value) in attributes {
            let (key, value) = (self.string(key), self.string(value));
            bytes.extend(numbers(&[key, value]));
        }
        bytes.extend(number(children.len() as u64));
        bytes.extend(children.concat());
        bytes
    }

    /// Adds a type; fields are named, of a type, and `pool`, `array` or neither.
    pub fn class(&mut self, id: u64, name: &str, fields: &[(&str, u64, &str)]) {
        let mut all = Vec::new();
        for &(name, of, form) in fields {
            let of = of.to_string();
            let mut attributes = vec![("name", name), ("class", &*of)];
            match form {
                "pool" => attributes.push(("constantPool", "true")),
                "array" => attributes.push(("dimension", "1")),
                _ => {}
            }
            all.push(self.element("field", &attributes, &[]));
        }
        let id = id.to_string();
        let class = self.element("class", &[("id", &id), ("name", name)], &all);
        self.classes.push(class);
    }

    /// The types by which samples have stacks and threads.
    pub fn of_samples() -> Self {
        let mut all = Self::default();
        all.class(10, "int", &[]);
        all.class(11, "java.lang.String", &[]);
        all.class(
            20,
            "jdk.types.Method",
            &[("type", 23, "pool"), ("name", 24, "pool")],
        );
        all.class(
            21,
            "jdk.types.StackFrame",
            &[("method", 20, "pool"), ("lineNumber", 10, "")],
        );
        all.class(22, "jdk.types.StackTrace", &[("frames", 21, "array")]);
        all.class(23, "java.lang.Class", &[("name", 24, "pool")]);
        all.class(24, "jdk.types.Symbol", &[("string", 11, "")]);
        all.class(25, "java.lang.Thread", &[("osThreadId", 10, "")]);
        let fields = [("sampledThread", 25, "pool"), ("stackTrace", 22, "pool")];
        all.class(30, "jdk.ExecutionSample", &fields);
        all
    }

    pub fn event(mut self) -> Vec<u8> {
        let classes = std::mem::take(&mut self.classes);
        let inner = self.element("metadata", &[], &classes);
        let root = self.element("root", &[], &[inner]);
        let mut body = numbers(&[0, 0, 1, self.strings.len() as u64]);
        body.extend(self.strings.concat());
        body.extend(root);
        event(0, &body)
    }
}

/// A checkpoint of pools: type, number of entries as claimed, bytes of entries.
pub fn checkpoint(pools: &[(u64, u64, Vec<u8>)]) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 1];
    body.extend(number(pools.len() as u64));
    for (of, count, entries) in pools {
        body.extend(numbers(&[*of, *count]));
        body.extend(entries);
    }
    event(1, &body)
}

pub fn text(text: &[u8]) -> Vec<u8> {
    [&[5][..], &number(text.len() as u64), text].concat()
}
