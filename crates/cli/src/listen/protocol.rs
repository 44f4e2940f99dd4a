//! The commands of the wire that carry out an order, and what answers them.

use hprof_format::binary::IdSize;
use hprof_wire::command::{Command, Control, Frame, ThreadObject, encode_request};
use hprof_wire::control::Request;

use super::follow::{Kind, Part};
use super::script::Order;

impl Order {
    /// The bytes of the command for an agent.
    pub(super) fn encode(&self, serial: u32, kind: Option<Kind>, is_ours: bool) -> Vec<u8> {
        match self.command(kind, is_ours) {
            Ok(command) => Frame { serial, command }.encode(),
            Err(request) => encode_request(serial, request),
        }
    }

    /// The command for an agent, or the request. The JDK's agent reads ids in the byte order of its machine.
    fn command(&self, kind: Option<Kind>, is_ours: bool) -> Result<Command, &Request> {
        let thread = |id: u64| match kind {
            Some(Kind::Binary(IdSize::Eight)) => ThreadObject::Wide(id),
            _ if is_ours => ThreadObject::Narrow(id as u32),
            _ => ThreadObject::Narrow((id as u32).swap_bytes()),
        };
        Ok(match *self {
            Self::Request(ref request) => return Err(request),
            Self::Gc => Command::ForceGc,
            Self::DumpHeap => Command::DumpHeap,
            Self::Sites { flags, cutoff } => Command::AllocSites { flags, cutoff },
            Self::Summary => Command::HeapSummary,
            Self::Exit => Command::Exit,
            Self::Traces => Command::DumpTraces,
            Self::Samples { cutoff } => Command::CpuSamples { flags: 0, cutoff },
            Self::Alloc(true) => Command::Control(Control::AllocTracesOn),
            Self::Alloc(false) => Command::Control(Control::AllocTracesOff),
            Self::Sampling(true, id) => Command::Control(Control::CpuSamplingOn(thread(id))),
            Self::Sampling(false, id) => Command::Control(Control::CpuSamplingOff(thread(id))),
            Self::ClearSamples => Command::Control(Control::ClearCpu),
            Self::ClearSites => Command::Control(Control::ClearSites),
            Self::Depth(depth) => Command::Control(Control::Depth(depth)),
            Self::Eof => Command::Eof,
        })
    }

    /// The part of the stream that answers it, if any.
    pub fn part(&self) -> Option<Part> {
        match self {
            Self::DumpHeap => Some(Part::HeapDump),
            Self::Sites { .. } => Some(Part::Sites),
            Self::Samples { .. } => Some(Part::Samples),
            Self::Summary => Some(Part::Summary),
            _ => None,
        }
    }

    /// True if an answer comes, or the stream ends instead.
    pub(super) fn expects_answer(&self) -> bool {
        self.part().is_some() || matches!(self, Self::Exit | Self::Request(_))
    }
}
