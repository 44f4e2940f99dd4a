//! The format of pprof (<https://github.com/google/pprof>, `proto/profile.proto`): a gzipped message
//! in the encoding of Protocol Buffers (<https://protobuf.dev/programming-guides/encoding/>).
//!
//! The message needs few of the encoding's wire types only, so it is written by [`Message`] and not by a
//! library that would come with a code generator.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_format::ids::TraceSerial;
use hprof_format::model::Line;

use super::CLASS_FILE;
use super::message::Message;
use super::profile::Profile;
use crate::call_tree::{CUT_OFF, EMPTY};
use crate::table::{Frame, FrameIndex};
use crate::weights::{Measure, Weight};

/// The tables of the message, filled while samples are written.
#[derive(Default)]
struct Tables {
    strings: HashMap<String, u64>,
    string_list: Vec<String>,
    functions: HashMap<(u64, u64), u64>,
    frames: HashMap<FrameIndex, u64>,
    /// By name and file.
    others: HashMap<(String, &'static str), u64>,
    /// Locations and functions, encoded.
    message: Message,
    locations: u64,
}

impl Tables {
    fn string(&mut self, text: &str) -> u64 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        let next = self.string_list.len() as u64;
        self.string_list.push(text.to_owned());
        self.strings.insert(text.to_owned(), next);
        next
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let key = (self.string(name), self.string(file));
        let next = self.functions.len() as u64 + 1;
        if let Some(&known) = self.functions.get(&key) {
            return known;
        }
        self.functions.insert(key, next);
        let mut function = Message::default();
        function.number(1, next);
        function.number(2, key.0);
        function.number(3, key.0);
        function.number(4, key.1);
        self.message.bytes(5, &function.0);
        next
    }

    fn location(&mut self, name: &str, file: &str, line: u32) -> u64 {
        let mut place = Message::default();
        place.number(1, self.function(name, file));
        place.number(2, u64::from(line));
        self.locations += 1;
        let mut location = Message::default();
        location.number(1, self.locations);
        location.bytes(4, &place.0);
        self.message.bytes(4, &location.0);
        self.locations
    }

    fn frame(&mut self, at: FrameIndex, frame: &Frame) -> u64 {
        if let Some(&known) = self.frames.get(&at) {
            return known;
        }
        let line = match frame.line {
            Line::Number(line) => line,
            Line::Unknown | Line::Native => 0,
        };
        let file = frame.source_file.as_deref().unwrap_or_default();
        let location = self.location(&frame.name(), file, line);
        self.frames.insert(at, location);
        location
    }

    fn other(&mut self, name: &str, file: &'static str) -> u64 {
        let key = (name.to_owned(), file);
        if let Some(&known) = self.others.get(&key) {
            return known;
        }
        let location = self.location(name, file, 0);
        self.others.insert(key, location);
        location
    }
}

/// The costs of one stack in every measure.
struct Sample<'a> {
    trace: Option<TraceSerial>,
    class: Option<&'a str>,
    values: Vec<u64>,
}

/// Type and unit of a measure, by the words that pprof's users know from Go.
pub const fn sample_type(measure: Measure) -> (&'static str, &'static str) {
    match measure {
        Measure::Samples => ("samples", "count"),
        Measure::Time => ("cpu", "milliseconds"),
        Measure::Calls => ("calls", "count"),
        Measure::AllocatedBytes => ("alloc_space", "bytes"),
        Measure::AllocatedObjects => ("alloc_objects", "count"),
        Measure::LiveBytes => ("inuse_space", "bytes"),
        Measure::LiveObjects => ("inuse_objects", "count"),
        Measure::Contention => ("delay", "milliseconds"),
        Measure::Wall => ("wall", "count"),
        Measure::NativeSamples => ("native", "count"),
        Measure::Waits => ("waits", "milliseconds"),
        Measure::NativeBytes => ("native_space", "bytes"),
        Measure::NativeLock => ("native_lock", "milliseconds"),
        Measure::Events => ("event_count", "count"),
        Measure::EventTime => ("event_time", "milliseconds"),
        Measure::EventBytes => ("event_space", "bytes"),
    }
}

/// Writes a profile, gzipped as pprof wants it.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write(profile: &Profile<'_>, out: impl Write) -> io::Result<()> {
    let mut out = GzEncoder::new(out, Compression::default());
    out.write_all(&message(profile))?;
    out.finish()?.flush()
}

/// The message without compression.
fn message(profile: &Profile<'_>) -> Vec<u8> {
    let mut tables = Tables::default();
    // The first string must be empty.
    tables.string("");
    let mut message = Message::default();
    for weights in &profile.weights {
        let (name, unit) = sample_type(weights.measure);
        let mut value_type = Message::default();
        value_type.number(1, tables.string(name));
        value_type.number(2, tables.string(unit));
        message.bytes(1, &value_type.0);
    }
    for sample in samples(profile) {
        let encoded = encode(profile, &sample, &mut tables);
        message.bytes(2, &encoded.0);
    }
    for remark in profile.remarks {
        let remark = tables.string(remark);
        message.number(13, remark);
    }
    message.0.append(&mut tables.message.0);
    if let Some(first) = profile.weights.first() {
        let (name, _) = sample_type(first.measure);
        message.number(14, tables.string(name));
    }
    for text in &tables.string_list {
        message.bytes(6, text.as_bytes());
    }
    message.0
}

/// The rows of all measures, those of one stack and class together.
fn samples<'a>(profile: &'a Profile<'_>) -> Vec<Sample<'a>> {
    let mut all: Vec<Sample<'a>> = Vec::new();
    let mut index: HashMap<(TraceSerial, Option<&'a str>), usize> = HashMap::new();
    let measures = profile.weights.len();
    for (measure, weights) in profile.weights.iter().enumerate() {
        for Weight {
            trace,
            value,
            class,
        } in &weights.rows
        {
            let class = class.as_deref();
            let at = *index.entry((*trace, class)).or_insert_with(|| {
                all.push(Sample {
                    trace: Some(*trace),
                    class,
                    values: vec![0; measures],
                });
                all.len() - 1
            });
            all[at].values[measure] += value;
        }
    }
    let missing: Vec<u64> = profile.weights.iter().map(|w| w.missing()).collect();
    if missing.iter().any(|&value| value > 0) {
        all.push(Sample {
            trace: None,
            class: None,
            values: missing,
        });
    }
    all
}

fn encode(profile: &Profile<'_>, sample: &Sample<'_>, tables: &mut Tables) -> Message {
    let mut locations = Vec::new();
    if let Some(class) = sample.class {
        locations.push(tables.other(class, CLASS_FILE));
    }
    match sample.trace {
        None => locations.push(tables.other(CUT_OFF, "")),
        Some(trace) => {
            let frames = profile.stacks.frames_of(trace);
            if frames.is_empty() {
                locations.push(tables.other(EMPTY, ""));
            }
            for &at in frames {
                locations.push(tables.frame(at, profile.stacks.frame(at)));
            }
        }
    }
    let mut encoded = Message::default();
    encoded.numbers(1, &locations);
    encoded.numbers(2, &sample.values);
    let trace = sample.trace.and_then(|trace| profile.stacks.trace(trace));
    if let Some(thread) = trace.and_then(|trace| trace.thread) {
        let name = (profile.thread_name)(thread);
        let name = name.unwrap_or_else(|| format!("thread {thread}"));
        let mut label = Message::default();
        label.number(1, tables.string("thread"));
        label.number(2, tables.string(&name));
        encoded.bytes(3, &label.0);
    }
    encoded
}
