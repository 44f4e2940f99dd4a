//! The tables of names together: methods, frames and traces.

use std::fmt;
use std::io;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::{Frame, Line, MethodName, Trace};
use hprof_format::text::NO_STACK;
use hprof_format::writer::ProfileWriter;

use super::HiddenNames;
use super::methods::{FrameId, Method, MethodTable};
use super::resolver::{Location, Resolver};
use super::traces::TraceTable;
use crate::vm::Vm;

/// Methods, frames and traces of a profile.
pub struct Names {
    /// All methods and frames.
    pub methods: MethodTable,
    /// All traces.
    pub traces: TraceTable,
    resolver: Resolver,
    /// Frames of the stack at hand.
    frames: Vec<FrameId>,
}

impl Names {
    /// Empty tables that grow up to about `memory` bytes. `lines` tells whether frames have line
    /// numbers.
    pub fn new(hidden: HiddenNames, lines: bool, memory: usize) -> Self {
        Self {
            methods: MethodTable::new(hidden),
            traces: TraceTable::new(memory),
            resolver: Resolver::new(lines),
            frames: Vec::new(),
        }
    }

    /// About how many bytes methods and traces take.
    pub fn bytes(&self) -> usize {
        self.traces.bytes() + self.methods.bytes()
    }

    /// How many methods had no names any more when they were looked up.
    pub fn unknown_methods(&self) -> u64 {
        self.resolver.unknown_methods()
    }

    /// Forgets what the VM said about methods long ago. Called between samples.
    pub fn refresh(&mut self) {
        self.resolver.refresh();
    }

    /// Writes those of the traces that the profile lacks.
    ///
    /// # Errors
    /// Errors of `writer`.
    pub fn write_traces(
        &self,
        writer: &mut dyn ProfileWriter,
        serials: impl Iterator<Item = TraceSerial>,
    ) -> io::Result<()> {
        for serial in serials {
            if !writer.has_trace(serial) {
                let (thread, frames) = self.traces.get(serial);
                let frames: Vec<Frame<'_>> = frames
                    .iter()
                    .map(|&frame| self.methods.describe(frame))
                    .collect();
                writer.trace(&Trace {
                    serial,
                    thread,
                    frames: &frames,
                })?;
            }
        }
        Ok(())
    }

    /// The method of a trace's innermost frame.
    pub fn innermost(&self, trace: TraceSerial) -> Option<MethodName<'_>> {
        let (_, frames) = self.traces.get(trace);
        frames.first().map(|&frame| self.methods.name(frame))
    }

    /// The frames of a stack, innermost first.
    pub fn resolve(&mut self, vm: Vm<'_>, stack: impl Iterator<Item = Location>) -> Vec<FrameId> {
        stack
            .map(|location| self.resolver.frame(vm, &mut self.methods, location))
            .collect()
    }

    /// The trace of a stack that the VM gave.
    pub fn intern(
        &mut self,
        vm: Vm<'_>,
        thread: Option<ThreadSerial>,
        stack: impl Iterator<Item = Location>,
    ) -> TraceSerial {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        frames.extend(stack.map(|at| self.resolver.frame(vm, &mut self.methods, at)));
        let trace = self.intern_frames(thread, &frames);
        self.frames = frames;
        trace
    }

    /// The trace of methods and the lines that they begin with.
    pub fn intern_path(
        &mut self,
        thread: Option<ThreadSerial>,
        path: impl IntoIterator<Item = (Method, Option<u16>)>,
    ) -> TraceSerial {
        let lines_wanted = self.resolver.lines_wanted();
        self.frames.clear();
        for (method, line) in path {
            let line = match line.filter(|&line| lines_wanted && line > 0) {
                Some(line) => Line::Number(u32::from(line)),
                None => Line::Unknown,
            };
            let method = self.methods.intern(method);
            self.frames.push(self.methods.frame(method, line));
        }
        self.traces.intern(&self.methods, thread, &self.frames)
    }

    /// The trace of a stack that the VM gave, below which a frame stands that is no method's.
    pub fn intern_rooted(
        &mut self,
        vm: Vm<'_>,
        thread: Option<ThreadSerial>,
        stack: impl Iterator<Item = Location>,
        root: &str,
    ) -> TraceSerial {
        self.intern_between(vm, thread, (&[], stack, Some(root)))
    }

    /// The trace of a stack that the VM gave, between frames that are no methods': those that it has called, innermost
    /// first, and the root.
    pub fn intern_between(
        &mut self,
        vm: Vm<'_>,
        thread: Option<ThreadSerial>,
        (inner, stack, root): (&[FrameId], impl Iterator<Item = Location>, Option<&str>),
    ) -> TraceSerial {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        frames.extend(stack.map(|at| self.resolver.frame(vm, &mut self.methods, at)));
        frames.truncate(self.own(&frames).len());
        frames.splice(..0, inner.iter().copied());
        frames.extend(root.map(|root| self.label(root)));
        let trace = self.traces.intern(&self.methods, thread, &frames);
        self.frames = frames;
        trace
    }

    /// The trace of one frame that is no method's.
    pub fn intern_label(&mut self, thread: Option<ThreadSerial>, label: &str) -> TraceSerial {
        let frame = self.label(label);
        self.traces.intern(&self.methods, thread, &[frame])
    }

    /// The trace itself, or one with a frame that says so if it has none: see [`NO_STACK`].
    pub fn with_a_frame(&mut self, trace: TraceSerial) -> TraceSerial {
        match self.traces.get(trace) {
            (thread, []) => self.intern_label(thread, NO_STACK),
            _ => trace,
        }
    }

    /// A frame that is no method's. Its class has no name, so readers show the label alone.
    pub fn label(&mut self, label: &str) -> FrameId {
        let method = self.methods.intern(Method {
            class_name: String::new(),
            name: label.to_owned(),
            descriptor: "()V".to_owned(),
            source_file: None,
        });
        self.methods.frame(method, Line::Unknown)
    }

    /// The trace of no frames.
    pub fn intern_empty(&mut self, thread: Option<ThreadSerial>) -> TraceSerial {
        self.traces.intern(&self.methods, thread, &[])
    }

    /// The trace of these frames, innermost first. The frames of a carrier thread below a virtual
    /// thread's are left out: its stack ends where its continuation was entered.
    pub fn intern_frames(
        &mut self,
        thread: Option<ThreadSerial>,
        frames: &[FrameId],
    ) -> TraceSerial {
        let own = self.own(frames);
        self.traces.intern(&self.methods, thread, own)
    }

    /// A stack without the frames of a carrier thread below a virtual thread's.
    fn own<'a>(&self, frames: &'a [FrameId]) -> &'a [FrameId] {
        frames
            .iter()
            .position(|&frame| self.methods.is_continuation_entry(frame))
            .filter(|&length| length > 0)
            .map_or(frames, |length| &frames[..length])
    }
}

/// Figures about the tables, for `logflags=2`.
impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} traces={} traces_cut={} trace_bytes={}",
            self.methods,
            self.traces.count(),
            self.traces.cut(),
            self.traces.bytes(),
        )
    }
}
