//! Events one by one, with their fields and stacks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use clap::ValueEnum;
use hprof_foreign::jfr::any::{self, Event, Field, Read, Shape, Type, Visitor};
use hprof_format::ids::TraceSerial;
use serde_json::{Value, json};

/// The order of listed events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// By their start, the first in front.
    Start,
    /// By their duration, the longest in front.
    Time,
    /// By their bytes, the most in front.
    Bytes,
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// The event has none.
    None,
    /// A number.
    Number(i64),
    /// A number of bytes.
    Bytes(i64),
    /// A duration in nanoseconds.
    Nanos(u64),
    /// A number with a fraction.
    Fraction(f64),
    /// True or false.
    Flag(bool),
    /// A text.
    Text(String),
}

impl Cell {
    /// The value for JSON. Durations are in nanoseconds.
    pub fn json(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Number(number) | Self::Bytes(number) => json!(number),
            Self::Nanos(nanos) => json!(nanos),
            Self::Fraction(number) => json!(number),
            Self::Flag(is_set) => json!(is_set),
            Self::Text(text) => json!(text),
        }
    }

    /// The value for people.
    pub fn text(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Number(number) | Self::Bytes(number) => number.to_string(),
            Self::Nanos(nanos) => millis(*nanos),
            Self::Fraction(number) => number.to_string(),
            Self::Flag(is_set) => is_set.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// Nanoseconds as milliseconds for people.
fn millis(nanos: u64) -> String {
    format!("{:.3} ms", nanos as f64 / 1e6)
}

/// An event.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its start, in nanoseconds since 1970-01-01 UTC.
    pub at: i64,
    /// Its duration in nanoseconds, 0 if it has none.
    pub duration: u64,
    /// The values of the fields of [`Lines::fields`].
    pub cells: Vec<Cell>,
    /// Its stack.
    pub trace: Option<TraceSerial>,
}

/// Events of one type.
pub struct Lines {
    /// The fields that are listed.
    pub fields: Vec<Field>,
    /// The events in order, as many as were asked for.
    pub lines: Vec<Line>,
    read: Read,
}

impl Lines {
    /// The frames of an event, the innermost first.
    pub fn frames(&self, line: &Line) -> Vec<String> {
        let stacks = &self.read.stacks;
        let frames = line.trace.map_or(&[][..], |trace| stacks.frames_of(trace));
        let frames = frames.iter().map(|&frame| stacks.frame(frame));
        frames
            .map(|frame| format!("{} ({})", frame.name(), frame.place()))
            .collect()
    }
}

/// Fields that are listed otherwise: start and duration as such, the stack as frames.
const APART: [&str; 3] = ["startTime", "duration", "stackTrace"];

/// Reads the first events of a type in an order.
pub fn read(
    file: &[u8],
    name: &str,
    of: &Type,
    order: Order,
    most: usize,
    passed: &mut dyn FnMut(Range<usize>),
) -> Lines {
    let fields = of.fields.iter();
    let fields: Vec<Field> = fields
        .filter(|field| !APART.contains(&&*field.name))
        .cloned()
        .collect();
    let mut reader = Reader {
        name,
        fields: &fields,
        bytes: of.bytes_field(),
        order,
        most,
        number: 0,
        first: BinaryHeap::new(),
    };
    let read = any::read(file, &mut reader, passed);
    let first = reader.first.into_sorted_vec();
    Lines {
        lines: first.into_iter().map(|it| it.line).collect(),
        fields,
        read,
    }
}

/// An event with its place in the order: the key, then its start, then its number.
struct Placed {
    key: (Reverse<u64>, i64, u64),
    line: Line,
}

impl PartialEq for Placed {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Placed {}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Placed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

struct Reader<'a> {
    name: &'a str,
    fields: &'a [Field],
    bytes: Option<&'a str>,
    order: Order,
    most: usize,
    number: u64,
    /// The first events, the last of them on top.
    first: BinaryHeap<Placed>,
}

impl Visitor for Reader<'_> {
    fn wants(&self, name: &str) -> bool {
        name == self.name
    }

    fn event(&mut self, event: &mut Event<'_, '_, '_>) {
        self.number += 1;
        let size = match (self.order, self.bytes) {
            (Order::Start, _) | (Order::Bytes, None) => 0,
            (Order::Time, _) => event.duration,
            (Order::Bytes, Some(field)) => {
                u64::try_from(event.number(field).unwrap_or(0)).unwrap_or(0)
            }
        };
        let key = (Reverse(size), event.at, self.number);
        if self.first.len() >= self.most {
            if self.first.peek().is_none_or(|last| last.key <= key) {
                return;
            }
            self.first.pop();
        }
        let line = Line {
            at: event.at,
            duration: event.duration,
            cells: self.fields.iter().map(|it| cell(event, it)).collect(),
            trace: event.trace(),
        };
        self.first.push(Placed { key, line });
    }
}

/// The value of a field of an event.
pub fn cell(event: &mut Event<'_, '_, '_>, field: &Field) -> Cell {
    let name = &*field.name;
    let cell = match field.shape {
        Shape::Number => event.number(name).map(Cell::Number),
        Shape::Bytes => event.number(name).map(Cell::Bytes),
        Shape::Time => event.nanos(name).map(Cell::Nanos),
        Shape::Fraction => event.fraction(name).map(Cell::Fraction),
        Shape::Flag => event.number(name).map(|it| Cell::Flag(it != 0)),
        Shape::Text => {
            let text = event.text(name);
            (!text.is_empty()).then(|| Cell::Text(text.into_owned()))
        }
    };
    cell.unwrap_or(Cell::None)
}
