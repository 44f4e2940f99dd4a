//! Takes a log in pieces, and gives its figures at the end.

use crate::event::Nanos;
use crate::jdk8::{self, Jdk8};
use crate::line::Line;
use crate::part::{Course, Part};
use crate::statistics::Statistics;
use crate::summary::Summary;
use crate::unified::{Unified, collector_named};
use crate::wrapping::{self, Decoder};

/// Longer lines are cut: the longest of HotSpot's own has some hundred bytes.
const MAX_LINE: usize = 64 << 10;

/// Reads a log. Its memory does not grow with the log.
#[derive(Debug)]
pub struct Reader {
    /// The beginning of a line whose end has not come.
    carry: Vec<u8>,
    decoder: Decoder,
    /// The text of a line that was in JSON.
    unwrapped: Vec<u8>,
    /// The message of a line of Shenandoah of JDK 8.
    message: Vec<u8>,
    statistics: Statistics,
    unified: Unified,
    jdk8: Jdk8,
    /// The log began as that of a JVM whose lines have no decorations, and no collection has come yet.
    is_bare: bool,
    /// The times of lines, where they are asked for.
    course: Option<Course>,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// A reader of a log's first file.
    pub fn new() -> Self {
        Self {
            carry: Vec::new(),
            decoder: Decoder::default(),
            unwrapped: Vec::new(),
            message: Vec::new(),
            is_bare: false,
            statistics: Statistics::new(),
            unified: Unified::default(),
            jdk8: Jdk8::default(),
            course: None,
        }
    }

    /// A reader that also measures the time of the lines, for [`Self::span`].
    pub fn measuring() -> Self {
        Self {
            course: Some(Course::measuring()),
            ..Self::new()
        }
    }

    /// A reader whose figures are those of a part of the time.
    pub fn of_part(part: Part) -> Self {
        Self {
            course: Some(Course::of_part(part)),
            ..Self::new()
        }
    }

    /// The time of the lines so far; `None` if they have no times, or none were measured.
    pub fn span(&self) -> Option<Part> {
        self.course.as_ref()?.span()
    }

    /// Takes the next bytes of the log.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.statistics.lines.bytes += bytes.len() as u64;
        let decoded = self.decoder.decode(bytes);
        self.lines(&decoded);
    }

    fn lines(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        if !self.carry.is_empty() {
            let Some(end) = memchr::memchr(b'\n', rest) else {
                self.keep(rest);
                return;
            };
            self.keep(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.carry);
            self.line(&line);
            // Its room is used again.
            self.carry = line;
            self.carry.clear();
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', rest) {
            self.line(&rest[start..end]);
            start = end + 1;
        }
        self.keep(&rest[start..]);
    }

    /// The next bytes are those of another file of the same log.
    pub fn next_file(&mut self) {
        let held = self.decoder.end();
        self.lines(&held);
        if !self.carry.is_empty() {
            let line = std::mem::take(&mut self.carry);
            self.line(&line);
        }
        let statistics = match &mut self.course {
            Some(course) if course.is_outside() => course.outside(),
            _ => &mut self.statistics,
        };
        self.jdk8.finish(statistics);
        self.unified.forget();
    }

    /// The figures.
    pub fn finish(mut self) -> Summary {
        let is_within_line = !self.carry.is_empty();
        let is_within_pause = self.unified.is_within_pause() || self.jdk8.is_within_pause();
        self.next_file();
        if let Some(course) = self.course.take() {
            course.finish(&mut self.statistics);
        }
        self.statistics.lines.is_cut = is_within_line || is_within_pause;
        self.statistics.summary()
    }

    fn keep(&mut self, part: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.carry.len());
        self.carry.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn line(&mut self, line: &[u8]) {
        self.statistics.lines.total += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = wrapping::message(line, &mut self.unwrapped);
        if line.is_empty() {
            return;
        }
        let is_first = self.statistics.lines.total == 1;
        let parsed = Line::parse(line);
        let statistics = match &mut self.course {
            Some(course) => {
                let stamp = match &parsed {
                    Some(parsed) => parsed.stamp,
                    None => jdk8::stamp(line).0,
                };
                match course.line(stamp, &mut self.statistics) {
                    true => course.outside(),
                    false => &mut self.statistics,
                }
            }
            None => &mut self.statistics,
        };
        if is_first {
            self.is_bare = line.starts_with(b"Using ") && collector_named(line).is_some();
        }
        let is_understood = match parsed {
            Some(parsed) if !self.jdk8.is_within_pause() => {
                self.is_bare &= parsed.gc.is_none();
                self.unified.take(&parsed, statistics)
            }
            None if self.is_bare => self.unified.take(&Line::bare(line), statistics),
            _ => match jdk8::as_unified(line, &mut self.message) {
                Some(line) => self.unified.take(&line, statistics),
                None => self.jdk8.take(line, statistics),
            },
        };
        if !is_understood {
            statistics.not_understood(line);
        }
    }
}

/// The first point in time of a log, from its beginning: nanoseconds since 1970 where the log has dates, and
/// since the start of the JVM otherwise. For putting the files of a rotated log in order.
pub fn first_time(beginning: &[u8]) -> Option<i64> {
    let of_line = |line: &[u8]| {
        let mut buffer = Vec::new();
        let line = wrapping::message(line, &mut buffer);
        let stamp = match Line::parse(line) {
            Some(line) => line.stamp,
            None => crate::jdk8::stamp(line).0,
        };
        let uptime = stamp
            .uptime
            .map(|Nanos(nanos)| i64::try_from(nanos).unwrap_or(i64::MAX));
        stamp.wall.or(uptime)
    };
    let decoded = Decoder::default().decode(beginning).into_owned();
    decoded.split(|byte| *byte == b'\n').find_map(of_line)
}
