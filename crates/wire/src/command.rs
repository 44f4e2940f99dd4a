//! The commands of the manual ("Socket Connection and Communication") and of the JDK's agent, as
//! frames:
//!
//! ```text
//! u1 tag   u4 serial number   u4 length of the body   body
//! ```
//!
//! Numbers are big-endian. [`Command::Eof`] is its tag alone. The manual and the JDK's agent differ
//! in the sub-commands of CONTROL from 6 on; both are understood:
//!
//! | Sub-command | Manual | JDK's agent | Here |
//! |---|---|---|---|
//! | 6 without more | - | clear the table of sites | [`Control::ClearSites`] |
//! | 6 with u2 | maximal depth of traces | (clears the sites) | [`Control::Depth`] |
//! | 7 with u2 | - | maximal depth of traces | [`Control::Depth`] |
//!
//! The thread of sub-commands 3 and 4 is the object id of its START THREAD record, as wide as ids
//! are in the stream; the body's length tells four bytes from eight. Depth is sent as 7.
//!
//! [`tag::REQUEST`] is an addition: its body is a line of [`control`](crate::control), so that a
//! front-end can ask what the control socket is asked. Other agents pass over it.

use crate::control::{MAX_REQUEST, Request};

/// Tags of commands.
pub mod tag {
    #![allow(missing_docs)]
    pub const FORCE_GC: u8 = 0x01;
    pub const DUMP_HEAP: u8 = 0x02;
    pub const ALLOC_SITES: u8 = 0x03;
    pub const HEAP_SUMMARY: u8 = 0x04;
    pub const EXIT: u8 = 0x05;
    pub const DUMP_TRACES: u8 = 0x06;
    pub const CPU_SAMPLES: u8 = 0x07;
    pub const CONTROL: u8 = 0x08;
    pub const REQUEST: u8 = 0x40;
    pub const EOF: u8 = 0xff;
}

/// Bytes of tag, serial number and length.
pub const HEAD: usize = 9;

/// The most bytes of a body that mean something: a CONTROL with an id of eight bytes.
pub const MAX_BODY: usize = 10;

/// A command of the front-end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command {
    /// Collect garbage.
    ForceGc,
    /// Write a heap dump.
    DumpHeap,
    /// Write the table of allocation sites.
    AllocSites {
        /// The selection of sites.
        flags: SiteFlags,
        /// Rows below this share of the total are left out: 0.0 to 1.0.
        cutoff: f32,
    },
    /// Write the totals of the heap.
    HeapSummary,
    /// End the VM.
    Exit,
    /// Write all traces that the stream lacks.
    DumpTraces,
    /// Write the table of CPU samples.
    CpuSamples {
        /// Ignored by every agent.
        flags: u16,
        /// Rows below this share of the total are left out: 0.0 to 1.0.
        cutoff: f32,
    },
    /// Change what is recorded.
    Control(Control),
    /// No more commands follow.
    Eof,
}

/// The flags of ALLOC SITES, in the command and in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteFlags {
    /// Only sites that have changed since the last table (1).
    pub incremental: bool,
    /// Ordered by bytes ever allocated instead of bytes alive (2).
    pub by_allocated: bool,
    /// After a garbage collection (4).
    pub force_gc: bool,
}

impl SiteFlags {
    /// The flags as bits; unknown ones are dropped.
    #[must_use]
    pub fn from_bits(bits: u16) -> Self {
        Self {
            incremental: bits & 1 != 0,
            by_allocated: bits & 2 != 0,
            force_gc: bits & 4 != 0,
        }
    }

    /// The bits.
    #[must_use]
    pub fn bits(self) -> u16 {
        u16::from(self.incremental)
            | u16::from(self.by_allocated) << 1
            | u16::from(self.force_gc) << 2
    }
}

/// The object id of a thread in its START THREAD record; 0 means all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadObject {
    /// In a stream with ids of four bytes.
    Narrow(u32),
    /// In a stream with ids of eight bytes.
    Wide(u64),
}

impl ThreadObject {
    /// Stands for all threads, whatever the width of ids.
    pub const ALL: Self = Self::Narrow(0);

    /// The id.
    #[must_use]
    pub fn get(self) -> u64 {
        match self {
            Self::Narrow(id) => u64::from(id),
            Self::Wide(id) => id,
        }
    }

    /// The id with its bytes in reverse order: the JDK's agent reads it in the byte order of its
    /// machine, so front-ends made for it on x86 send it this way round.
    #[must_use]
    pub fn swapped(self) -> u64 {
        match self {
            Self::Narrow(id) => u64::from(id.swap_bytes()),
            Self::Wide(id) => id.swap_bytes(),
        }
    }
}

/// Sub-commands of CONTROL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Record allocations from now on (1).
    AllocTracesOn,
    /// Record no more allocations (2).
    AllocTracesOff,
    /// Sample this thread, or all (3).
    CpuSamplingOn(ThreadObject),
    /// Do not sample this thread, or none at all (4).
    CpuSamplingOff(ThreadObject),
    /// Set all counts of samples and times to zero (5).
    ClearCpu,
    /// Set all figures of allocation sites to zero (6 of the JDK's agent).
    ClearSites,
    /// The greatest number of frames in traces to come (6 of the manual, 7 of the JDK's agent).
    Depth(u16),
}

/// A command with the number that its sender gave it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Any number. The JDK's agent ignores it; ours repeats it in its marks.
    pub serial: u32,
    /// The command.
    pub command: Command,
}

/// Why a frame is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No command has this tag.
    #[error("unknown command 0x{0:02x}")]
    UnknownTag(u8),
    /// The body lacks something.
    #[error("command 0x{tag:02x} needs {needed} bytes and has {found}")]
    ShortBody {
        /// Its tag.
        tag: u8,
        /// The fewest bytes that would do.
        needed: u32,
        /// How many there are.
        found: u32,
    },
    /// CONTROL with an unknown sub-command.
    #[error("unknown sub-command {0} of CONTROL")]
    UnknownControl(u16),
    /// A request that is longer than any.
    #[error("a request of {0} bytes; {MAX_REQUEST} are allowed")]
    LongRequest(u32),
    /// A request that is no text.
    #[error("a request that is not UTF-8")]
    NoText,
}

impl Frame {
    /// The bytes to send.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let tag = match self.command {
            Command::Eof => return vec![tag::EOF],
            Command::ForceGc => tag::FORCE_GC,
            Command::DumpHeap => tag::DUMP_HEAP,
            Command::HeapSummary => tag::HEAP_SUMMARY,
            Command::Exit => tag::EXIT,
            Command::DumpTraces => tag::DUMP_TRACES,
            Command::AllocSites { flags, cutoff } => {
                body.extend(flags.bits().to_be_bytes());
                body.extend(cutoff.to_be_bytes());
                tag::ALLOC_SITES
            }
            Command::CpuSamples { flags, cutoff } => {
                body.extend(flags.to_be_bytes());
                body.extend(cutoff.to_be_bytes());
                tag::CPU_SAMPLES
            }
            Command::Control(control) => {
                control.encode(&mut body);
                tag::CONTROL
            }
        };
        framed(tag, self.serial, &body)
    }
}

/// The bytes of a request, which the agent answers with marks of this number.
#[must_use]
pub fn encode_request(serial: u32, request: &Request) -> Vec<u8> {
    framed(tag::REQUEST, serial, request.to_string().as_bytes())
}

fn framed(tag: u8, serial: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(serial.to_be_bytes());
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    bytes
}

impl Command {
    /// Reads a command. `body` is the beginning of a body of `length` bytes: all of it, or its
    /// first [`MAX_BODY`] bytes. The rest of a longer body is ignored.
    ///
    /// # Errors
    /// [`FrameError`].
    pub fn decode(tag: u8, body: &[u8], length: u32) -> Result<Self, FrameError> {
        let short = |needed| FrameError::ShortBody {
            tag,
            needed,
            found: length,
        };
        let with_cutoff = || {
            let (flags, rest) = body.split_first_chunk::<2>().ok_or(short(6))?;
            let cutoff = rest.first_chunk::<4>().ok_or(short(6))?;
            Ok((u16::from_be_bytes(*flags), f32::from_be_bytes(*cutoff)))
        };
        Ok(match tag {
            tag::FORCE_GC => Self::ForceGc,
            tag::DUMP_HEAP => Self::DumpHeap,
            tag::HEAP_SUMMARY => Self::HeapSummary,
            tag::EXIT => Self::Exit,
            tag::DUMP_TRACES => Self::DumpTraces,
            tag::ALLOC_SITES => {
                let (flags, cutoff) = with_cutoff()?;
                let flags = SiteFlags::from_bits(flags);
                Self::AllocSites { flags, cutoff }
            }
            tag::CPU_SAMPLES => {
                let (flags, cutoff) = with_cutoff()?;
                Self::CpuSamples { flags, cutoff }
            }
            tag::CONTROL => Self::Control(Control::decode(body, length)?),
            tag::EOF => Self::Eof,
            unknown => return Err(FrameError::UnknownTag(unknown)),
        })
    }
}

impl Control {
    fn encode(self, body: &mut Vec<u8>) {
        let (number, thread) = match self {
            Self::AllocTracesOn => (1u16, None),
            Self::AllocTracesOff => (2, None),
            Self::CpuSamplingOn(thread) => (3, Some(thread)),
            Self::CpuSamplingOff(thread) => (4, Some(thread)),
            Self::ClearCpu => (5, None),
            Self::ClearSites => (6, None),
            Self::Depth(_) => (7, None),
        };
        body.extend(number.to_be_bytes());
        match thread {
            Some(ThreadObject::Narrow(id)) => body.extend(id.to_be_bytes()),
            Some(ThreadObject::Wide(id)) => body.extend(id.to_be_bytes()),
            None => {}
        }
        if let Self::Depth(depth) = self {
            body.extend(depth.to_be_bytes());
        }
    }

    fn decode(body: &[u8], length: u32) -> Result<Self, FrameError> {
        let short = |needed| FrameError::ShortBody {
            tag: tag::CONTROL,
            needed,
            found: length,
        };
        let (number, rest) = body.split_first_chunk::<2>().ok_or(short(2))?;
        let number = u16::from_be_bytes(*number);
        let thread = || match (rest.first_chunk::<8>(), rest.first_chunk::<4>()) {
            (Some(id), _) => Ok(ThreadObject::Wide(u64::from_be_bytes(*id))),
            (None, Some(id)) => Ok(ThreadObject::Narrow(u32::from_be_bytes(*id))),
            (None, None) => Err(short(6)),
        };
        let depth = rest.first_chunk().map(|depth| u16::from_be_bytes(*depth));
        Ok(match (number, depth) {
            (1, _) => Self::AllocTracesOn,
            (2, _) => Self::AllocTracesOff,
            (3, _) => Self::CpuSamplingOn(thread()?),
            (4, _) => Self::CpuSamplingOff(thread()?),
            (5, _) => Self::ClearCpu,
            (6, None) => Self::ClearSites,
            (6 | 7, Some(depth)) => Self::Depth(depth),
            (7, None) => return Err(short(4)),
            _ => return Err(FrameError::UnknownControl(number)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(body: &[u8]) -> Result<Command, FrameError> {
        Command::decode(tag::CONTROL, body, body.len() as u32)
    }

    #[test]
    fn both_numberings_of_the_depth_are_understood() {
        let depth = Ok(Command::Control(Control::Depth(9)));
        assert_eq!(control(&[0, 6, 0, 9]), depth);
        assert_eq!(control(&[0, 7, 0, 9]), depth);
        let clear = Ok(Command::Control(Control::ClearSites));
        assert_eq!(control(&[0, 6]), clear);
        assert!(matches!(
            control(&[0, 7]),
            Err(FrameError::ShortBody { needed: 4, .. })
        ));
        assert_eq!(control(&[0, 8]), Err(FrameError::UnknownControl(8)));
    }

    #[test]
    fn the_length_tells_the_width_of_a_thread() {
        let narrow = control(&[0, 3, 0x50, 0, 0, 9]);
        let on = |thread| Ok(Command::Control(Control::CpuSamplingOn(thread)));
        assert_eq!(narrow, on(ThreadObject::Narrow(0x5000_0009)));
        let wide = control(&[0, 3, 0, 0, 0, 0, 0x50, 0, 0, 9]);
        assert_eq!(wide, on(ThreadObject::Wide(0x5000_0009)));
        assert_eq!(ThreadObject::Narrow(0x0900_0050).swapped(), 0x5000_0009);
    }

    #[test]
    fn a_frame_has_the_bytes_of_the_manual() {
        let command = Command::AllocSites {
            flags: SiteFlags::from_bits(6),
            cutoff: 0.5,
        };
        let bytes = Frame { serial: 7, command }.encode();
        assert_eq!(
            bytes,
            [3, 0, 0, 0, 7, 0, 0, 0, 6, 0, 6, 0x3f, 0, 0, 0],
            "tag, serial, length, flags, cutoff"
        );
    }
}
