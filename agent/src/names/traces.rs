//! Traces: depth-limited lists of frames, each with a serial.

use hashbrown::{DefaultHashBuilder, HashTable};
use hprof_format::ids::{ThreadSerial, TraceSerial};
use std::hash::BuildHasher;

use super::methods::{FrameId, MethodTable};

/// All traces seen. The first is the system trace, which has no frames.
pub struct TraceTable {
    traces: Vec<Entry>,
    frames: Vec<FrameId>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    limit: usize,
    cut: u64,
}

struct Entry {
    thread: Option<ThreadSerial>,
    first_frame: usize,
    frame_count: usize,
}

/// Rough bytes for each trace, besides its frames: the entry, its place in the
/// index, and its count.
const TRACE_OVERHEAD: usize = size_of::<Entry>() + 24;

impl TraceTable {
    /// A table that, together with the methods, takes about `limit` bytes.
    pub fn new(limit: usize) -> Self {
        let system = Entry {
            thread: None,
            first_frame: 0,
            frame_count: 0,
        };
        Self {
            traces: vec![system],
            frames: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            limit,
            cut: 0,
        }
    }

    /// The serial of a trace, new or known. When the memory limit is reached, a
    /// new trace is cut to its innermost frame, and beyond twice the limit to
    /// none; both are counted.
    pub fn intern(
        &mut self,
        methods: &MethodTable,
        thread: Option<ThreadSerial>,
        frames: &[FrameId],
    ) -> TraceSerial {
        if frames.is_empty() && thread.is_none() {
            return TraceSerial::SYSTEM;
        }
        let used = self.bytes() + methods.bytes();
        if used >= self.limit {
            if let Some(serial) = self.find(thread, frames) {
                return serial;
            }
            self.cut += 1;
            if used >= 2 * self.limit {
                return TraceSerial::SYSTEM;
            }
            return self.intern_whole(thread, frames.get(..1).unwrap_or_default());
        }
        self.intern_whole(thread, frames)
    }

    /// A serial for a trace that is kept elsewhere.
    pub fn new_serial(&mut self) -> TraceSerial {
        let number = u32::try_from(self.traces.len()).unwrap_or(u32::MAX);
        self.traces.push(Entry {
            thread: None,
            first_frame: 0,
            frame_count: 0,
        });
        serial(number)
    }

    fn intern_whole(&mut self, thread: Option<ThreadSerial>, frames: &[FrameId]) -> TraceSerial {
        if let Some(serial) = self.find(thread, frames) {
            return serial;
        }
        let number = u32::try_from(self.traces.len()).unwrap_or(u32::MAX);
        let first_frame = self.frames.len();
        self.frames.extend_from_slice(frames);
        self.traces.push(Entry {
            thread,
            first_frame,
            frame_count: frames.len(),
        });
        let hash = self.hasher.hash_one((thread, frames));
        let Self {
            index,
            traces,
            frames,
            hasher,
            ..
        } = self;
        index.insert_unique(hash, number, |&other| {
            let entry = &traces[other as usize];
            hasher.hash_one((entry.thread, entry.frames(frames)))
        });
        serial(number)
    }

    fn find(&self, thread: Option<ThreadSerial>, frames: &[FrameId]) -> Option<TraceSerial> {
        let hash = self.hasher.hash_one((thread, frames));
        let same = |&number: &u32| {
            let entry = &self.traces[number as usize];
            entry.thread == thread && entry.frames(&self.frames) == frames
        };
        self.index.find(hash, same).map(|&number| serial(number))
    }

    /// The serials of all traces but the system trace.
    pub fn serials(&self) -> impl Iterator<Item = TraceSerial> + use<> {
        (1..u32::try_from(self.traces.len()).unwrap_or(u32::MAX)).map(serial)
    }

    /// The thread of a trace (with `thread=y`) and its frames, innermost first.
    pub fn get(&self, trace: TraceSerial) -> (Option<ThreadSerial>, &[FrameId]) {
        let number = trace.get().saturating_sub(TraceSerial::BASE) as usize;
        match self.traces.get(number) {
            Some(entry) => (entry.thread, entry.frames(&self.frames)),
            None => (None, &[]),
        }
    }

    /// How often a trace was cut because the memory limit was reached.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// How many traces there are.
    pub fn count(&self) -> usize {
        self.traces.len()
    }

    /// Rough bytes of the table.
    pub fn bytes(&self) -> usize {
        self.traces.len() * TRACE_OVERHEAD + self.frames.len() * size_of::<FrameId>()
    }
}

impl Entry {
    fn frames<'a>(&self, all: &'a [FrameId]) -> &'a [FrameId] {
        &all[self.first_frame..self.first_frame + self.frame_count]
    }
}

fn serial(number: u32) -> TraceSerial {
    TraceSerial::new(TraceSerial::BASE.saturating_add(number))
}

#[cfg(test)]
mod tests {
    use super::super::class_name::HiddenNames;
    use super::super::methods::Method;
    use super::*;
    use hprof_format::model::Line;

    fn frames(table: &mut MethodTable, count: u32) -> Vec<FrameId> {
        let method = table.intern(Method {
            class_name: "A".into(),
            name: "f".into(),
            descriptor: "()V".into(),
            source_file: None,
        });
        (1..=count)
            .map(|line| table.frame(method, Line::Number(line)))
            .collect()
    }

    #[test]
    fn equal_traces_have_one_serial() {
        let mut methods = MethodTable::new(HiddenNames::Whole);
        let f = frames(&mut methods, 4);
        let mut traces = TraceTable::new(1 << 20);
        let one = traces.intern(&methods, None, &f[..2]);
        assert_eq!(one.get(), TraceSerial::BASE + 1);
        assert_eq!(traces.intern(&methods, None, &f[..2]), one);
        assert_ne!(traces.intern(&methods, None, &f[..3]), one);
        let thread = Some(ThreadSerial::new(200_001));
        let other = traces.intern(&methods, thread, &f[..2]);
        assert_ne!(other, one);
        assert_eq!(traces.get(other), (thread, &f[..2]));
        assert_eq!(traces.intern(&methods, None, &[]), TraceSerial::SYSTEM);
    }

    #[test]
    fn a_full_table_keeps_the_top_frame_and_what_it_knows() {
        let mut methods = MethodTable::new(HiddenNames::Whole);
        let f = frames(&mut methods, 2000);
        let mut traces = TraceTable::new(methods.bytes() + 4096);
        let known = traces.intern(&methods, None, &f[..100]);
        let serials: Vec<_> = (0..1800)
            .map(|n| traces.intern(&methods, None, &f[n..n + 100]))
            .collect();
        assert!(traces.cut() > 0);
        assert_eq!(traces.intern(&methods, None, &f[..100]), known);
        assert_eq!(traces.get(serials[1000]).1, &f[1000..1001]);
        assert!(traces.bytes() + methods.bytes() < 2 * (methods.bytes() + 4096) + 4096);
    }
}
