//! Writes the body of a record as its description has it, and notes what it writes.

/// The values of a record's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// All bits 0.
    Least,
    /// All bits 1.
    Most,
    /// The highest bit only, which makes signed numbers the least.
    Sign,
    /// Each byte differs from those before, so that fields taken for one another are noticed.
    Distinct,
}

impl Values {
    pub const ALL: [Self; 4] = [Self::Least, Self::Most, Self::Sign, Self::Distinct];
}

/// The types of values: code, and width, 0 for that of identifiers.
pub const TYPES: [(u8, usize, &str); 9] = [
    (2, 0, "object"),
    (4, 1, "boolean"),
    (5, 2, "char"),
    (6, 4, "float"),
    (7, 8, "double"),
    (8, 1, "byte"),
    (9, 2, "short"),
    (10, 4, "int"),
    (11, 8, "long"),
];

/// Writes the body of a record.
pub struct Maker {
    /// The body so far.
    pub body: Vec<u8>,
    /// The values of the fields, as a reader should show them.
    pub expected: Vec<u64>,
    /// The fields in words.
    pub described: String,
    id: usize,
    values: Values,
    /// Which of the row's variants to write.
    variant: usize,
    /// The number of entries in lists.
    length: usize,
    last: u8,
    /// False while the entries of a list after the first are written.
    describes: bool,
}

impl Maker {
    pub fn new(id: usize, values: Values, variant: usize, length: usize) -> Self {
        Self {
            body: Vec::new(),
            expected: Vec::new(),
            described: String::new(),
            id,
            values,
            variant,
            length,
            last: 0,
            describes: true,
        }
    }

    fn describe(&mut self, width: &str, name: &str) {
        if self.describes {
            if !self.described.is_empty() && !self.described.ends_with('[') {
                self.described.push_str(", ");
            }
            self.described.push_str(width);
            self.described.push(' ');
            self.described.push_str(name);
        }
    }

    fn value(&mut self, width: usize) -> u64 {
        let mut bytes = vec![0; width];
        match self.values {
            Values::Least => {}
            Values::Most => bytes.fill(0xff),
            Values::Sign => bytes[0] = 0x80,
            Values::Distinct => {
                for byte in &mut bytes {
                    self.last = self.last.wrapping_add(1).max(1);
                    *byte = self.last;
                }
            }
        }
        self.put(&bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> u64 {
        self.body.extend_from_slice(bytes);
        bytes
            .iter()
            .fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    fn field(&mut self, width: usize, words: &str, name: &str) {
        self.describe(words, name);
        let value = self.value(width);
        self.expected.push(value);
    }

    pub fn u1(&mut self, name: &str) {
        self.field(1, "u1", name);
    }

    pub fn u2(&mut self, name: &str) {
        self.field(2, "u2", name);
    }

    pub fn u4(&mut self, name: &str) {
        self.field(4, "u4", name);
    }

    pub fn u8(&mut self, name: &str) {
        self.field(8, "u8", name);
    }

    pub fn id(&mut self, name: &str) {
        self.field(self.id, "id", name);
    }

    /// An identifier that readers pass over.
    pub fn reserved(&mut self) {
        self.describe("id", "reserved");
        self.value(self.id);
    }

    /// A frame's number, which is not negative but for -1.
    pub fn frame(&mut self, name: &str) {
        self.describe("i4", name);
        let number: u32 = match self.values {
            Values::Least => 0,
            Values::Most => u32::MAX,
            Values::Sign => 0x7fff_ffff,
            Values::Distinct => 0x0102_0304,
        };
        self.put(&number.to_be_bytes());
        self.expected.push(u64::from(number));
    }

    pub fn u4_count(&mut self) {
        self.put(&(self.length as u32).to_be_bytes());
    }

    fn u2_count(&mut self, count: usize) {
        self.put(&(count as u16).to_be_bytes());
    }

    /// The rest of the body.
    pub fn bytes(&mut self, name: &str) {
        self.describe("u1*", name);
        for _ in 0..self.length {
            let byte = self.value(1);
            self.expected.push(byte);
        }
    }

    /// Bytes behind their number.
    pub fn u4_bytes(&mut self, name: &str) {
        self.describe("u4", &format!("number of {name}"));
        self.u4_count();
        self.bytes(name);
    }

    /// Entries behind their number.
    pub fn list(&mut self, name: &str, count: fn(&mut Self), entry: fn(&mut Self)) {
        self.describe("u4", &format!("number of {name}"));
        count(self);
        self.entries(self.length, |m, _| entry(m));
    }

    /// Entries behind their number and another field.
    pub fn counted_list(&mut self, name: &str, other: fn(&mut Self), entry: fn(&mut Self)) {
        self.describe("u4", &format!("number of {name}"));
        self.u4_count();
        other(self);
        self.entries(self.length, |m, _| entry(m));
    }

    fn entries(&mut self, count: usize, entry: impl Fn(&mut Self, usize)) {
        if self.describes {
            self.described.push_str(", [");
        }
        for index in 0..count {
            entry(self, index);
            self.describes = false;
        }
        self.describes = true;
        self.described.push_str("]*");
    }

    /// Entries with a value, or the type alone, of each type. Variant 1 has them the other way
    /// round.
    pub fn typed_list(&mut self, name: &str, start: fn(&mut Self), with_value: bool) {
        let count = if self.length == 0 { 0 } else { TYPES.len() };
        self.describe("u2", &format!("number of {name}"));
        self.u2_count(count);
        self.entries(count, |m, index| {
            let index = if m.variant == 0 {
                index
            } else {
                TYPES.len() - 1 - index
            };
            start(m);
            let (code, width, kind) = TYPES[index];
            m.describe("u1", "type");
            m.put(&[code]);
            m.expected.push(u64::from(code));
            if with_value {
                m.describe("value", "of that type");
                let width = if width == 0 { m.id } else { width };
                let value = match kind {
                    "boolean" => m.put(&[u8::from(m.values != Values::Least)]),
                    _ => m.value(width),
                };
                m.expected.push(value);
            }
        });
    }

    /// The type of elements: that of the variant.
    pub fn element_type(&mut self) {
        self.describe("u1", "element type");
        let (code, ..) = TYPES[1 + self.variant];
        self.put(&[code]);
        self.expected.push(u64::from(code));
    }

    /// Number, type and elements of a primitive array.
    pub fn elements(&mut self) {
        self.describe("u4", "number of elements");
        self.u4_count();
        self.element_type();
        let (_, width, _) = TYPES[1 + self.variant];
        self.describe("value*", "elements");
        for _ in 0..self.length * width {
            let byte = self.value(1);
            self.expected.push(byte);
        }
    }

    /// A heap dump with as many roots of unknown kind.
    pub fn sub_record(&mut self) {
        self.describe("sub-record*", "heap");
        for _ in 0..self.length {
            self.put(&[0xff]);
            let object = self.value(self.id);
            self.expected.push(object);
        }
    }
}
