//! Reads a file with profiles of OpenTelemetry: an `ExportProfilesServiceRequest`, or `ProfilesData`, which is laid out alike
//! (`profiles/v1development/profiles.proto` of opentelemetry-proto).

use std::ops::Range;

use hprof_stacks::pictures::CLASS_FILE;
use hprof_stacks::timeline::Window;
use hprof_stacks::{FrameIndex, Measure};
use rustc_hash::FxHashMap;

use super::read::{self, Request, Sent};
use crate::builder::{Builder, ClassIndex};
use crate::moments::Moments;
use crate::notes::{NotShown, Note};
use crate::pprof::{Column, line_of};
use crate::{Kind, Part, Profile, Unreadable};

/// Fields of the dictionary that prove it, if a file begins with that.
const PROOFS: usize = 4;

/// A message at the start of bytes that may be cut: its field, what is there of it, and what follows.
struct Start<'a> {
    field: u64,
    bytes: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Start<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let (key, bytes) = varint(bytes)?;
        let (length, bytes) = varint(bytes)?;
        let length = usize::try_from(length).ok()?.min(bytes.len());
        let (bytes, rest) = bytes.split_at(length);
        (key & 7 == 2).then_some(Self {
            field: key >> 3,
            bytes,
            rest,
        })
    }
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (at, &byte) in bytes.iter().enumerate().take(9) {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

/// True if the start of a file is that of such a message.
pub(crate) fn is_at(head: &[u8]) -> bool {
    match Start::of(head) {
        Some(Start {
            field: 1, bytes, ..
        }) => is_of_resource(bytes),
        Some(Start {
            field: 2, bytes, ..
        }) => is_dictionary(bytes),
        _ => false,
    }
}

/// True for the profiles of a resource: attributes with names, or profiles with types of values.
fn is_of_resource(bytes: &[u8]) -> bool {
    let Some(first) = Start::of(bytes) else {
        return false;
    };
    let scope = match first.field {
        1 if first.bytes.is_empty() => match Start::of(first.rest) {
            Some(next) if next.field == 2 => next.bytes,
            _ => return false,
        },
        1 => return is_attribute(first.bytes),
        2 => first.bytes,
        _ => return false,
    };
    let mut next = Start::of(scope);
    while let Some(Start { field: 1, rest, .. }) = next {
        next = Start::of(rest);
    }
    let profile = next.filter(|next| next.field == 2);
    let kind = profile.and_then(|profile| Start::of(profile.bytes));
    kind.is_some_and(|kind| {
        let numbers = kind.bytes;
        kind.field == 1 && numbers.len() >= 2 && numbers.len() < 24 && numbers[0] & 7 == 0
    })
}

/// True if a resource begins with an attribute: a name, and a value.
fn is_attribute(resource: &[u8]) -> bool {
    let attribute = Start::of(resource).filter(|it| it.field == 1);
    let name = attribute.and_then(|attribute| Start::of(attribute.bytes));
    name.is_some_and(|name| {
        let is_like_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-/".contains(byte);
        let value = Start::of(name.rest);
        name.field == 1
            && !name.bytes.is_empty()
            && name.bytes.iter().all(is_like_name)
            && value.is_some_and(|value| value.field == 2)
    })
}

/// True for a dictionary, of which each table begins with an empty entry.
fn is_dictionary(bytes: &[u8]) -> bool {
    let (mut known, mut last) = (0, 0);
    let mut next = Start::of(bytes);
    while let Some(entry) = next {
        let is_new = entry.field != last;
        if !(1..=7).contains(&entry.field) || is_new && !entry.bytes.is_empty() {
            return false;
        }
        (known, last) = (known + 1, entry.field);
        if known >= PROOFS {
            return true;
        }
        next = Start::of(entry.rest);
    }
    false
}

/// The time that a file covers, if it says when costs arose.
pub(crate) fn span(file: &[u8]) -> Option<Window> {
    times(&read::read(file).ok()?).map(|times| times.span)
}

/// When costs arose.
#[derive(Clone, Copy)]
struct Times {
    span: Window,
}

impl Times {
    /// When a cost arose: costs without a time count at the middle of their profile.
    fn of(sent: &Sent, at: Option<u64>) -> i64 {
        let middle = sent.from.saturating_add(sent.length / 2);
        i64::try_from(at.unwrap_or(middle)).unwrap_or(i64::MAX)
    }
}

/// The times of a request: of its costs, or of several profiles one after the other.
fn times(request: &Request) -> Option<Times> {
    let profiles = &request.profiles;
    let (mut from, mut to) = (i64::MAX, i64::MIN);
    let mut has_times = false;
    for sent in profiles {
        for at in sent.points.iter().filter_map(|point| point.at) {
            let at = i64::try_from(at).unwrap_or(i64::MAX - 1);
            (from, to) = (from.min(at), to.max(at + 1));
            has_times = true;
        }
        if sent.from > 0 {
            let begin = Times::of(sent, Some(sent.from));
            let end = Times::of(sent, Some(sent.from.saturating_add(sent.length)));
            (from, to) = (from.min(begin), to.max(end));
        }
    }
    let first = profiles.first().map_or(0, |sent| sent.from);
    let are_several = profiles.iter().any(|sent| sent.from != first);
    let span = Window { from, to };
    (from < to && (has_times || are_several)).then_some(Times { span })
}

/// Reads a file, or the part of it that is wanted.
///
/// # Errors
/// If it is damaged: its tables stand at its end.
pub(crate) fn read_part(
    file: &[u8],
    part: Part,
    passed: &mut dyn FnMut(Range<usize>),
) -> Result<Profile, Unreadable> {
    let request = read::read_with_places(file);
    passed(0..file.len());
    let request = request.map_err(Unreadable::Otlp)?;
    let times = times(&request);
    let mut reader = Reader {
        builder: Builder::new(file.len()),
        request: &request,
        frames: FxHashMap::default(),
        classes: FxHashMap::default(),
        moments: Moments::default(),
    };
    let mut kinds: Vec<(Measure, &Sent)> = Vec::new();
    let mut left_out: Vec<NotShown> = Vec::new();
    for sent in &request.profiles {
        let column = Column::of(&sent.kind, &sent.unit);
        let column = column.unwrap_or(Column {
            measure: Measure::Samples,
            factor: 1,
        });
        // Another kind of the same measure would be counted twice.
        let known = kinds.iter().find(|known| known.0 == column.measure);
        match known {
            Some((_, first)) if (&first.kind, &first.unit) != (&sent.kind, &sent.unit) => {
                leave_out(&mut left_out, sent);
                continue;
            }
            Some(_) => {}
            None => kinds.push((column.measure, sent)),
        }
        // What is alive does not add up over time.
        let is_state = matches!(column.measure, Measure::LiveBytes | Measure::LiveObjects);
        let is_later = |other: &Sent| other.kind == sent.kind && other.from > sent.from;
        if is_state && request.profiles.iter().any(is_later) {
            continue;
        }
        reader.add(sent, column, part, times);
    }
    let created = request.profiles.iter().map(|sent| sent.from);
    let created = created.filter(|&from| from > 0).min();
    let Reader {
        builder, moments, ..
    } = reader;
    let mut profile = builder.finish(Kind::Otlp, created.map(|nanos| nanos / 1_000_000));
    profile.notes.extend(Note::not_shown(left_out));
    profile.span = times.map(|times| times.span);
    profile.timeline = times
        .filter(|_| part.with_times)
        .map(|times| moments.timeline(times.span));
    Ok(profile)
}

/// Counts costs that are not shown.
fn leave_out(left_out: &mut Vec<NotShown>, sent: &Sent) {
    let count = sent.points.len() as u64;
    match left_out.iter_mut().find(|known| known.event == sent.kind) {
        Some(known) => known.count += count,
        None => left_out.push(NotShown {
            event: sent.kind.clone(),
            count,
        }),
    }
}

struct Reader<'a> {
    builder: Builder,
    request: &'a Request,
    /// The frames of the request's names.
    frames: FxHashMap<u32, FrameIndex>,
    /// The names that stand for the class of objects, in files of this project.
    classes: FxHashMap<u32, ClassIndex>,
    moments: Moments,
}

impl Reader<'_> {
    fn add(&mut self, sent: &Sent, column: Column, part: Part, times: Option<Times>) {
        for point in &sent.points {
            let at = Times::of(sent, point.at);
            let is_outside = times.is_some() && part.window.is_some_and(|it| !it.contains(at));
            if is_outside {
                continue;
            }
            let thread = point.thread.map(|thread| {
                let name = &self.request.threads[thread as usize];
                self.builder.thread(name)
            });
            let (mut frames, mut class) = (Vec::new(), None);
            let stack = &self.request.stacks[point.stack as usize];
            for (depth, &name) in stack.iter().rev().enumerate() {
                match self.frame(name) {
                    Some(frame) => frames.push(frame),
                    None if depth == 0 => class = self.classes.get(&name).copied(),
                    None => {}
                }
            }
            let trace = self.builder.trace(thread, &frames);
            let value = point.value.saturating_mul(column.factor);
            self.builder.add(column.measure, trace, class, value);
            let at = (times.is_some() && part.with_times).then_some(at);
            self.moments.add(column.measure, value, at, (trace, thread));
        }
    }

    /// The frame of a name; none for the class of objects.
    fn frame(&mut self, name: u32) -> Option<FrameIndex> {
        if let Some(&known) = self.frames.get(&name) {
            return Some(known);
        }
        if self.classes.contains_key(&name) {
            return None;
        }
        let text = &self.request.names[name as usize];
        let place = &self.request.places[name as usize];
        if place.file == CLASS_FILE {
            let class = self.builder.class(text);
            self.classes.insert(name, class);
            return None;
        }
        let file = Some(&*place.file).filter(|file| !file.is_empty());
        let line = line_of(place.line);
        // As the agent names such frames.
        let frame = match &*place.kind {
            kind @ ("native" | "kernel") => {
                let prefix = format!("[{kind}] ");
                let text = text.strip_prefix(&prefix).unwrap_or(text);
                let text = format!("{prefix}{text}");
                self.builder.frame("", &text, file, line)
            }
            _ => self.builder.named_frame(text, file, line),
        };
        self.frames.insert(name, frame);
        Some(frame)
    }
}

#[cfg(test)]
mod tests;
