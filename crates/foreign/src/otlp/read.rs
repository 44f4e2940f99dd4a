//! Reads an `ExportProfilesServiceRequest` of any sender.
//!
//! Versions 1.7 to 1.11 of opentelemetry-proto number the fields of profiles and samples differently and do not say
//! their version. `layout.rs` finds it by the types of the fields, over all samples of a request.

mod layout;
mod tables;

#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::pprof::wire::{Fields, Value, fixed, numbers, whole};
use layout::{Layout, Signs};
use tables::Tables;

/// The attributes of samples that say where a sample is from, as collectors of whole machines state them.
const PLACES: [&str; 8] = [
    "service.name",
    "process.pid",
    "process.executable.name",
    "container.id",
    "container.name",
    "host.name",
    "k8s.pod.name",
    "k8s.namespace.name",
];

/// Why a request cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unread {
    /// Its bytes are no message, or it is cut.
    #[error("byte {0} of the request is no part of an ExportProfilesServiceRequest")]
    Damaged(usize),
    /// It has several dictionaries, as requests behind each other have: numbers of one mean nothing in another.
    #[error("the bytes are several requests behind each other; each is to stand by itself")]
    Several,
    /// Its stacks repeat frames more often than its size allows.
    #[error("the stacks of the request repeat their frames too often for its size")]
    TooLong,
}

/// A cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The place of its stack in [`Request::stacks`].
    pub stack: u32,
    /// The place of its thread in [`Request::threads`], if it has one.
    pub thread: Option<u32>,
    /// Nanoseconds since 1970-01-01 UTC, if the sender says when it arose.
    pub at: Option<u64>,
    /// The cost, in the profile's unit.
    pub value: u64,
}

/// Where the code of a frame is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Its file; empty if the sender does not say it.
    pub file: String,
    /// Its line; 0 if the sender does not say it.
    pub line: u64,
    /// The type of the frame, such as `jvm`, `native` or `kernel`; empty if the sender does not say it.
    pub kind: String,
}

/// A profile of a request, or the part of it that has the same attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The attributes of resource, profile and samples as text, by key.
    pub labels: Vec<(String, String)>,
    /// The type of its values, such as `cpu`.
    pub kind: String,
    /// Their unit, such as `nanoseconds`.
    pub unit: String,
    /// Its beginning, in nanoseconds since 1970-01-01 UTC; 0 if the sender does not say it.
    pub from: u64,
    /// Its length in nanoseconds.
    pub length: u64,
    /// Its costs.
    pub points: Vec<Point>,
}

/// A request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// The names of frames.
    pub names: Vec<String>,
    /// By name: where its code is, if that was asked for; then names of several lines are several.
    pub places: Vec<Place>,
    /// Stacks as places of names, the outermost first.
    pub stacks: Vec<Box<[u32]>>,
    /// The names of threads.
    pub threads: Vec<String>,
    /// The profiles that have costs.
    pub profiles: Vec<Sent>,
    /// Profiles in all, those without costs too.
    pub received: u64,
}

/// A profile before its tables are known.
struct Raw<'a> {
    /// The attributes of its resource.
    resource: usize,
    bytes: &'a [u8],
}

/// Reads a request without compression.
///
/// # Errors
/// If it is no such message, or repeats frames without end.
pub fn read(request: &[u8]) -> Result<Request, Unread> {
    read_request(request, false)
}

/// Reads a request, as [`read`] does, with the places of frames.
///
/// # Errors
/// As [`read`] has them.
pub fn read_with_places(request: &[u8]) -> Result<Request, Unread> {
    read_request(request, true)
}

fn read_request(request: &[u8], has_places: bool) -> Result<Request, Unread> {
    let mut dictionary: &[u8] = &[];
    let mut resources: Vec<Vec<(String, String)>> = Vec::new();
    let mut profiles = Vec::new();
    for field in Fields::of(request) {
        match field.map_err(Unread::Damaged)? {
            (1, Value::Bytes(of_resource)) => {
                let mut attributes = Vec::new();
                check(of_resource, request)?;
                for (field, value) in whole(of_resource) {
                    match (field, value) {
                        (1, Value::Bytes(resource)) => attributes = labels(resource),
                        (2, Value::Bytes(scope)) => {
                            check(scope, request)?;
                            for (field, value) in whole(scope) {
                                if let (2, Value::Bytes(bytes)) = (field, value) {
                                    let resource = resources.len();
                                    profiles.push(Raw { resource, bytes });
                                }
                            }
                        }
                        _ => {}
                    }
                }
                resources.push(attributes);
            }
            (2, Value::Bytes(bytes)) if dictionary.is_empty() => dictionary = bytes,
            (2, Value::Bytes(bytes)) if !bytes.is_empty() => return Err(Unread::Several),
            // An empty message of a later version.
            (_, _) => {}
        }
    }
    let mut signs = Signs::default();
    for profile in &profiles {
        check(profile.bytes, request)?;
        signs.look(profile.bytes);
    }
    check(dictionary, request)?;
    let tables = Tables::new(dictionary);
    let layout = signs.found(&tables);
    let mut reader = Reader::new(tables, layout, request.len());
    reader.has_places = has_places;
    for profile in &profiles {
        reader.profile(&resources[profile.resource], profile.bytes)?;
    }
    let mut request = reader.request;
    request.received = profiles.len() as u64;
    Ok(request)
}

/// Refuses a message that is damaged or cut.
fn check(bytes: &[u8], within: &[u8]) -> Result<(), Unread> {
    let start = bytes.as_ptr().addr().saturating_sub(within.as_ptr().addr());
    Fields::of(bytes).try_for_each(|field| match field {
        Ok(_) => Ok(()),
        Err(at) => Err(Unread::Damaged(start + at)),
    })
}

/// The attributes of a resource.
fn labels(resource: &[u8]) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    for (field, value) in whole(resource) {
        let (1, Value::Bytes(attribute)) = (field, value) else {
            continue;
        };
        let (mut key, mut text) = (String::new(), None);
        for (field, value) in whole(attribute) {
            match (field, value) {
                (1, Value::Bytes(bytes)) => key = String::from_utf8_lossy(bytes).into_owned(),
                (2, Value::Bytes(any)) => text = tables::text(any),
                _ => {}
            }
        }
        if let Some(text) = text.filter(|_| !key.is_empty()) {
            labels.push((key, text));
        }
    }
    labels
}

/// Frames for each byte of the request, and for any request. Real ones take less than one for a byte.
const FRAME_ROOM: (usize, usize) = (4, 1 << 20);
/// The attribute of a location that says what kind of code it is.
const FRAME_TYPE: &str = "profile.frame.type";
/// Bytes of names with places for each byte of the request, and for any request: a long name may be in many lines.
const NAME_ROOM: (usize, usize) = (16, 4 << 20);
/// Deeper stacks lose their outermost frames.
const MAX_DEPTH: usize = 2048;

/// Labels, and the costs of each kind of values under them.
type Part = (Vec<(String, String)>, Vec<Vec<Point>>);

/// The labels and the thread of a sample.
#[derive(Clone, Copy)]
struct Source {
    labels: usize,
    thread: Option<u32>,
}

/// A request under construction.
struct Reader<'a> {
    tables: Tables<'a>,
    layout: Layout,
    request: Request,
    room: usize,
    has_places: bool,
    /// Bytes that names with places may still take.
    name_room: usize,
    names: FxHashMap<String, u32>,
    /// As `names`, where places count.
    placed: FxHashMap<(String, Place), u32>,
    threads: FxHashMap<String, u32>,
    /// Stacks by their place in the table, or by the range of a profile's locations.
    known: FxHashMap<(u64, u64), u32>,
    /// The places of names of a location, innermost first.
    locations: FxHashMap<u64, Box<[u32]>>,
}

impl<'a> Reader<'a> {
    fn new(tables: Tables<'a>, layout: Layout, length: usize) -> Self {
        let (per_byte, fixed) = FRAME_ROOM;
        Self {
            tables,
            layout,
            request: Request::default(),
            room: length.saturating_mul(per_byte).saturating_add(fixed),
            has_places: false,
            name_room: length
                .saturating_mul(NAME_ROOM.0)
                .saturating_add(NAME_ROOM.1),
            names: FxHashMap::default(),
            placed: FxHashMap::default(),
            threads: FxHashMap::default(),
            known: FxHashMap::default(),
            locations: FxHashMap::default(),
        }
    }

    fn profile(&mut self, resource: &[(String, String)], bytes: &'a [u8]) -> Result<(), Unread> {
        let head = self.layout.head(bytes);
        let mut base = resource.to_vec();
        for attribute in &head.attributes {
            if let Some((key, value)) = self.tables.attribute(*attribute) {
                set(&mut base, &key, value);
            }
        }
        if self.layout == Layout::Ranges {
            // Ranges refer to the locations of this profile.
            self.known.clear();
        }
        let kinds = head.kinds.iter();
        let kinds: Vec<(String, String)> = kinds
            .map(|&[_, kind, unit]| (self.tables.string(kind), self.tables.string(unit)))
            .collect();
        // One for each set of labels and kind of values.
        let mut parts: Vec<Part> = Vec::new();
        let mut froms: FxHashMap<Vec<u64>, Source> = FxHashMap::default();
        for sample in &head.samples {
            let sample = self.layout.sample(sample);
            let from = match froms.get(&sample.attributes) {
                Some(&known) => known,
                None => {
                    let from = self.from(&sample.attributes, &base, &mut parts, kinds.len());
                    froms.insert(sample.attributes.clone(), from);
                    from
                }
            };
            let stack = self.stack(&sample, &head.locations)?;
            let point = |at: Option<u64>, value: u64| Point {
                stack,
                thread: from.thread,
                at,
                value,
            };
            let of_kinds = &mut parts[from.labels].1;
            let times = &sample.times;
            if self.layout == Layout::Ranges && kinds.len() > 1 {
                for (points, &value) in of_kinds.iter_mut().zip(&sample.values) {
                    points.push(point(times.first().copied(), value));
                }
                continue;
            }
            let Some(points) = of_kinds.first_mut() else {
                continue;
            };
            match (sample.values.as_slice(), times.as_slice()) {
                // Events that count once each.
                ([], times) => points.extend(times.iter().map(|&at| point(Some(at), 1))),
                (values, times) if values.len() == times.len() => {
                    let both = times.iter().zip(values);
                    points.extend(both.map(|(&at, &value)| point(Some(at), value)));
                }
                (values, times) => {
                    let sum = values
                        .iter()
                        .fold(0, |sum: u64, &value| sum.saturating_add(value));
                    points.push(point(times.first().copied(), sum));
                }
            }
        }
        for (labels, of_kinds) in parts {
            for (points, (kind, unit)) in of_kinds.into_iter().zip(&kinds) {
                let mut points = points;
                // Negative values have no meaning here.
                points.retain(|point| point.value > 0 && i64::try_from(point.value).is_ok());
                if !points.is_empty() {
                    self.request.profiles.push(Sent {
                        labels: labels.clone(),
                        kind: kind.clone(),
                        unit: unit.clone(),
                        from: head.from,
                        length: head.length,
                        points,
                    });
                }
            }
        }
        Ok(())
    }

    /// The labels and the thread of samples with these attributes.
    fn from(
        &mut self,
        attributes: &[u64],
        base: &[(String, String)],
        parts: &mut Vec<Part>,
        kinds: usize,
    ) -> Source {
        let mut labels = base.to_vec();
        let (mut name, mut id) = (None, None);
        for &attribute in attributes {
            match self.tables.attribute(attribute) {
                Some((key, value)) if key == "thread.name" => name = Some(value),
                Some((key, value)) if key == "thread.id" => id = Some(value),
                Some((key, value)) if PLACES.contains(&&*key) => set(&mut labels, &key, value),
                _ => {}
            }
        }
        let thread = name.or_else(|| id.map(|id| format!("thread {id}")));
        let thread = thread.filter(|name| !name.is_empty());
        let thread = thread.map(|name| place(&mut self.threads, &mut self.request.threads, name));
        let known = parts.iter().position(|part| part.0 == labels);
        let labels = known.unwrap_or_else(|| {
            parts.push((labels, vec![Vec::new(); kinds]));
            parts.len() - 1
        });
        Source { labels, thread }
    }

    /// The place of a sample's stack.
    fn stack(&mut self, sample: &layout::Sample, of_profile: &[u64]) -> Result<u32, Unread> {
        if let Some(&known) = self.known.get(&sample.stack) {
            return Ok(known);
        }
        let (start, length) = sample.stack;
        let locations = match self.layout {
            Layout::Ranges => {
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                let end = start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
                let end = end.min(of_profile.len());
                of_profile.get(start..end).unwrap_or_default().to_vec()
            }
            _ => self.tables.stack(start),
        };
        let mut frames = Vec::new();
        for location in locations {
            if !self.locations.contains_key(&location) {
                let found = self.location(location);
                self.locations.insert(location, found);
            }
            frames.extend_from_slice(&self.locations[&location]);
            if frames.len() >= MAX_DEPTH {
                frames.truncate(MAX_DEPTH);
                break;
            }
        }
        self.room = self.room.checked_sub(frames.len()).ok_or(Unread::TooLong)?;
        frames.reverse();
        let at = self.request.stacks.len() as u32;
        self.request.stacks.push(frames.into());
        self.known.insert(sample.stack, at);
        Ok(at)
    }

    /// The names of a location, those of inlined methods first.
    fn location(&mut self, at: u64) -> Box<[u32]> {
        let mut frames = Vec::new();
        let mut address = 0;
        let (mut lines, mut attributes) = (Vec::new(), Vec::new());
        for (field, value) in whole(self.tables.location(at)) {
            match (field, value) {
                (2, Value::Number(number)) => address = number,
                (3, Value::Bytes(line)) => lines.push(fixed::<3>(line)),
                (4, value) if self.has_places => numbers(value, &mut attributes),
                _ => {}
            }
        }
        let mut kind = String::new();
        for attribute in attributes {
            if let Some((key, value)) = self.tables.attribute(attribute)
                && key == FRAME_TYPE
            {
                kind = value;
            }
        }
        for [_, function, line] in lines.into_iter().take(MAX_DEPTH) {
            if let Some(name) = self.tables.function(function) {
                let place = || Place {
                    file: self.tables.file(function),
                    line,
                    kind: kind.clone(),
                };
                let place = self.has_places.then(place);
                frames.push(self.name(name, place));
            }
        }
        if frames.is_empty() {
            // Code without symbols.
            let place = self.has_places.then(Place::default);
            frames.push(self.name(format!("0x{address:x}"), place));
        }
        frames.into()
    }

    /// The place of a frame's name among those of the request.
    fn name(&mut self, name: String, place_of: Option<Place>) -> u32 {
        let Self {
            request, placed, ..
        } = self;
        let Some(of) = place_of else {
            return place(&mut self.names, &mut request.names, name);
        };
        let mut key = (name, of);
        if let Some(&known) = placed.get(&key) {
            return known;
        }
        let bytes = key.0.len() + key.1.file.len() + key.1.kind.len();
        match self.name_room.checked_sub(bytes) {
            Some(left) => self.name_room = left,
            None => key.1 = Place::default(),
        }
        *placed.entry(key).or_insert_with_key(|(name, of)| {
            request.names.push(name.clone());
            request.places.push(of.clone());
            request.names.len() as u32 - 1
        })
    }
}

/// Sets the value of a key.
fn set(labels: &mut Vec<(String, String)>, key: &str, value: String) {
    match labels.iter_mut().find(|label| label.0 == key) {
        Some(label) => label.1 = value,
        None => labels.push((key.to_owned(), value)),
    }
}

/// The place of a text in a list without repetitions.
fn place(index: &mut FxHashMap<String, u32>, list: &mut Vec<String>, text: String) -> u32 {
    *index.entry(text).or_insert_with_key(|text| {
        list.push(text.clone());
        list.len() as u32 - 1
    })
}

/// The numbers of a repeated field whose numbers have eight bytes each, packed or not.
fn fixed_numbers(value: Value<'_>, all: &mut Vec<u64>) {
    match value {
        Value::Number(number) => all.push(number),
        Value::Bytes(bytes) => {
            let (eights, _) = bytes.as_chunks::<8>();
            all.extend(eights.iter().map(|it| u64::from_le_bytes(*it)));
        }
    }
}
