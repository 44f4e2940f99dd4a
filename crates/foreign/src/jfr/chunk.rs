//! One chunk: its head, and the pass over its events.

use std::ops::Range;

use thiserror::Error;

use super::bytes::Cursor;
use super::metadata::Metadata;
use super::plan::Plans;
use super::pools::Pools;

/// The numbers of the events that make up the format.
const METADATA: u64 = 0;
const CHECKPOINT: u64 = 1;

/// The bytes in front of a head that is no chunk's own: one entry, of key 1, of as many bytes as a head has.
/// Since JDK 14, JVMs write such a copy of a chunk's head into the chunk each time they flush it.
const BEFORE_COPY: &[u8] = &[1, 1, Head::LENGTH as u8];

/// Where the data of a cut recording may be whole.
const REMEDY: &str = "Chunks that the JVM ended are in the recording's repository, a folder named by date and process \
    in the folder for temporary files, or in that of -XX:FlightRecorderOptions=repository=FOLDER. \
    `jfr assemble FOLDER whole.jfr` makes one recording of them";

/// Why a head cannot be used, in words that follow "a chunk".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum BadHead {
    #[error("has no whole head")]
    Cut,
    #[error("is of version {major}.{minor}, which is not known")]
    Version { major: u16, minor: u16 },
    #[error("has integers that are not compressed, which is not known")]
    NotCompressed,
}

/// The head of a chunk.
#[derive(Debug, Clone)]
pub(super) struct Head {
    /// The bytes of the chunk; 0 while it is written.
    pub(super) size: u64,
    /// Where its metadata is.
    metadata: u64,
    /// Nanoseconds from 1970-01-01 UTC to its start.
    pub(super) start_nanos: u64,
    /// Its length in nanoseconds; 0 while it is written.
    pub(super) length_nanos: u64,
    /// The ticks of its clock at its start.
    pub(super) start_ticks: u64,
    /// Ticks of its clock in a second.
    pub(super) ticks_per_second: u64,
}

impl Head {
    /// Its bytes.
    pub(super) const LENGTH: usize = 68;

    /// Reads the head; the error says why it cannot be used.
    pub(super) fn parse(chunk: &[u8]) -> Result<Self, BadHead> {
        let versions = chunk.get(4..8).ok_or(BadHead::Cut)?;
        let (major, minor) = (
            u16::from_be_bytes([versions[0], versions[1]]),
            u16::from_be_bytes([versions[2], versions[3]]),
        );
        if major != 2 {
            return Err(BadHead::Version { major, minor });
        }
        let head = chunk.get(..Self::LENGTH).ok_or(BadHead::Cut)?;
        let number = |at: usize| {
            let bytes = head[at..at + 8].iter();
            bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        if head[67] & 1 == 0 {
            return Err(BadHead::NotCompressed);
        }
        Ok(Self {
            size: number(8),
            metadata: number(24),
            start_nanos: number(32),
            length_nanos: number(40),
            start_ticks: number(48),
            ticks_per_second: number(56).max(1),
        })
    }

    /// Returns whether the numbers can be those of a chunk.
    fn is_plausible(&self) -> bool {
        let (shortest, longest) = (Self::LENGTH as u64, i64::MAX as u64);
        let is_within = |place: u64| place == 0 || (shortest..=longest).contains(&place);
        let is_sized = is_within(self.size) && is_within(self.metadata);
        let has_room = self.size == 0 || self.metadata < self.size;
        is_sized && has_room && self.start_nanos <= longest && self.length_nanos <= longest
    }

    /// The nanoseconds since 1970-01-01 UTC of a time of the chunk's clock.
    pub(super) fn wall(&self, ticks: u64) -> i64 {
        let ticks = i128::from(ticks) - i128::from(self.start_ticks);
        let nanos = ticks * 1_000_000_000 / i128::from(self.ticks_per_second);
        let wall = i128::from(self.start_nanos) + nanos;
        i64::try_from(wall).unwrap_or(if wall < 0 { 0 } else { i64::MAX })
    }
}

/// Returns whether a chunk begins at a place of a file, rather than the copy of a head or bytes that happen to look
/// like the start of one.
pub(super) fn begins(file: &[u8], at: usize) -> bool {
    let (before, rest) = file.split_at(at);
    rest.starts_with(super::MAGIC)
        && !before.ends_with(BEFORE_COPY)
        && Head::parse(rest).is_ok_and(|head| head.is_plausible())
}

/// An event's place, type and contents.
struct Event {
    start: usize,
    end: usize,
    type_id: u64,
    body: usize,
}

/// The event that begins at a place of a chunk.
fn event(chunk: &[u8], start: usize) -> Option<Event> {
    let mut cursor = Cursor::new(chunk, start);
    let size = usize::try_from(cursor.number()?).ok()?;
    let type_id = cursor.number()?;
    let end = start.checked_add(size)?;
    let body = cursor.at();
    (end >= body && end <= chunk.len()).then_some(Event {
        start,
        end,
        type_id,
        body,
    })
}

/// The events of a chunk up to the first that is damaged, and the place of that.
fn events(chunk: &[u8]) -> impl Iterator<Item = Result<Event, usize>> {
    let mut at = Head::LENGTH;
    std::iter::from_fn(move || {
        if at >= chunk.len() {
            return None;
        }
        let found = event(chunk, at);
        let result = found.ok_or(at);
        at = result.as_ref().map_or(chunk.len(), |event| event.end);
        Some(result)
    })
}

/// The types of a chunk.
pub(super) fn metadata<'a>(chunk: &'a [u8], head: &Head) -> Option<Metadata<'a>> {
    let parse = |event: Event| {
        let body = &chunk[..event.end];
        (event.type_id == METADATA).then(|| Metadata::parse(Cursor::new(body, event.body)))?
    };
    let stated = usize::try_from(head.metadata).ok();
    let stated = stated.filter(|&at| at >= Head::LENGTH);
    let found = stated.and_then(|at| event(chunk, at)).and_then(parse);
    // The head of a chunk that was not finished does not say where they are.
    found.or_else(|| events(chunk).map_while(Result::ok).filter_map(parse).last())
}

/// Takes what the chunks of a file hold.
pub(super) trait Sink<'a> {
    /// The types whose pools are needed.
    fn pools(&self) -> &'static [&'static str];

    /// A chunk begins, whose types are known.
    fn begin(&mut self, plans: &mut Plans<'a>, head: &Head);

    /// Takes in an event whose bytes begin after its head; `None` if it is damaged.
    fn event(&mut self, type_id: u64, body: Cursor<'a>) -> Option<()>;

    /// The chunk has ended; gives the number of its events whose stacks it is known
    /// to lack.
    fn end(&mut self, chunk: &'a [u8], head: &Head, pools: Pools, plans: Plans<'a>) -> u64;

    /// Notes a damaged place.
    fn damage(&mut self, offset: Option<usize>, lost: usize, message: String);
}

/// Reads a chunk; false if that cannot be done, as it does not say how its events are laid out.
pub(super) fn read<'a>(
    file: &'a [u8],
    range: Range<usize>,
    head: &Head,
    sink: &mut impl Sink<'a>,
) -> bool {
    let (base, chunk) = (range.start, &file[range]);
    let Some(metadata) = metadata(chunk, head) else {
        let length = chunk.len();
        // Head::metadata is 0 until a JVM has written the metadata.
        let message = match head.metadata {
            0 => format!(
                "at byte {base}: the JVM ended before it wrote how the events of this chunk are laid out, so its \
                 {length} bytes are not read. Before JDK 14 a JVM writes that when it ends a chunk only. {REMEDY}"
            ),
            _ => format!(
                "at byte {base}: the part of the chunk that says how its events are laid out is missing or \
                 damaged, so its {length} bytes are not read. {REMEDY}"
            ),
        };
        sink.damage(Some(base), length, message);
        return false;
    };
    let mut plans = Plans::new(metadata);
    let mut pools = Pools::new(&plans.metadata, sink.pools());
    sink.begin(&mut plans, head);
    for event in events(chunk) {
        let event = match event {
            Ok(event) => event,
            Err(at) => {
                let (place, lost) = (base + at, chunk.len() - at);
                let message = format!(
                    "at byte {place}: an event has no sensible size; {lost} bytes of its chunk are not read"
                );
                sink.damage(Some(place), lost, message);
                break;
            }
        };
        let body = Cursor::new(&chunk[..event.end], event.body);
        let is_whole = match event.type_id {
            METADATA => true,
            CHECKPOINT => pools.add(body, &mut plans).is_some(),
            _ => sink.event(event.type_id, body).is_some(),
        };
        if !is_whole {
            let (place, lost) = (base + event.start, event.end - event.start);
            let what = match event.type_id {
                CHECKPOINT => "a checkpoint, which names stacks and methods,",
                _ => "an event",
            };
            let message = format!(
                "at byte {place}: {what} is not laid out as the chunk says; {lost} bytes are not read"
            );
            sink.damage(Some(place), lost, message);
        }
    }
    let lacking = sink.end(chunk, head, pools, plans);
    if lacking > 0 {
        sink.damage(Some(base), 0, self::lacking(base, lacking));
    }
    true
}

/// Says that a chunk lacks the stacks of some of its events.
pub(super) fn lacking(base: usize, events: u64) -> String {
    format!("at byte {base}: the chunk lacks the stacks of {events} of its events")
}
