//! Takes frames out of a stream of bytes that may hold anything.
//!
//! A frame's length says where the next one starts, whatever the frame is: unknown commands are
//! skipped and reported. No more than [`MAX_BODY`] bytes of a body are kept, or [`MAX_REQUEST`] of a
//! request, so a length of 2^32 - 1 costs no memory.

use crate::command::{Command, Frame, FrameError, HEAD, MAX_BODY, tag};
use crate::control::MAX_REQUEST;

/// An item of the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// A command.
    Command(Frame),
    /// A line of [`control`](crate::control).
    Request {
        /// Its serial number.
        serial: u32,
        /// The line.
        line: String,
    },
    /// A frame that is no command.
    Bad {
        /// Its serial number.
        serial: u32,
        /// The violated rule.
        error: FrameError,
    },
}

/// The reader's place in the stream.
#[derive(Debug, Default)]
pub struct FrameReader {
    head: [u8; HEAD],
    head_len: usize,
    body: Vec<u8>,
    /// Bytes of the body that were passed over.
    skipped: u32,
    ended: bool,
}

impl FrameReader {
    /// A reader at the start of a frame.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// True once EOF has come; what follows is ignored.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// True in the middle of a frame.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.head_len > 0
    }

    /// Takes the next bytes of the stream, and shows each frame that they complete.
    pub fn push(&mut self, mut bytes: &[u8], mut show: impl FnMut(Incoming)) {
        while !self.ended {
            if self.head_len < HEAD {
                let Some((&byte, rest)) = bytes.split_first() else {
                    return;
                };
                bytes = rest;
                if self.head_len == 0 && byte == tag::EOF {
                    self.ended = true;
                    show(Incoming::Command(Frame {
                        serial: 0,
                        command: Command::Eof,
                    }));
                    return;
                }
                self.head[self.head_len] = byte;
                self.head_len += 1;
                if self.head_len < HEAD {
                    continue;
                }
            }
            let left = self.length() - self.body.len() as u32 - self.skipped;
            let here = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
            let (part, rest) = bytes.split_at(here);
            bytes = rest;
            let keep = part.len().min(self.max_body() - self.body.len());
            self.body.extend_from_slice(&part[..keep]);
            self.skipped += (part.len() - keep) as u32;
            if left as usize > part.len() {
                return;
            }
            show(self.take());
        }
    }

    fn word(&self, at: usize) -> u32 {
        let mut word = [0; 4];
        word.copy_from_slice(&self.head[at..at + 4]);
        u32::from_be_bytes(word)
    }

    fn length(&self) -> u32 {
        self.word(5)
    }

    fn max_body(&self) -> usize {
        match self.head[0] {
            tag::REQUEST => MAX_REQUEST,
            _ => MAX_BODY,
        }
    }

    /// The frame whose last byte has come.
    fn take(&mut self) -> Incoming {
        let (serial, length) = (self.word(1), self.length());
        let body = std::mem::take(&mut self.body);
        let decoded = match self.head[0] {
            tag::REQUEST if self.skipped > 0 => Err(FrameError::LongRequest(length)),
            tag::REQUEST => match String::from_utf8(body) {
                Ok(line) => Ok(Incoming::Request { serial, line }),
                Err(_) => Err(FrameError::NoText),
            },
            other => Command::decode(other, &body, length)
                .map(|command| Incoming::Command(Frame { serial, command })),
        };
        (self.head_len, self.skipped) = (0, 0);
        decoded.unwrap_or_else(|error| Incoming::Bad { serial, error })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::command::{Control, SiteFlags, ThreadObject, encode_request};
    use crate::control::Request;

    fn read(parts: &[&[u8]]) -> Vec<Incoming> {
        let mut reader = FrameReader::new();
        let mut found = Vec::new();
        for part in parts {
            reader.push(part, |incoming| found.push(incoming));
        }
        found
    }

    fn threads() -> impl Strategy<Value = ThreadObject> {
        prop_oneof![
            any::<u32>().prop_map(ThreadObject::Narrow),
            any::<u64>().prop_map(ThreadObject::Wide)
        ]
    }

    fn commands() -> impl Strategy<Value = Command> {
        let flags = (0u16..8).prop_map(SiteFlags::from_bits);
        prop_oneof![
            Just(Command::ForceGc),
            Just(Command::DumpHeap),
            Just(Command::HeapSummary),
            Just(Command::Exit),
            Just(Command::DumpTraces),
            (flags, 0f32..1.0).prop_map(|(flags, cutoff)| Command::AllocSites { flags, cutoff }),
            (any::<u16>(), 0f32..1.0)
                .prop_map(|(flags, cutoff)| Command::CpuSamples { flags, cutoff }),
            Just(Command::Control(Control::AllocTracesOn)),
            Just(Command::Control(Control::AllocTracesOff)),
            threads().prop_map(|thread| Command::Control(Control::CpuSamplingOn(thread))),
            threads().prop_map(|thread| Command::Control(Control::CpuSamplingOff(thread))),
            Just(Command::Control(Control::ClearCpu)),
            Just(Command::Control(Control::ClearSites)),
            any::<u16>().prop_map(|depth| Command::Control(Control::Depth(depth))),
        ]
    }

    proptest! {
        #[test]
        fn frames_come_back_however_the_stream_is_cut(
            commands in prop::collection::vec((any::<u32>(), commands()), 0..20),
            cut in 1usize..40,
        ) {
            let frames: Vec<Frame> =
                commands.iter().map(|&(serial, command)| Frame { serial, command }).collect();
            let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
            let parts: Vec<&[u8]> = bytes.chunks(cut).collect();
            let expected: Vec<Incoming> = frames.into_iter().map(Incoming::Command).collect();
            prop_assert_eq!(read(&parts), expected);
        }

        #[test]
        fn garbage_gives_the_same_however_it_is_cut(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            cut in 1usize..40,
        ) {
            let parts: Vec<&[u8]> = bytes.chunks(cut).collect();
            let text = |found: Vec<Incoming>| format!("{found:?}");
            prop_assert_eq!(text(read(&parts)), text(read(&[&bytes])));
        }

        #[test]
        fn an_unknown_command_is_skipped_by_its_length(
            tag in 9u8..0xff,
            body in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            prop_assume!(tag != tag::REQUEST);
            let mut bytes = vec![tag, 0, 0, 0, 1];
            bytes.extend((body.len() as u32).to_be_bytes());
            bytes.extend(&body);
            let next = Frame { serial: 2, command: Command::ForceGc };
            bytes.extend(next.encode());
            let error = FrameError::UnknownTag(tag);
            prop_assert_eq!(
                read(&[&bytes]),
                [Incoming::Bad { serial: 1, error }, Incoming::Command(next)]
            );
        }
    }

    proptest! {
        #[test]
        fn requests_come_back_however_the_stream_is_cut(
            serial in any::<u32>(),
            options in "[a-z=,%/.0-9]{1,600}",
            cut in 1usize..40,
        ) {
            let request = Request::Start(options);
            let mut bytes = encode_request(serial, &request);
            let next = Frame { serial: 2, command: Command::ForceGc };
            bytes.extend(next.encode());
            let parts: Vec<&[u8]> = bytes.chunks(cut).collect();
            let line = request.to_string();
            prop_assert_eq!(
                read(&parts),
                [Incoming::Request { serial, line }, Incoming::Command(next)]
            );
        }
    }

    #[test]
    fn a_request_that_is_too_long_is_skipped() {
        let request = Request::Start("x".repeat(MAX_REQUEST));
        let mut bytes = encode_request(1, &request);
        let length = bytes.len() as u32 - HEAD as u32;
        let next = Frame {
            serial: 2,
            command: Command::ForceGc,
        };
        bytes.extend(next.encode());
        let error = FrameError::LongRequest(length);
        let bad = Incoming::Bad { serial: 1, error };
        assert_eq!(read(&[&bytes]), [bad, Incoming::Command(next)]);
    }

    #[test]
    fn nothing_counts_behind_eof() {
        let eof = Incoming::Command(Frame {
            serial: 0,
            command: Command::Eof,
        });
        assert_eq!(read(&[&[0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0]]), [eof]);
    }

    #[test]
    fn the_longest_length_takes_no_memory_and_completes_nothing() {
        let mut reader = FrameReader::new();
        let no_frame = |incoming| panic!("{incoming:?}");
        reader.push(&[1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], no_frame);
        for _ in 0..1000 {
            reader.push(&[1; 4096], no_frame);
        }
        assert!(reader.is_inside() && !reader.has_ended());
    }
}
