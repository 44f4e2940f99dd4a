//! Profiles of pprof (<https://github.com/google/pprof>, `proto/profile.proto`), as Go, gperftools
//! and many others write them: a message in the encoding of Protocol Buffers.

mod times;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

use std::ops::Range;

use hprof_format::model::Line;
use hprof_stacks::pictures::CLASS_FILE;
use hprof_stacks::timeline::Window;
use hprof_stacks::{FrameIndex, Measure};
use rustc_hash::FxHashMap;

use crate::builder::{Builder, ClassIndex};
use crate::moments::Moments;
use crate::{Kind, Part, Profile};
use times::Times;
use wire::{Fields, Value, fixed, numbers, whole};

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
    /// The number of functions so far.
    function_count: u64,
    time_nanos: u64,
    duration_nanos: u64,
}

/// Samples or strings that prove a profile which names no types at its start.
const PROOFS: u32 = 4;

/// True if the start of a file is that of such a message. Its fields come in any order: Go begins
/// with the time, Java and C++ with the types of the values. Every field must be laid out as
/// `profile.proto` has it, and one of them must be of a kind that other bytes do not have by chance.
pub(crate) fn is_at(head: &[u8]) -> bool {
    let (mut known, mut samples, mut strings) = (0_u32, 0_u32, 0_u32);
    let mut is_proved = false;
    for field in Fields::of(head) {
        // Damage, or the end of what is looked at.
        let Ok((field, value)) = field else {
            break;
        };
        match (field, value) {
            (1 | 11, Value::Bytes(bytes)) if is_type(bytes) => is_proved = true,
            (2, Value::Bytes(bytes)) if is_laid_out(bytes, &[1, 2], &[1, 2, 3]) => {
                samples += u32::from(!bytes.is_empty());
                is_proved |= samples >= PROOFS;
            }
            (3, Value::Bytes(bytes)) if is_laid_out(bytes, &MAPPING, &[]) => {}
            (4, Value::Bytes(bytes)) if is_laid_out(bytes, &[1, 2, 3, 5], &[4]) => {}
            (5, Value::Bytes(bytes)) if is_laid_out(bytes, &[1, 2, 3, 4, 5], &[]) => {}
            // The first string is the empty one.
            (6, Value::Bytes(bytes)) => {
                strings += u32::from(strings > 0 || bytes.is_empty());
                is_proved |= strings >= PROOFS;
            }
            // Comments may be packed.
            (7..=10 | 12..=15, Value::Number(_)) | (13, Value::Bytes(_)) => {}
            _ => break,
        }
        known += 1;
    }
    is_proved && known > 1
}

/// The fields of a mapping.
const MAPPING: [u64; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/// True for the type and unit of values. Numbers of strings are short.
fn is_type(bytes: &[u8]) -> bool {
    bytes.len() >= 2 && bytes.len() < 24 && is_laid_out(bytes, &[1, 2], &[])
}

/// True if a message has no fields but these numbers and these parts.
fn is_laid_out(bytes: &[u8], numbers: &[u64], parts: &[u64]) -> bool {
    Fields::of(bytes).all(|field| match field {
        Ok((field, Value::Number(_))) => numbers.contains(&field),
        Ok((field, Value::Bytes(_))) => parts.contains(&field),
        Err(_) => false,
    })
}

/// The time that a profile covers, if its samples say when they arose.
pub(crate) fn span(file: &[u8]) -> Option<Window> {
    let mut message = Message::default();
    for (field, value) in whole(file) {
        message.take(field, value);
    }
    Times::of(&message).map(|times| times.span)
}

/// Reads a profile, or the part of it that is wanted.
pub(crate) fn read_part(file: &[u8], part: Part, passed: &mut dyn FnMut(Range<usize>)) -> Profile {
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
    let times = Times::of(&message);
    let mut reader = Reader::new(message, file.len());
    reader.add_all(&mut builder, part, times.as_ref());
    passed(0..file.len());
    let mut profile = builder.finish(Kind::Pprof, (created > 0).then_some(created));
    profile.span = times.as_ref().map(|times| times.span);
    profile.timeline = times
        .filter(|_| part.with_times)
        .map(|times| reader.moments.timeline(times.span));
    profile
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
                // Some writers of .NET number functions by their order, from 1, and state no number.
                self.function_count += 1;
                let id = if id == 0 { self.function_count } else { id };
                self.functions.insert(id, (name, file));
            }
            (6, Value::Bytes(bytes)) => self.strings.push(bytes),
            (9, Value::Number(time)) => self.time_nanos = time,
            (10, Value::Number(length)) => self.duration_nanos = length,
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
pub(crate) struct Column {
    pub(crate) measure: Measure,
    pub(crate) factor: u64,
}

impl Column {
    /// The measure of a type such as `alloc_space` in `bytes`; `None` for what no measure is like.
    pub(crate) fn of(name: &str, unit: &str) -> Option<Self> {
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
            "native_space" => Measure::NativeBytes,
            "native_lock" => Measure::NativeLock,
            "event_count" => Measure::Events,
            "event_time" => Measure::EventTime,
            "event_space" => Measure::EventBytes,
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

/// The labels with the name of a thread: of this project and others, and of Datadog's profilers.
const THREADS: [&str; 2] = ["thread", "thread name"];

/// Frames for each byte of the file, and for any file: samples may name one place with many inlined methods again and
/// again. Profiles of real programs take less than one frame for a byte.
const FRAME_ROOM: (usize, usize) = (4, 1 << 20);

struct Reader<'a> {
    message: Message<'a>,
    /// Frames that stacks may still take.
    frame_room: usize,
    columns: Vec<Option<Column>>,
    /// The frames of a location, innermost first.
    frames: FxHashMap<u64, Vec<FrameIndex>>,
    /// The locations that stand for the class of objects, in files of this project.
    classes: FxHashMap<u64, ClassIndex>,
    moments: Moments,
}

impl<'a> Reader<'a> {
    /// Reads a message of that many bytes.
    fn new(message: Message<'a>, length: usize) -> Self {
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
        let (per_byte, fixed) = FRAME_ROOM;
        Self {
            message,
            frame_room: length.saturating_mul(per_byte).saturating_add(fixed),
            columns,
            frames: FxHashMap::default(),
            classes: FxHashMap::default(),
            moments: Moments::default(),
        }
    }

    fn add_all(&mut self, builder: &mut Builder, part: Part, times: Option<&Times>) {
        let (mut lacking, mut left_out) = (0_u64, 0_u64);
        let columns = self.columns.clone();
        for sample in std::mem::take(&mut self.message.samples) {
            let (mut locations, mut values) = (Vec::new(), Vec::new());
            let (mut thread, mut labelled) = (None, None);
            for (field, value) in whole(sample) {
                match (field, value) {
                    (1, value) => numbers(value, &mut locations),
                    (2, value) => numbers(value, &mut values),
                    (3, Value::Bytes(label)) => {
                        labelled = labelled.or_else(|| times?.label(label));
                        let [_, key, name] = fixed(label);
                        if name != 0 && THREADS.contains(&&*self.message.string(key)) {
                            thread = Some(builder.thread(&self.message.string(name)));
                        }
                    }
                    _ => {}
                }
            }
            let at = times.map(|times| times.at(labelled));
            if let (Some(at), Some(window)) = (at, part.window)
                && !window.contains(at)
            {
                continue;
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
                let taken = found.len().min(self.frame_room);
                self.frame_room -= taken;
                left_out += (found.len() - taken) as u64;
                frames.extend(found.iter().take(taken));
            }
            let trace = builder.trace(thread, &frames);
            for (column, value) in columns.iter().zip(values) {
                // Differences between profiles may be negative, which has no meaning here.
                if let (Some(column), Ok(0..)) = (column, i64::try_from(value)) {
                    let cost = value.saturating_mul(column.factor);
                    builder.add(column.measure, trace, class, cost);
                    let at = at.filter(|_| part.with_times);
                    self.moments.add(column.measure, cost, at, (trace, thread));
                }
            }
        }
        if left_out > 0 {
            let message = format!(
                "the file repeats long stacks; there is no room for {left_out} of their frames"
            );
            builder.damage(None, 0, message);
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
                    // A line of a place without a symbol.
                    if function == 0 {
                        continue;
                    }
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

pub(crate) fn line_of(line: u64) -> Line {
    match u32::try_from(line) {
        Ok(line) if line > 0 && line <= i32::MAX as u32 => Line::Number(line),
        _ => Line::Unknown,
    }
}
