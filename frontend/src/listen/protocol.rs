//! The commands of the wire that carry out an order, and what answers them.

use hprof_format::binary::IdSize;
use hprof_wire::command::{Command, Control, ThreadObject};

use super::follow::{Kind, Part};
use super::script::Order;

impl Order {
    /// The command for an agent. That of the JDK reads ids in the byte order of its machine.
    pub(super) fn command(&self, kind: Option<Kind>, is_ours: bool) -> Command {
        let thread = |id: u64| match kind {
            Some(Kind::Binary(IdSize::Eight)) => ThreadObject::Wide(id),
            _ if is_ours => ThreadObject::Narrow(id as u32),
            _ => ThreadObject::Narrow((id as u32).swap_bytes()),
        };
        match *self {
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
        }
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
        self.part().is_some() || *self == Self::Exit
    }
}
