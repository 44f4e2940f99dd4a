//! The tables that all profiles of a request share. The first entry of each stands for nothing.

use crate::pictures::kinds::{KERNEL, NATIVE};
use crate::pictures::message::Message;
use crate::pictures::profile::Profile;
use crate::pictures::{CLASS_FILE, Kind, kind_of};
use crate::{CUT_OFF, EMPTY, FrameIndex};
use hprof_format::model::Line;
use rustc_hash::FxHashMap;

use super::samples::Sample;
use super::text_value;

/// Fields of `ProfilesDictionary`.
mod field {
    pub const MAPPING: u64 = 1;
    pub const LOCATION: u64 = 2;
    pub const FUNCTION: u64 = 3;
    pub const LINK: u64 = 4;
    pub const STRING: u64 = 5;
    pub const ATTRIBUTE: u64 = 6;
    pub const STACK: u64 = 7;
}

/// A table's entries by their encoding, as no entry may be there twice.
#[derive(Default)]
struct Table(FxHashMap<Vec<u8>, u64>);

impl Table {
    /// The index of an entry, which is written if it is new.
    fn index(&mut self, field: u64, entry: Vec<u8>, out: &mut Message) -> u64 {
        let next = self.0.len() as u64;
        *self.0.entry(entry).or_insert_with_key(|entry| {
            out.bytes(field, entry);
            next
        })
    }
}

/// The dictionary under construction.
pub(super) struct Dictionary {
    message: Message,
    strings: Table,
    attributes: Table,
    functions: Table,
    locations: Table,
    stacks: Table,
    links: Table,
    frames: FxHashMap<FrameIndex, u64>,
}

impl Dictionary {
    pub(super) fn new() -> Self {
        let mut new = Self {
            message: Message::default(),
            strings: Table::default(),
            attributes: Table::default(),
            functions: Table::default(),
            locations: Table::default(),
            stacks: Table::default(),
            links: Table::default(),
            frames: FxHashMap::default(),
        };
        let out = &mut new.message;
        // Code of Java is mapped from no file.
        out.bytes(field::MAPPING, &[]);
        for (table, field) in [
            (&mut new.links, field::LINK),
            (&mut new.strings, field::STRING),
            (&mut new.attributes, field::ATTRIBUTE),
            (&mut new.functions, field::FUNCTION),
            (&mut new.locations, field::LOCATION),
            (&mut new.stacks, field::STACK),
        ] {
            table.index(field, Vec::new(), out);
        }
        new
    }

    /// The finished message.
    pub(super) fn finish(self) -> Message {
        self.message
    }

    pub(super) fn string(&mut self, text: &str) -> u64 {
        let text = text.as_bytes().to_vec();
        self.strings.index(field::STRING, text, &mut self.message)
    }

    fn attribute(&mut self, key: &str, value: &str) -> u64 {
        let mut attribute = Message::default();
        attribute.number(1, self.string(key));
        attribute.bytes(2, &text_value(value).0);
        self.attributes
            .index(field::ATTRIBUTE, attribute.0, &mut self.message)
    }

    fn location(&mut self, name: &str, file: &str, line: u32) -> u64 {
        let kind = match kind_of(name) {
            _ if file == CLASS_FILE => None,
            Kind::Program | Kind::Jdk => Some("jvm"),
            Kind::Native => Some("native"),
            Kind::Kernel => Some("kernel"),
            Kind::Class | Kind::Other => None,
        };
        let mut function = Message::default();
        let symbol = [NATIVE, KERNEL]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix));
        function.number(1, self.string(symbol.unwrap_or(name)));
        function.number(3, self.string(file));
        let function = self
            .functions
            .index(field::FUNCTION, function.0, &mut self.message);
        let mut place = Message::default();
        place.number(1, function);
        place.number(2, u64::from(line));
        let mut location = Message::default();
        location.bytes(3, &place.0);
        if let Some(kind) = kind {
            let kind = self.attribute("profile.frame.type", kind);
            location.numbers(4, &[kind]);
        }
        self.locations
            .index(field::LOCATION, location.0, &mut self.message)
    }

    fn frame(&mut self, profile: &Profile<'_>, at: FrameIndex) -> u64 {
        if let Some(&known) = self.frames.get(&at) {
            return known;
        }
        let frame = profile.stacks.frame(at);
        let line = match frame.line {
            Line::Number(line) => line,
            Line::Unknown | Line::Native => 0,
        };
        let file = frame.source_file.as_deref().unwrap_or_default();
        let location = self.location(&frame.name(), file, line);
        self.frames.insert(at, location);
        location
    }

    /// A `Sample` with its stack, thread, request, values and times.
    pub(super) fn sample(&mut self, profile: &Profile<'_>, sample: &Sample<'_>) -> Message {
        let mut locations = Vec::new();
        if let Some(class) = sample.class {
            locations.push(self.location(class, CLASS_FILE, 0));
        }
        match sample.trace {
            None => locations.push(self.location(CUT_OFF, "", 0)),
            Some(trace) => {
                let frames = profile.stacks.frames_of(trace);
                if frames.is_empty() {
                    locations.push(self.location(EMPTY, "", 0));
                }
                for &at in frames {
                    locations.push(self.frame(profile, at));
                }
            }
        }
        let mut stack = Message::default();
        stack.numbers(1, &locations);
        let stack = self.stacks.index(field::STACK, stack.0, &mut self.message);
        let mut encoded = Message::default();
        encoded.number(1, stack);
        if let Some(thread) = sample.thread {
            let name = (profile.thread_name)(thread);
            let name = name.unwrap_or_else(|| format!("thread {thread}"));
            let name = self.attribute("thread.name", &name);
            encoded.numbers(2, &[name]);
        }
        if let Some(request) = sample.request {
            let mut link = Message::default();
            link.bytes(1, &request.trace);
            link.bytes(2, &request.span);
            let link = self.links.index(field::LINK, link.0, &mut self.message);
            encoded.number(3, link);
        }
        encoded.numbers(4, &sample.values);
        if !sample.times.is_empty() {
            encoded.fixed_numbers(5, &sample.times);
        }
        encoded
    }
}
