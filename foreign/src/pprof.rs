//! Profiles of pprof (<https://github.com/google/pprof>, `proto/profile.proto`), as Go, gperftools
//! and many others write them: a message in the encoding of Protocol Buffers.

use std::ops::Range;

use hprof_format::model::Line;
use hprof_stacks::pictures::CLASS_FILE;
use hprof_stacks::{FrameIndex, Measure};
use rustc_hash::FxHashMap;

use crate::builder::{Builder, ClassIndex};
use crate::{Kind, Profile};

/// A value of a field.
#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message; the error is the place where it is damaged.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for index in 0..10 {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f).checked_shl(7 * index)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Bytes(self.take(8)?),
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Bytes(self.take(4)?),
            _ => return None,
        };
        Some((key >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), usize>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.at;
        if start >= self.bytes.len() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.at = self.bytes.len();
        }
        Some(field.ok_or(start))
    }
}

/// The whole fields of a message inside of another.
fn whole(bytes: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> {
    Fields::of(bytes).map_while(Result::ok)
}

/// Adds the numbers of a repeated field, packed or not.
fn numbers(value: Value<'_>, all: &mut Vec<u64>) {
    match value {
        Value::Number(number) => all.push(number),
        Value::Bytes(bytes) => {
            let mut packed = Fields::of(bytes);
            while let Some(number) = packed.varint() {
                all.push(number);
            }
        }
    }
}

/// The numbers of a message by field; those of fields that come twice are the last.
fn fixed<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut found = [0; N];
    for (field, value) in whole(bytes) {
        let place = usize::try_from(field).ok().and_then(|at| found.get_mut(at));
        if let (Some(place), Value::Number(number)) = (place, value) {
            *place = number;
        }
    }
    found
}

/// The parts of the message.
#[derive(Default)]
struct Message<'a> {
    strings: Vec<&'a [u8]>,
    /// Type and unit of the values.
    types: Vec<[u64; 3]>,
    samples: Vec<&'a [u8]>,
    locations: FxHashMap<u64, &'a [u8]>,
    /// Name and file by number.
    functions: FxHashMap<u64, (u64, u64)>,
    time_nanos: u64,
}

/// True if the start of a file is that of such a message: the types of its values come first, or
/// samples.
pub(crate) fn is_at(head: &[u8]) -> bool {
    let mut fields = Fields::of(head);
    let Some(Ok((1, Value::Bytes(first)))) = fields.next() else {
        return false;
    };
    let mut types = Fields::of(first);
    let is_type = first.len() >= 2
        && first.len() < 24
        && types.all(|field| matches!(field, Ok((1 | 2, Value::Number(_)))));
    is_type && matches!(fields.next(), Some(Ok((1..=14, _))))
}

/// Reads a profile.
pub(crate) fn read(file: &[u8], passed: &mut dyn FnMut(Range<usize>)) -> Profile {
    let mut builder = Builder::new(file.len());
    let mut message = Message::default();
    for field in Fields::of(file) {
        match field {
            Ok((field, value)) => message.take(field, value),
            Err(at) => {
                let lost = file.len() - at;
                let message = format!(
                    "at byte {at}: a field of the profile is damaged or cut; {lost} bytes are not read"
                );
                builder.damage(Some(at), lost, message);
            }
        }
    }
    let created = message.time_nanos / 1_000_000;
    Reader::new(message).add_all(&mut builder);
    passed(0..file.len());
    builder.finish(Kind::Pprof, (created > 0).then_some(created))
}

impl<'a> Message<'a> {
    fn take(&mut self, field: u64, value: Value<'a>) {
        match (field, value) {
            (1, Value::Bytes(bytes)) => self.types.push(fixed(bytes)),
            (2, Value::Bytes(bytes)) => self.samples.push(bytes),
            (4, Value::Bytes(bytes)) => {
                let [_, id] = fixed(bytes);
                self.locations.insert(id, bytes);
            }
            (5, Value::Bytes(bytes)) => {
                let [_, id, name, system_name, file] = fixed(bytes);
                let name = if name == 0 { system_name } else { name };
                self.functions.insert(id, (name, file));
            }
            (6, Value::Bytes(bytes)) => self.strings.push(bytes),
            (9, Value::Number(time)) => self.time_nanos = time,
            _ => {}
        }
    }

    fn string(&self, index: u64) -> std::borrow::Cow<'a, str> {
        let index = usize::try_from(index).ok();
        let bytes = index.and_then(|index| self.strings.get(index)).copied();
        String::from_utf8_lossy(bytes.unwrap_or_default())
    }
}

/// Which measure a value is of, and what it is multiplied with for the builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Column {
    measure: Measure,
    factor: u64,
}

impl Column {
    /// The measure of a type such as `alloc_space` in `bytes`; `None` for what no measure is like.
    fn of(name: &str, unit: &str) -> Option<Self> {
        let nanos = match unit {
            "nanoseconds" => Some(1),
            "microseconds" => Some(1_000),
            "milliseconds" => Some(1_000_000),
            "seconds" => Some(1_000_000_000),
            _ => None,
        };
        let measure = match name {
            "samples" | "sample" => Measure::Samples,
            "cpu" | "time" => Measure::Time,
            "calls" => Measure::Calls,
            "alloc_space" | "alloc" => Measure::AllocatedBytes,
            "alloc_objects" => Measure::AllocatedObjects,
            "inuse_space" | "space" => Measure::LiveBytes,
            "inuse_objects" | "objects" => Measure::LiveObjects,
            "delay" | "lock" => Measure::Contention,
            "wall" => Measure::Wall,
            "native" => Measure::NativeSamples,
            "waits" => Measure::Waits,
            _ if nanos.is_some() => Measure::Time,
            _ if unit == "bytes" => Measure::AllocatedBytes,
            _ => return None,
        };
        let is_time = measure.unit() == "ms";
        match (is_time, nanos) {
            (true, Some(factor)) => Some(Self { measure, factor }),
            // Such as wall-clock time, of which this command knows samples only.
            (false, Some(factor)) => Some(Self {
                measure: Measure::Time,
                factor,
            }),
            (true, None) => None,
            (false, None) => Some(Self { measure, factor: 1 }),
        }
    }
}

struct Reader<'a> {
    message: Message<'a>,
    columns: Vec<Option<Column>>,
    /// The frames of a location, innermost first.
    frames: FxHashMap<u64, Vec<FrameIndex>>,
    /// The locations that stand for the class of objects, in files of this project.
    classes: FxHashMap<u64, ClassIndex>,
}

impl<'a> Reader<'a> {
    fn new(message: Message<'a>) -> Self {
        let mut columns: Vec<Option<Column>> = Vec::new();
        for &[_, name, unit] in &message.types {
            let column = Column::of(&message.string(name), &message.string(unit));
            // A measure that is there twice would be counted twice.
            let is_new = |new: &Column| {
                let mut known = columns.iter().flatten();
                known.all(|known| known.measure != new.measure)
            };
            let column = column.filter(is_new);
            columns.push(column);
        }
        if columns.iter().all(Option::is_none) && !columns.is_empty() {
            // Something is counted.
            columns[0] = Some(Column {
                measure: Measure::Samples,
                factor: 1,
            });
        }
        Self {
            message,
            columns,
            frames: FxHashMap::default(),
            classes: FxHashMap::default(),
        }
    }

    fn add_all(&mut self, builder: &mut Builder) {
        let mut lacking = 0;
        for sample in std::mem::take(&mut self.message.samples) {
            let (mut locations, mut values) = (Vec::new(), Vec::new());
            let mut thread = None;
            for (field, value) in whole(sample) {
                match (field, value) {
                    (1, value) => numbers(value, &mut locations),
                    (2, value) => numbers(value, &mut values),
                    (3, Value::Bytes(label)) => {
                        let [_, key, name] = fixed(label);
                        if name != 0 && self.message.string(key) == "thread" {
                            thread = Some(builder.thread(&self.message.string(name)));
                        }
                    }
                    _ => {}
                }
            }
            let mut frames = Vec::new();
            let mut class = None;
            for (depth, location) in locations.into_iter().enumerate() {
                if !self.frames.contains_key(&location) {
                    let found = self.location(location, builder);
                    self.frames.insert(location, found.unwrap_or_default());
                }
                class =
                    class.or_else(|| self.classes.get(&location).filter(|_| depth == 0).copied());
                if depth == 0 && class.is_some() {
                    continue;
                }
                let found = &self.frames[&location];
                lacking += u64::from(found.is_empty());
                frames.extend(found);
            }
            let trace = builder.trace(thread, &frames);
            for (column, value) in self.columns.iter().zip(values) {
                // Differences between profiles may be negative, which has no meaning here.
                if let (Some(column), Ok(0..)) = (column, i64::try_from(value)) {
                    let cost = value.saturating_mul(column.factor);
                    builder.add(column.measure, trace, class, cost);
                }
            }
        }
        if lacking > 0 {
            let message =
                format!("the profile lacks {lacking} of the locations to which its stacks refer");
            builder.damage(None, 0, message);
        }
    }

    /// The frames of a location, those of inlined methods first.
    fn location(&mut self, id: u64, builder: &mut Builder) -> Option<Vec<FrameIndex>> {
        let message = &self.message;
        let mut frames = Vec::new();
        let mut address = 0;
        for (field, value) in whole(message.locations.get(&id)?) {
            match (field, value) {
                (3, Value::Number(number)) => address = number,
                (4, Value::Bytes(line)) => {
                    let [_, function, line] = fixed(line);
                    let (name, file) = message.functions.get(&function).copied()?;
                    let (name, file) = (message.string(name), message.string(file));
                    if file == CLASS_FILE {
                        self.classes.insert(id, builder.class(&name));
                    }
                    let file = Some(&*file).filter(|file| !file.is_empty());
                    frames.push(builder.named_frame(&name, file, line_of(line)));
                }
                _ => {}
            }
        }
        if frames.is_empty() {
            // Without symbols.
            frames.push(builder.frame("", &format!("0x{address:x}"), None, Line::Unknown));
        }
        Some(frames)
    }
}

fn line_of(line: u64) -> Line {
    match u32::try_from(line) {
        Ok(line) if line > 0 && line <= i32::MAX as u32 => Line::Number(line),
        _ => Line::Unknown,
    }
}
