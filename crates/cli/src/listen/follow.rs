//! The contents of a stream, as far as the listener needs them.

use hprof_format::binary::IdSize;
use hprof_format::binary::tags::record as tag;
use hprof_format::splitter::{BinaryPart, BinarySplitter, Cut, Section, TextPart, TextSplitter};
use hprof_wire::marks::Mark;

/// How both formats begin.
const WORDS: &[u8] = b"JAVA PROFILE 1.0";
/// The byte that distinguishes the formats: a zero byte or a comma after `JAVA PROFILE 1.0.x`.
const DECIDES: usize = 18;

/// The format of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `format=b`.
    Binary(IdSize),
    /// `format=a`.
    Text,
}

/// Something worth noting.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// The header has come.
    Kind(Kind),
    /// The agent's mark about itself.
    Mark(Mark),
    /// A table or dump is whole.
    Done(Part),
    /// The sum of a table of samples.
    Samples(u64),
    /// The totals of the heap.
    Summary(Summary),
}

/// A part of a profile that a command may have asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A heap dump.
    HeapDump,
    /// Allocation sites.
    Sites,
    /// CPU samples or times.
    Samples,
    /// Totals of the heap.
    Summary,
}

/// `HEAP SUMMARY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Bytes alive.
    pub live_bytes: u64,
    /// Objects alive.
    pub live_objects: u64,
    /// Bytes ever allocated.
    pub allocated_bytes: u64,
    /// Objects ever allocated.
    pub allocated_objects: u64,
}

/// The stream is no profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAProfile;

/// Follows one stream.
#[derive(Debug)]
pub enum Follower {
    /// Nothing is known yet.
    Start(Vec<u8>),
    /// A binary profile.
    Binary(Box<BinarySplitter>, u64),
    /// A text profile.
    Text(TextSplitter),
}

impl Follower {
    /// At the start of a stream.
    pub fn new() -> Self {
        Self::Start(Vec::new())
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// If the stream does not begin as a profile.
    pub fn push(&mut self, bytes: &[u8], note: &mut impl FnMut(Note)) -> Result<(), NotAProfile> {
        match self {
            Self::Start(first) => {
                first.extend_from_slice(&bytes[..bytes.len().min(2 * DECIDES)]);
                let known = first.len().min(WORDS.len());
                if first[..known] != WORDS[..known] {
                    return Err(NotAProfile);
                }
                let before = first.len() - bytes.len().min(2 * DECIDES);
                let Some(&decides) = first.get(DECIDES) else {
                    return Ok(());
                };
                let first = std::mem::take(first);
                *self = match decides {
                    0 => Self::Binary(Box::default(), 0),
                    b',' => {
                        note(Note::Kind(Kind::Text));
                        Self::Text(TextSplitter::new())
                    }
                    _ => return Err(NotAProfile),
                };
                self.push(&first[..before], note)?;
                self.push(bytes, note)
            }
            Self::Binary(splitter, records) => {
                let mut id_size = splitter.header().map(|header| header.id_size);
                let pushed = splitter.push(bytes, |part| match part {
                    BinaryPart::Header(header) => {
                        id_size = Some(header.id_size);
                        note(Note::Kind(Kind::Binary(header.id_size)));
                    }
                    BinaryPart::Record { tag, body, .. } => {
                        *records += 1;
                        note_record(tag, body, id_size.unwrap_or(IdSize::Four), note);
                    }
                });
                pushed.map_err(|_| NotAProfile)
            }
            Self::Text(splitter) => {
                splitter.push(bytes, |part| note_text(&part, note));
                Ok(())
            }
        }
    }

    /// Records, or lines of text.
    pub fn records(&self) -> u64 {
        match self {
            Self::Start(_) => 0,
            Self::Binary(_, records) => *records,
            Self::Text(splitter) => splitter.lines(),
        }
    }

    /// How to make a whole file of what has come, if it is none.
    pub fn end(&self) -> Option<Cut> {
        match self {
            Self::Start(_) => None,
            Self::Binary(splitter, _) => splitter.end(),
            Self::Text(splitter) => splitter.end(),
        }
    }
}

fn note_record(record: u8, body: &[u8], id_size: IdSize, note: &mut impl FnMut(Note)) {
    let u4 = |at: usize| {
        let four = body.get(at..).and_then(|bytes| bytes.first_chunk());
        four.map_or(0, |bytes| u64::from(u32::from_be_bytes(*bytes)))
    };
    match record {
        tag::UTF8 => {
            let text = body.get(id_size.bytes()..).unwrap_or_default();
            note_mark(text, note);
        }
        tag::HEAP_DUMP | tag::HEAP_DUMP_END => note(Note::Done(Part::HeapDump)),
        tag::ALLOC_SITES => note(Note::Done(Part::Sites)),
        tag::CPU_SAMPLES => {
            note(Note::Samples(u4(0)));
            note(Note::Done(Part::Samples));
        }
        tag::HEAP_SUMMARY => {
            note(Note::Summary(Summary {
                live_bytes: u4(0),
                live_objects: u4(4),
                allocated_bytes: u4(8) << 32 | u4(12),
                allocated_objects: u4(16) << 32 | u4(20),
            }));
            note(Note::Done(Part::Summary));
        }
        _ => {}
    }
}

fn note_text(part: &TextPart<'_>, note: &mut impl FnMut(Note)) {
    match part {
        TextPart::Remark(text) => note_mark(text, note),
        TextPart::Begin(Section::CpuSamples, line) => {
            let line = String::from_utf8_lossy(line);
            let total = line
                .split("total = ")
                .nth(1)
                .and_then(|rest| rest.split(')').next());
            if let Some(total) = total.and_then(|total| total.parse().ok()) {
                note(Note::Samples(total));
            }
        }
        TextPart::End(Section::CpuSamples | Section::CpuTime) => note(Note::Done(Part::Samples)),
        TextPart::End(Section::Sites) => note(Note::Done(Part::Sites)),
        TextPart::End(Section::HeapDump) => note(Note::Done(Part::HeapDump)),
        _ => {}
    }
}

fn note_mark(text: &[u8], note: &mut impl FnMut(Note)) {
    // Looked at before it is decoded: most strings are others.
    if text.starts_with(b"hprof-rs ")
        && let Some(mark) = Mark::parse(&String::from_utf8_lossy(text))
    {
        note(Note::Mark(mark));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn follow(bytes: &[u8], step: usize) -> (Result<(), NotAProfile>, Vec<Note>, Follower) {
        let (mut follower, mut notes) = (Follower::new(), Vec::new());
        for part in bytes.chunks(step) {
            let pushed = follower.push(part, &mut |note| notes.push(note));
            if pushed.is_err() {
                return (pushed, notes, follower);
            }
        }
        (Ok(()), notes, follower)
    }

    fn binary() -> Vec<u8> {
        let mut bytes = b"JAVA PROFILE 1.0.1\0\0\0\0\x04\0\0\0\0\0\0\0\0".to_vec();
        let mark = b"\0\0\0\x01hprof-rs reply: serial=3 done";
        for (tag, body) in [
            (0x01, &mark[..]),
            (0x0d, &[0, 0, 0, 9, 0, 0, 0, 0][..]),
            (
                0x07,
                &[
                    0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4,
                ],
            ),
        ] {
            bytes.extend([tag, 0, 0, 0, 0, 0, 0, 0, body.len() as u8]);
            bytes.extend(body);
        }
        bytes
    }

    #[test]
    fn both_formats_are_told_however_they_come() {
        let text = b"JAVA PROFILE 1.0.1, created Fri Feb  6 13:13:42 2004\n\n\
            # hprof-rs agent: version=0.1.0 pid=7 format=a modes=cpu=samples main=App\n\
            CPU SAMPLES BEGIN (total = 12) Fri Feb  6 13:13:42 2004\nCPU SAMPLES END\n";
        for step in [1, 5, 18, 19, 31, 1000] {
            let (result, notes, follower) = follow(text, step);
            assert_eq!(result, Ok(()));
            assert_eq!(notes[0], Note::Kind(Kind::Text));
            assert!(matches!(&notes[1], Note::Mark(Mark::Agent(who)) if who.pid == 7));
            assert_eq!(notes[2..], [Note::Samples(12), Note::Done(Part::Samples)]);
            assert_eq!((follower.records(), follower.end()), (5, None));

            let (result, notes, follower) = follow(&binary(), step);
            assert_eq!(result, Ok(()));
            assert_eq!(notes[0], Note::Kind(Kind::Binary(IdSize::Four)));
            assert!(matches!(&notes[1], Note::Mark(Mark::Reply(reply)) if reply.serial == 3));
            assert_eq!(notes[2..4], [Note::Samples(9), Note::Done(Part::Samples)]);
            let summary = Summary {
                live_bytes: 1,
                live_objects: 2,
                allocated_bytes: 3,
                allocated_objects: 4,
            };
            assert_eq!(
                notes[4..],
                [Note::Summary(summary), Note::Done(Part::Summary)]
            );
            assert_eq!((follower.records(), follower.end()), (3, None));
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused_at_once(bytes in prop::collection::vec(any::<u8>(), 31..200)) {
            let (result, notes, _) = follow(&bytes, 7);
            prop_assert_eq!(result, Err(NotAProfile));
            prop_assert!(notes.is_empty());
        }
    }
}
