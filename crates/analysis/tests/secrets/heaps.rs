//! Heaps with secrets in every kind of place.

use crate::common::made::Made;
use crate::common::made::Put::{Byte, Int, Long, Ref};

/// A generator of numbers with a seed (xorshift64*).
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A text of 8 to 39 letters and digits that no other place has.
    pub fn text(&mut self) -> String {
        const LETTERS: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let length = 8 + self.below(32);
        let mut text = String::new();
        let mut last = 0;
        while (text.len() as u64) < length {
            // Four equal letters of UTF-16 are a window that tells nothing.
            let step = 1 + self.below(LETTERS.len() as u64 - 1) as usize;
            last = (last + step) % LETTERS.len();
            text.push(char::from(LETTERS[last]));
        }
        text
    }

    /// Bytes of whole elements.
    fn elements(&mut self, width: usize) -> Vec<u8> {
        let count = 8 / width + self.below(12) as usize;
        (0..count * width).map(|_| self.next() as u8 | 1).collect()
    }
}

/// A kind of place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    /// A string of a customer.
    Name,
    /// Two strings with one array, one of them of a customer, one of an order.
    Shared,
    /// A string of an order.
    Label,
    /// A string that nothing refers to.
    Lost,
    /// A string that a static field of a customer refers to.
    StaticText,
    /// The value of a system property.
    Property,
    /// Its name.
    PropertyName,
    /// The name of a thread, a string.
    ThreadField,
    /// An array of a customer.
    Key,
    /// An array of an order.
    Numbers,
    /// An array that nothing refers to.
    Garbage,
    /// A field of 8 bytes of a customer.
    Account,
    /// Two neighbouring fields of 4 bytes of an order.
    Pair,
    /// A static field of a customer.
    Static,
    /// A static field of an order.
    OtherStatic,
    /// The name of a class.
    ClassName,
    /// A name in a record of a started thread.
    ThreadName,
    /// A string outside of the heap that names nothing.
    Symbol,
    /// A record of unknown kind.
    Record,
}

/// A secret: where it is, and its bytes in the file.
pub struct Secret {
    pub spot: Spot,
    pub bytes: Vec<u8>,
}

pub struct Heap {
    pub file: Vec<u8>,
    pub secrets: Vec<Secret>,
}

struct Maker {
    numbers: Numbers,
    made: Made,
    secrets: Vec<Secret>,
    string: u64,
    has_chars: bool,
}

impl Maker {
    fn note(&mut self, spot: Spot, bytes: &[u8]) {
        let bytes = bytes.to_vec();
        self.secrets.push(Secret { spot, bytes });
    }

    /// The array of a secret string, and its coder.
    fn characters(&mut self, spot: Spot) -> (u64, i8) {
        let text = self.numbers.text();
        let (code, width, coder, bytes) = if self.has_chars {
            let units = text.encode_utf16().flat_map(u16::to_be_bytes);
            (5, 2, 0, units.collect::<Vec<u8>>())
        } else if self.numbers.below(2) == 0 {
            (8, 1, 0, text.into_bytes())
        } else {
            // As a text that is not Latin-1 is.
            let units = text.encode_utf16().flat_map(u16::to_le_bytes);
            (8, 1, 1, units.collect())
        };
        self.note(spot, &bytes);
        let count = bytes.len() / width;
        (self.made.primitives(code, count as u32, &bytes), coder)
    }

    fn string_of(&mut self, value: u64, coder: i8) -> u64 {
        let fields = [("value", Ref(value)), ("coder", Byte(coder))];
        self.made.instance(self.string, &fields)
    }

    fn string(&mut self, spot: Spot) -> u64 {
        let (value, coder) = self.characters(spot);
        self.string_of(value, coder)
    }

    /// A string of a known text.
    fn named(&mut self, spot: Spot, text: &str) -> u64 {
        let bytes: Vec<u8> = match self.has_chars {
            true => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            false => text.as_bytes().to_vec(),
        };
        self.note(spot, &bytes);
        let code = if self.has_chars { 5 } else { 8 };
        let value = self.made.primitives(code, text.len() as u32, &bytes);
        self.string_of(value, 0)
    }

    /// An array of numbers of any type.
    fn array(&mut self, spot: Spot) -> u64 {
        let types = [
            (4, 1),
            (5, 2),
            (6, 4),
            (7, 8),
            (8, 1),
            (9, 2),
            (10, 4),
            (11, 8),
        ];
        let (code, width) = types[self.numbers.below(8) as usize];
        let bytes = self.numbers.elements(width);
        self.note(spot, &bytes);
        let count = (bytes.len() / width) as u32;
        self.made.primitives(code, count, &bytes)
    }

    fn long(&mut self, spot: Spot) -> i64 {
        let number = (self.numbers.next() | 0x0101_0101_0101_0101) as i64;
        self.note(spot, &number.to_be_bytes());
        number
    }
}

/// The heap of a seed.
pub fn heap(seed: u64) -> Heap {
    let mut numbers = Numbers::new(seed);
    let (version, id_bytes) = match numbers.below(3) {
        0 => ("JAVA PROFILE 1.0.1", 4),
        1 => ("JAVA PROFILE 1.0.3", 4),
        _ => ("JAVA PROFILE 1.0.2", 8),
    };
    let has_chars = numbers.below(3) == 0;
    let mut made = Made::of(version, id_bytes);
    let object = made.object();
    let fields = [("value", Ref(0)), ("coder", Byte(0)), ("hash", Int(0))];
    let string = made.class("java.lang.String", object, &fields);
    let mut maker = Maker {
        numbers,
        made,
        secrets: Vec::new(),
        string,
        has_chars,
    };
    fill(&mut maker, object);
    let file = maker.made.bytes();
    Heap {
        file,
        secrets: maker.secrets,
    }
}

fn fill(maker: &mut Maker, object: u64) {
    let symbol = maker.numbers.text();
    maker.note(Spot::Symbol, symbol.as_bytes());
    maker.made.name(&symbol);
    let name = maker.numbers.text();
    maker.note(Spot::ClassName, name.as_bytes());
    maker.made.class(&name, object, &[]);
    let unknown = maker.numbers.text();
    maker.note(Spot::Record, unknown.as_bytes());
    maker.made.record(0x77, unknown.as_bytes());

    let motto = maker.string(Spot::StaticText);
    let statics = [
        ("serial", Long(maker.long(Spot::Static))),
        ("motto", Ref(motto)),
    ];
    let fields = [
        ("name", Ref(0)),
        ("account", Long(0)),
        ("key", Ref(0)),
        ("shared", Ref(0)),
    ];
    let customer = maker
        .made
        .class_with("com.example.Customer", object, &fields, &statics, 0);
    let statics = [("limit", Long(maker.long(Spot::OtherStatic)))];
    let fields = [
        ("label", Ref(0)),
        ("low", Int(0)),
        ("high", Int(0)),
        ("numbers", Ref(0)),
        ("same", Ref(0)),
    ];
    let order = maker
        .made
        .class_with("com.example.Order", object, &fields, &statics, 0);
    for _ in 0..1 + maker.numbers.below(3) {
        let (array, coder) = maker.characters(Spot::Shared);
        let shared = maker.string_of(array, coder);
        let same = maker.string_of(array, coder);
        let values = [
            ("name", Ref(maker.string(Spot::Name))),
            ("account", Long(maker.long(Spot::Account))),
            ("key", Ref(maker.array(Spot::Key))),
            ("shared", Ref(shared)),
        ];
        let held = maker.made.instance(customer, &values);
        let pair = maker.long(Spot::Pair);
        let values = [
            ("label", Ref(maker.string(Spot::Label))),
            ("low", Int((pair >> 32) as i32)),
            ("high", Int(pair as i32)),
            ("numbers", Ref(maker.array(Spot::Numbers))),
            ("same", Ref(same)),
        ];
        let order = maker.made.instance(order, &values);
        maker.made.root(0xff, held);
        maker.made.root(0xff, order);
        maker.string(Spot::Lost);
        maker.array(Spot::Garbage);
    }
    properties(maker, object);
    let fields = [("name", Ref(0)), ("tid", Long(0))];
    let thread = maker.made.class("java.lang.Thread", object, &fields);
    let name = maker.string(Spot::ThreadField);
    let thread = maker.made.instance(thread, &[("name", Ref(name))]);
    let name = maker.numbers.text();
    maker.note(Spot::ThreadName, name.as_bytes());
    maker.made.start_thread(1, thread, &name);
}

/// A `java.util.Properties` with an entry of a name that tells of a secret.
fn properties(maker: &mut Maker, object: u64) {
    let entry = "java.util.concurrent.ConcurrentHashMap$Node";
    let fields = [
        ("hash", Int(0)),
        ("key", Ref(0)),
        ("val", Ref(0)),
        ("next", Ref(0)),
    ];
    let entry = maker.made.class(entry, object, &fields);
    let names = ["db.password", "api.token", "AWS_SECRET_ACCESS_KEY"];
    let name = names[maker.numbers.below(3) as usize];
    let key = maker.named(Spot::PropertyName, name);
    let value = maker.string(Spot::Property);
    let node = [("key", Ref(key)), ("val", Ref(value))];
    let node = maker.made.instance(entry, &node);
    maker.made.root(0xff, node);
}
