//! Samples with their times in the agent's own profiles.
//!
//! Neither format of HPROF has a place for times, so they are texts that readers pass over: remarks in the text format,
//! strings that no record refers to in the binary one. Each has the samples of a stretch of time:
//!
//! ```text
//! hprof-rs events: clock=cpu interval=10000000 from=1764381000000000000 to=1764381001000000000 lost=0 begin=y data=AgEB
//! ```
//!
//! `interval`, `from` and `to` are nanoseconds, of CPU time or since 1970-01-01 UTC. `data` is base64 of numbers in
//! LEB128, four for each sample: microseconds since the sample before, which may be negative (zigzag); trace and
//! thread, counted from their first serials; the intervals that it stands for.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hprof_format::ids::{ThreadSerial, TraceSerial};

use crate::timeline::{Moment, Timeline, Window};
use crate::{Measure, Stacks};

const PREFIX: &str = "hprof-rs events: ";
const NANOS_PER_MICRO: i64 = 1000;
/// The bytes of a chunk that is whole: 64 kB as text.
const WHOLE: usize = 48 << 10;

/// No number: stands for bytes that cannot be read.
const DAMAGED: [u8; 1] = [0x80];

/// The clock by which samples are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// Running threads by their CPU time.
    #[default]
    Cpu,
    /// All threads by the wall clock.
    Wall,
}

impl Clock {
    /// The word for it in profiles.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wall => "wall",
        }
    }

    /// The clock of a word; `None` if it is of a later version.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Cpu, Self::Wall]
            .into_iter()
            .find(|clock| clock.word() == word)
    }
}

/// A sample with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When it was taken, in nanoseconds of the chunk's clock, to a microsecond.
    pub at: i64,
    /// Its stack.
    pub trace: TraceSerial,
    /// Its thread, if that is known.
    pub thread: Option<ThreadSerial>,
    /// The intervals that it stands for.
    pub weight: u64,
}

/// The samples of a stretch of time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunk {
    /// The clock of samples.
    pub clock: Clock,
    /// The nanoseconds between samples.
    pub interval: u64,
    /// The stretch. Samples may lie before it: they come late.
    pub from: i64,
    /// Its end.
    pub to: i64,
    /// The samples of the stretch that have no time.
    pub lost: u64,
    /// The first since the counts were zero: samples before it count no more.
    pub is_first: bool,
    bytes: Vec<u8>,
    /// Microseconds from the start to the last event.
    last: i64,
}

impl Chunk {
    /// A chunk without samples, which begins now.
    pub fn begin(clock: Clock, interval: u64, from: i64) -> Self {
        Self {
            clock,
            interval,
            from,
            to: from,
            ..Self::default()
        }
    }

    /// Adds a sample: its time on the clock of the start, and the intervals that it stands for.
    pub fn push(&mut self, event: Event) {
        let at = event.at.saturating_sub(self.from) / NANOS_PER_MICRO;
        let delta = at.wrapping_sub(self.last);
        self.last = at;
        let zigzag = ((delta << 1) ^ (delta >> 63)).cast_unsigned();
        let thread = event.thread.map_or(0, ThreadSerial::get);
        self.number(zigzag);
        self.number(u64::from(event.trace.get().wrapping_sub(TraceSerial::BASE)));
        self.number(match thread {
            0 => 0,
            serial => 1 + u64::from(serial.wrapping_sub(ThreadSerial::BASE)),
        });
        self.number(event.weight);
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Returns whether it has no samples.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns whether it is time for another chunk.
    pub fn is_whole(&self) -> bool {
        self.bytes.len() >= WHOLE
    }

    /// The bytes of its samples.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The samples as they were added; they end where the bytes are damaged.
    pub fn events(&self) -> Events<'_> {
        Events {
            from: self.from,
            bytes: &self.bytes,
            at: 0,
        }
    }

    /// Returns whether all bytes are samples.
    pub fn is_sound(&self) -> bool {
        let mut events = self.events();
        events.by_ref().for_each(drop);
        events.bytes.is_empty()
    }

    /// The chunk as a text for a profile. `moved` nanoseconds are added to its times: the distance from the clock that they were taken
    /// by to the time since 1970-01-01 UTC.
    pub fn text(&self, moved: i64) -> String {
        let mut text = format!(
            "{PREFIX}clock={} interval={} from={} to={} lost={} begin={} data=",
            self.clock.word(),
            self.interval,
            self.from.saturating_add(moved),
            self.to.saturating_add(moved),
            self.lost,
            if self.is_first { "y" } else { "n" },
        );
        STANDARD_NO_PAD.encode_string(&self.bytes, &mut text);
        text
    }

    /// Reads the text of a remark or string; `None` if it is another.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let mut chunk = Self::default();
        for part in rest.split(' ') {
            match part.split_once('=')? {
                ("clock", word) => chunk.clock = Clock::of_word(word)?,
                ("interval", value) => chunk.interval = value.parse().ok()?,
                ("from", value) => chunk.from = value.parse().ok()?,
                ("to", value) => chunk.to = value.parse().ok()?,
                ("lost", value) => chunk.lost = value.parse().ok()?,
                ("begin", value) => chunk.is_first = value == "y",
                ("data", value) => {
                    let bytes = STANDARD_NO_PAD.decode(value);
                    chunk.bytes = bytes.unwrap_or_else(|_| DAMAGED.to_vec());
                }
                // Of a later version.
                _ => {}
            }
        }
        Some(chunk)
    }

    /// Returns whether a text is a chunk, or the start of one.
    pub fn is_one(text: &[u8]) -> bool {
        text.starts_with(PREFIX.as_bytes())
    }
}

/// The chunks that count: those since the counts were zero last.
pub fn counted(chunks: &[Chunk]) -> &[Chunk] {
    let first = chunks.iter().rposition(|chunk| chunk.is_first);
    &chunks[first.unwrap_or(0)..]
}

/// The time of all chunks; `None` if there are none.
pub fn span(chunks: &[Chunk]) -> Option<Window> {
    let from = chunks.iter().map(|it| it.from).min()?;
    let to = chunks.iter().map(|it| it.to).max()?;
    Some(Window {
        from,
        to: to.max(from.saturating_add(1)),
    })
}

/// The times of chunks, of a part of their time. Traces that the profile lacks become the one without frames.
pub fn timeline(chunks: &[Chunk], stacks: &Stacks, span: Window, part: Window) -> Timeline {
    let known = |trace| match stacks.trace(trace) {
        Some(_) => trace,
        None => TraceSerial::SYSTEM,
    };
    let all = chunks.iter().flat_map(Chunk::events);
    let mut moments: Vec<Moment> = all
        // Clocks are set, and a sample may be read a moment after its time.
        .map(|event| (event.at.clamp(span.from, span.to - 1), event))
        .filter(|&(at, _)| part.contains(at))
        .map(|(at, event)| Moment {
            at,
            value: event.weight,
            trace: known(event.trace),
            thread: event.thread,
            measure: Measure::Samples,
        })
        .collect();
    moments.sort_by_key(|moment| moment.at);
    let is_cpu = chunks.iter().all(|chunk| chunk.clock == Clock::Cpu);
    let interval = chunks.first().map(|chunk| chunk.interval);
    Timeline {
        span,
        sample_nanos: interval.filter(|_| is_cpu),
        is_wall: !is_cpu,
        moments,
    }
}

/// The samples of a chunk.
#[derive(Debug, Clone)]
pub struct Events<'a> {
    from: i64,
    bytes: &'a [u8],
    at: i64,
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut rest = self.bytes;
        let zigzag = number(&mut rest)?;
        let delta = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
        let trace = u32::try_from(number(&mut rest)?).ok()?;
        let thread = u32::try_from(number(&mut rest)?).ok()?;
        let weight = number(&mut rest)?;
        self.bytes = rest;
        self.at = self.at.wrapping_add(delta);
        Some(Event {
            at: self
                .from
                .saturating_add(self.at.saturating_mul(NANOS_PER_MICRO)),
            trace: TraceSerial::new(TraceSerial::BASE.wrapping_add(trace)),
            thread: (thread > 0)
                .then(|| ThreadSerial::new(ThreadSerial::BASE.wrapping_add(thread - 1))),
            weight,
        })
    }
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(at: i64, trace: u32, thread: Option<u32>, weight: u64) -> Event {
        Event {
            at,
            trace: TraceSerial::new(TraceSerial::BASE + trace),
            thread: thread.map(|it| ThreadSerial::new(ThreadSerial::BASE + it)),
            weight,
        }
    }

    #[test]
    fn a_sample_takes_few_bytes() {
        let mut chunk = Chunk::begin(Clock::Cpu, 10_000_000, 0);
        for at in 0..1000 {
            chunk.push(event(at * 10_000_000, 5000, Some(40), 1));
        }
        assert_eq!(chunk.bytes(), 7000 - 2);
        assert!(!chunk.is_whole());
    }

    #[test]
    fn those_before_the_counts_were_zero_count_no_more() {
        let chunk = |from, is_first| Chunk {
            is_first,
            ..Chunk::begin(Clock::Cpu, 1, from)
        };
        let all = [
            chunk(1, true),
            chunk(2, false),
            chunk(3, true),
            chunk(4, false),
        ];
        let froms = |chunks: &[Chunk]| chunks.iter().map(|it| it.from).collect::<Vec<_>>();
        assert_eq!(froms(counted(&all)), [3, 4]);
        assert_eq!(froms(counted(&all[1..2])), [2]);
        assert_eq!(span(&all), Some(Window { from: 1, to: 4 }));
    }

    proptest! {
        #[test]
        fn samples_come_back(
            from in 0..i64::MAX / 2,
            moved in -1_000_000_i64..1_000_000,
            events in prop::collection::vec(
                (-1_000_000_000_i64..1 << 50, any::<u32>(), prop::option::of(0..u32::MAX >> 1), any::<u64>()),
                0..50,
            ),
        ) {
            let mut chunk = Chunk::begin(Clock::Wall, 7, from);
            chunk.to = from + 5;
            let all: Vec<Event> = events
                .iter()
                .map(|&(at, trace, thread, weight)| {
                    event(from + at / 1000 * 1000, trace % (u32::MAX >> 1), thread, weight)
                })
                .collect();
            all.iter().for_each(|&it| chunk.push(it));
            prop_assert_eq!(chunk.events().collect::<Vec<_>>(), all.clone());
            let read = Chunk::parse(&chunk.text(moved)).unwrap();
            prop_assert!(read.is_sound());
            prop_assert_eq!((read.from, read.to), (from + moved, from + 5 + moved));
            let moved_all: Vec<Event> = all.iter().map(|it| Event { at: it.at + moved, ..*it }).collect();
            prop_assert_eq!(read.events().collect::<Vec<_>>(), moved_all);
        }

        #[test]
        fn any_text_is_read(text in ".{0,80}", data in "[A-Za-z0-9+/]{0,60}") {
            prop_assert_eq!(Chunk::parse(&text), None);
            let text = format!("{PREFIX}clock=cpu from=0 to=9 data={data}");
            if let Some(chunk) = Chunk::parse(&text) {
                chunk.events().for_each(drop);
                chunk.is_sound();
            }
        }
    }
}
