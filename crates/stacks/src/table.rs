//! The traces of a file and their frames.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::Line;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::family::family;

/// One frame: a method and a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The class as Java source has it; empty if the file does not tell.
    pub class_name: Box<str>,
    /// The method.
    pub method: Box<str>,
    /// The source file.
    pub source_file: Option<Box<str>>,
    /// The line.
    pub line: Line,
}

impl Frame {
    /// Class and method with a dot between. The class is without the address of a hidden class,
    /// which means nothing to people and differs from run to run.
    pub fn name(&self) -> String {
        if self.class_name.is_empty() {
            self.method.to_string()
        } else {
            format!("{}.{}", family(&self.class_name), self.method)
        }
    }

    /// File and line as Java prints them.
    pub fn place(&self) -> String {
        let file = self.source_file.as_deref();
        match (file, self.line) {
            (_, Line::Native) => "Native Method".to_owned(),
            (Some(file), Line::Number(line)) => format!("{file}:{line}"),
            (Some(file), Line::Unknown) => file.to_owned(),
            (None, Line::Number(line)) => format!("line {line}"),
            (None, Line::Unknown) => "Unknown Source".to_owned(),
        }
    }
}

/// All that makes a frame.
fn parts_of(frame: &Frame) -> (&str, &str, Option<&str>, Line) {
    let file = frame.source_file.as_deref();
    (&frame.class_name, &frame.method, file, frame.line)
}

/// The place of a frame in a [`Stacks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameIndex(u32);

/// A trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The thread, if the file keeps threads apart.
    pub thread: Option<ThreadSerial>,
    /// The frames, innermost first. Traces of several threads may share them.
    pub frames: Arc<[FrameIndex]>,
}

/// All traces of a file. Equal frames are held once.
#[derive(Debug, Clone, Default)]
pub struct Stacks {
    frames: Vec<Frame>,
    /// Finds a frame by what it holds, which lies in `frames` only.
    index: HashTable<FrameIndex>,
    traces: FxHashMap<TraceSerial, Trace>,
}

impl Stacks {
    /// Changes frames, such as their names. Frames that are equal afterwards stay apart.
    pub fn change_frames(&mut self, change: impl FnMut(&mut Frame)) {
        self.frames.iter_mut().for_each(change);
        self.index.clear();
    }

    /// Puts other frames in the place of each, innermost first, in all traces.
    pub fn expand_frames(&mut self, mut expand: impl FnMut(&Frame) -> Vec<Frame>) {
        let old = std::mem::take(&mut self.frames);
        self.index.clear();
        let new: Vec<Box<[FrameIndex]>> = old
            .iter()
            .map(|frame| {
                let frames = expand(frame).into_iter();
                frames.map(|frame| self.intern(frame)).collect()
            })
            .collect();
        for trace in self.traces.values_mut() {
            let frames = trace.frames.iter();
            let frames = frames.flat_map(|frame| new[frame.0 as usize].iter().copied());
            trace.frames = frames.collect();
        }
    }

    /// Adds a frame, or finds it.
    pub fn intern(&mut self, frame: Frame) -> FrameIndex {
        let Self { frames, index, .. } = self;
        let hash_of = |frame: &Frame| FxBuildHasher.hash_one(parts_of(frame));
        let place = index.entry(
            hash_of(&frame),
            |known| frames[known.0 as usize] == frame,
            |known| hash_of(&frames[known.0 as usize]),
        );
        match place {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let added = FrameIndex(frames.len() as u32);
                new.insert(added);
                frames.push(frame);
                added
            }
        }
    }

    /// Adds a frame of borrowed parts, or finds it without a copy of them.
    pub fn intern_parts(
        &mut self,
        class_name: &str,
        method: &str,
        source_file: Option<&str>,
        line: Line,
    ) -> FrameIndex {
        let Self { frames, index, .. } = self;
        let parts = (class_name, method, source_file, line);
        let place = index.entry(
            FxBuildHasher.hash_one(parts),
            |known| parts_of(&frames[known.0 as usize]) == parts,
            |known| FxBuildHasher.hash_one(parts_of(&frames[known.0 as usize])),
        );
        match place {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let added = FrameIndex(frames.len() as u32);
                new.insert(added);
                frames.push(Frame {
                    class_name: class_name.into(),
                    method: method.into(),
                    source_file: source_file.map(Into::into),
                    line,
                });
                added
            }
        }
    }

    /// Leaves the innermost frames of each stack only.
    pub fn cut_to(&mut self, depth: usize) {
        for trace in self.traces.values_mut() {
            if trace.frames.len() > depth {
                trace.frames = trace.frames[..depth].into();
            }
        }
    }

    /// Adds a trace. If a serial comes twice, the first stays.
    pub fn add(&mut self, serial: TraceSerial, trace: Trace) {
        self.traces.entry(serial).or_insert(trace);
    }

    /// A frame.
    pub fn frame(&self, index: FrameIndex) -> &Frame {
        &self.frames[index.0 as usize]
    }

    /// The trace with a serial.
    pub fn trace(&self, serial: TraceSerial) -> Option<&Trace> {
        self.traces.get(&serial)
    }

    /// The frames of a trace, innermost first; none if the file lacks it.
    pub fn frames_of(&self, serial: TraceSerial) -> &[FrameIndex] {
        self.trace(serial).map_or(&[], |trace| &trace.frames)
    }

    /// All traces in the order of their serials.
    pub fn traces(&self) -> Vec<(TraceSerial, &Trace)> {
        let mut all: Vec<_> = self.traces.iter().map(|(&serial, t)| (serial, t)).collect();
        all.sort_by_key(|&(serial, _)| serial);
        all
    }

    /// The number of traces.
    pub fn len(&self) -> usize {
        self.traces.len()
    }

    /// True if there is no trace.
    pub fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    /// The number of different frames.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }
}
