//! The tables of the profile thread: methods, traces, samples.

use std::io;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::{Frame, Line, Trace};
use hprof_format::writer::ProfileWriter;

use crate::call_times::PathMethod;
use crate::cpu_samples::safepoint::SafepointSample;
use crate::cpu_samples::signal::{AsgctFrame, NATIVE_LOCATION, Sample, WalkFailure};
use crate::cpu_samples::{Samples, intern_stack};
use crate::names::{FrameId, Location, MethodTable, Resolver, TraceTable};
use crate::vm::{Jni, Jvmti};

pub(super) struct Tables {
    pub(super) methods: MethodTable,
    pub(super) resolver: Resolver,
    pub(super) traces: TraceTable,
    /// The serial of the profile thread, when a heap dump has shown it.
    pub(super) own_thread: Option<ThreadSerial>,
    /// The generation of the output that has shown it.
    pub(super) own_thread_in: u32,
    pub(super) samples: Samples,
    pub(super) per_thread: bool,
    pub(super) scratch: Vec<FrameId>,
}

impl Tables {
    /// Rough bytes of methods and traces.
    pub(super) fn bytes(&self) -> usize {
        self.traces.bytes() + self.methods.bytes()
    }

    /// Writes those of the traces that the file lacks.
    pub(super) fn write_traces(
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

    pub(super) fn add_signal_sample(&mut self, jvmti: &Jvmti, jni: &Jni, sample: &Sample<'_>) {
        let thread = match sample.virtual_thread {
            0 => sample.thread,
            virtual_thread => virtual_thread,
        };
        let thread = self.per_thread.then(|| ThreadSerial::new(thread));
        let weight = u64::from(sample.weight);
        match sample.frames {
            Ok(frames) => {
                let trace = self.intern(jvmti, jni, thread, frames.iter().map(location));
                self.samples.add(trace, weight);
            }
            Err(code) => {
                let trace = self.traces.intern(&self.methods, thread, &[]);
                self.samples
                    .add_failure(trace, WalkFailure::from_code(code), weight);
            }
        }
    }

    pub(super) fn add_safepoint_sample(
        &mut self,
        jvmti: &Jvmti,
        jni: &Jni,
        sample: &SafepointSample,
    ) {
        let thread = self.per_thread.then(|| ThreadSerial::new(sample.thread));
        if sample.frames.is_empty() {
            let trace = self.traces.intern(&self.methods, thread, &[]);
            self.samples
                .add_failure(trace, WalkFailure::NoJavaFrame, sample.weight);
        } else {
            let trace = self.intern(jvmti, jni, thread, sample.frames.iter().copied());
            self.samples.add(trace, sample.weight);
        }
    }

    /// The frames of a stack.
    pub(super) fn resolve(
        &mut self,
        jvmti: &Jvmti,
        jni: &Jni,
        stack: impl Iterator<Item = Location>,
    ) -> Vec<FrameId> {
        let Self {
            methods, resolver, ..
        } = self;
        stack
            .map(|location| resolver.frame(jvmti, jni, methods, location))
            .collect()
    }

    pub(super) fn intern_path(
        &mut self,
        thread: Option<ThreadSerial>,
        path: Vec<PathMethod>,
    ) -> TraceSerial {
        let lines_wanted = self.resolver.lines_wanted();
        self.scratch.clear();
        for PathMethod { method, line } in path {
            let line = match line.filter(|&line| lines_wanted && line > 0) {
                Some(line) => Line::Number(u32::from(line)),
                None => Line::Unknown,
            };
            let method = self.methods.intern(method);
            self.scratch.push(self.methods.frame(method, line));
        }
        self.traces.intern(&self.methods, thread, &self.scratch)
    }

    pub(super) fn intern(
        &mut self,
        jvmti: &Jvmti,
        jni: &Jni,
        thread: Option<ThreadSerial>,
        stack: impl Iterator<Item = Location>,
    ) -> TraceSerial {
        let Self {
            methods,
            resolver,
            traces,
            scratch,
            ..
        } = self;
        scratch.clear();
        scratch.extend(stack.map(|location| resolver.frame(jvmti, jni, methods, location)));
        intern_stack(methods, traces, thread, scratch)
    }
}

fn location(frame: &AsgctFrame) -> Location {
    let bytecode = match frame.location {
        NATIVE_LOCATION => None,
        index => Some(u32::try_from(index).unwrap_or(0)),
    };
    Location {
        method: frame.method,
        bytecode,
    }
}
