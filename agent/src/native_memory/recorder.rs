//! The recorder of native=SIZE.

use std::collections::BTreeMap;
use std::time::Duration;

use hprof_format::held::Held;
use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{HeapSummary, SiteOrder, SiteRow, SiteTable};
use hprof_format::rank::RankedSiteTable;
use hprof_wire::control::{Mode, Reply};

use super::capture::{Java, MAX_JAVA};
use super::hooks::{self, Function, State};
use super::known::KnownPlaces;
use super::sampler;
use super::stacks::{Stored, Sum};
use crate::cpu_samples::{CSymbols, CodeCache, StackPart, location, make_method_ids};
use crate::os::clock::LocalTime;
use crate::os::imports::{self, Lead};
use crate::os::maps::{Mapping, mappings};
use crate::recording::{Activity, Context, Incomplete, Nothing, Recorder, Run, left_out};
use crate::report;
use crate::vm::{
    Release, StackKeys, StackWalker, StillInside, Vm, VmHandle, VmLibrary, VmStructs, pin_library,
};

/// The frame of stacks that found no room.
const OVERFLOW: &str = "<more stacks than are kept>";
/// Rows of what is held for long.
const MAX_HELD: usize = 30;

/// Writes who allocates native memory.
pub struct NativeRecorder {
    interval: u32,
    state: &'static State,
    symbols: CSymbols,
    /// By the places of stacks.
    traces: Vec<Option<TraceSerial>>,
    /// Stacks that were there at the last look.
    seen: u32,
    /// Objects that were loaded at the last change of import tables; `None` before the first.
    loads: Option<u64>,
    was_stopped: bool,
    has_counted: bool,
    is_reported: bool,
}

/// The rows of a table and what they add up to.
#[derive(Default)]
struct Figures {
    rows: BTreeMap<(TraceSerial, Function), Row>,
    totals: HeapSummary,
}

#[derive(Clone, Copy, Default)]
struct Row {
    allocated: Sum,
    live: Sum,
    /// Allocated in the first half of the recording, and not freed.
    held: Sum,
    /// Milliseconds from the start to the oldest block that is held.
    oldest: Option<u32>,
}

impl NativeRecorder {
    /// A recorder that samples an allocation in `interval` bytes. There must be one at a time.
    pub fn new(interval: u32) -> Self {
        Self {
            interval,
            state: State::the(),
            symbols: CSymbols::default(),
            traces: Vec::new(),
            seen: 0,
            loads: None,
            was_stopped: false,
            has_counted: false,
            is_reported: false,
        }
    }

    /// Allocations of the current thread, one of the agent's, do not count.
    pub fn ignore_current_thread() {
        sampler::ignore_current_thread();
    }

    /// Leads the calls of libraries that were loaded meanwhile to the hooks.
    fn follow_libraries(&mut self) {
        let loads = imports::loads();
        if self.loads == Some(loads) {
            return;
        }
        let changed = self.state.change_imports(Lead::ToHooks);
        // A library that is being loaded now is looked at again.
        self.loads = (changed.waiting == 0).then_some(loads);
        if changed.refused > 0 && !self.is_reported {
            self.is_reported = true;
            report::note(&format!(
                "native=: the kernel refuses to change {} entries of import tables: allocations there are not seen",
                changed.refused
            ));
        }
    }

    /// Looks names of new stacks up, while their classes are loaded.
    fn resolve(&mut self, cx: &mut Context<'_>) -> bool {
        let count = self.state.stacks.count();
        if count == self.seen {
            return false;
        }
        self.seen = count;
        self.traces.resize(self.state.stacks.places(), None);
        for index in 0..self.traces.len() {
            if self.traces.get(index).copied().flatten().is_some() {
                continue;
            }
            let Some(stored) = self.state.stacks.get(index) else {
                continue;
            };
            let trace = self.trace_of(cx, &stored);
            if let Some(place) = self.traces.get_mut(index) {
                *place = Some(trace);
            }
        }
        true
    }

    fn trace_of(&mut self, cx: &mut Context<'_>, stored: &Stored<'_>) -> TraceSerial {
        let per_thread = cx.run.settings.thread;
        let serial = || {
            let known = cx.run.threads.get(stored.thread);
            known.map_or(ThreadSerial::new(0), |known| known.serial)
        };
        let thread = per_thread.then(serial).filter(|serial| serial.get() != 0);
        if stored.is_overflow {
            return cx.names.intern_label(thread, OVERFLOW);
        }
        let mut inner = Vec::new();
        let mut java = Vec::new();
        for frame in &stored.frames {
            match frame.part() {
                StackPart::Code(address) => inner.push(self.symbols.frame(cx.names, address)),
                StackPart::Java => java.push(location(frame)),
                StackPart::Failure(_) => {}
            }
        }
        let trace = cx
            .names
            .intern_between(cx.vm, thread, (&inner, java.into_iter(), None));
        cx.names.with_a_frame(trace)
    }

    fn figures(&self) -> Figures {
        let half = self.state.millis() / 2;
        let mut places: Vec<Row> = vec![Row::default(); self.state.stacks.places()];
        for block in self.state.blocks.all() {
            let Some(row) = places.get_mut(block.stack.0 as usize) else {
                continue;
            };
            row.live.add(block.bytes, block.blocks);
            if block.millis < half {
                row.held.add(block.bytes, block.blocks);
                let oldest = row.oldest.unwrap_or(u32::MAX);
                row.oldest = Some(oldest.min(block.millis));
            }
        }
        let mut figures = Figures::default();
        for (index, live) in places.into_iter().enumerate() {
            let (Some(stored), Some(trace)) = (
                self.state.stacks.get(index),
                self.traces.get(index).copied().flatten(),
            ) else {
                continue;
            };
            // Read after the blocks, so that there are not more of them.
            let allocated = stored.sum();
            if allocated.bytes == 0 {
                continue;
            }
            let row = figures.rows.entry((trace, stored.function)).or_default();
            row.allocated.add(allocated.bytes, allocated.blocks);
            row.live.add(live.live.bytes, live.live.blocks);
            row.held.add(live.held.bytes, live.held.blocks);
            row.oldest = match (row.oldest, live.oldest) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
        for row in figures.rows.values() {
            let totals = &mut figures.totals;
            totals.allocated_bytes += row.allocated.bytes;
            totals.allocated_objects += row.allocated.whole_blocks();
            totals.live_bytes += row.live.bytes;
            totals.live_objects += row.live.whole_blocks();
        }
        figures
    }

    fn write_table(&mut self, cx: &mut Context<'_>) {
        self.resolve(cx);
        let figures = self.figures();
        self.has_counted |= figures.totals.allocated_bytes > 0;
        let rows: Vec<SiteRow<'_>> = figures
            .rows
            .iter()
            .map(|(&(trace, function), row)| SiteRow {
                class_name: function.name(),
                class_id: ObjectId::NULL,
                element: None,
                trace,
                live_bytes: row.live.bytes,
                live_objects: row.live.whole_blocks(),
                allocated_bytes: row.allocated.bytes,
                allocated_objects: row.allocated.whole_blocks(),
            })
            .collect();
        let table = SiteTable {
            order: SiteOrder::LiveBytes,
            is_incremental: false,
            is_after_gc: false,
            totals: figures.totals,
            rows: &rows,
        };
        let table = RankedSiteTable::new(&table, cx.run.settings.cutoff).of_native_memory();
        let general = (!cx.run.settings.modes.cpu_samples).then(|| cx.general_remark());
        let held = held(&figures);
        let names = &*cx.names;
        cx.output.write(|writer| {
            let traces = table.rows().iter().map(|ranked| ranked.row.trace);
            names.write_traces(writer, traces)?;
            writer.site_table(&table, &LocalTime::now().ctime())
        });
        let remarks = [left_out::of_sites(&table), self.counters()];
        let remarks = remarks.iter().chain(&held);
        remarks
            .chain(&general)
            .for_each(|line| cx.output.remark(line));
    }

    /// A remark with the counters of the mode.
    fn counters(&self) -> String {
        let (samples, limited) = self.state.samples();
        format!(
            "hprof-rs: native_interval={} native_samples={samples} native_samples_limited={limited} native_stacks={} native_blocks_followed={} \
             native_blocks_not_followed={} import_entries={} java_frames={}",
            self.interval,
            self.state.stacks.count(),
            self.state.blocks.all().count(),
            self.state.blocks.unfollowed(),
            self.state.entries(),
            if self.state.capture.has_java() {
                'y'
            } else {
                'n'
            },
        )
    }

    /// The walker of Java stacks; `None` where this VM lacks the tables for it.
    fn java(run: &Run, vm: Vm<'_>) -> Option<Java> {
        let structs = VmLibrary::of(vm.jvmti).and_then(VmStructs::of)?;
        Some(Java {
            vm: VmHandle::known()?,
            threads: *run.java_threads.get()?,
            walker: StackWalker::learn(structs, Release::of(vm.jvmti))?,
            cache: CodeCache::of(structs),
            keys: StackKeys::learn(vm.jvmti, vm.jni),
            places: KnownPlaces::new(),
        })
    }
}

/// Remarks on what was allocated in the first half and is still held, the most first.
fn held(figures: &Figures) -> Vec<String> {
    let mut rows: Vec<_> = figures
        .rows
        .iter()
        .filter(|(_, row)| row.held.bytes > 0)
        .collect();
    rows.sort_by_key(|(key, row)| (std::cmp::Reverse(row.held.bytes), **key));
    let line = |(index, ((trace, function), row)): (usize, &(&(TraceSerial, Function), &Row))| {
        let held = Held {
            rank: index + 1,
            bytes: row.held.bytes,
            blocks: row.held.whole_blocks(),
            oldest_millis: row.oldest.unwrap_or(0),
            trace: *trace,
            function: function.name().to_owned(),
        };
        held.to_string()
    };
    rows.iter().take(MAX_HELD).enumerate().map(line).collect()
}

/// The mapping of the agent's own code.
fn own_code() -> std::ops::Range<usize> {
    let mappings = mappings();
    Mapping::of(&mappings, own_code as *const () as usize).map_or(0..0, Mapping::range)
}

impl Recorder for NativeRecorder {
    fn mode(&self) -> Mode {
        Mode::Native
    }

    fn is_on(&self) -> bool {
        true
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        // A thread may be in a hook when nothing else needs the library any more.
        pin_library();
        make_method_ids(cx.vm);
        let java = Self::java(cx.run, cx.vm);
        if java.as_ref().is_some_and(|java| java.keys.is_some()) {
            let _ = StackKeys::watch_unloading(cx.vm.jvmti);
        }
        if java.is_none() && cx.run.settings.depth > 0 {
            report::note(
                "native=: stacks of this VM are not as the agent knows them: they have no frames of Java",
            );
        }
        let depth = cx.run.settings.depth;
        if depth > MAX_JAVA {
            report::note(&format!(
                "native=: stacks have {MAX_JAVA} frames of Java at most"
            ));
        }
        let capture = &self.state.capture;
        capture.set_java(java.filter(|_| depth > 0));
        capture.set_depth(depth);
        capture.set_per_thread(cx.run.settings.thread);
        capture.set_own(own_code());
        sampler::set_interval(self.interval.into());
        let vm = VmLibrary::of(cx.vm.jvmti).and_then(|vm| vm.symbol(c"JNI_CreateJavaVM"));
        self.state
            .set_imports(hooks::imports(vm.map_or(0, |address| address as usize)));
        self.state.begin();
        self.follow_libraries();
        if self.state.entries() == 0 {
            self.is_reported = true;
            report::error(
                "native= finds no import of malloc that it could change: no allocation is seen",
            );
        }
        self.state.resume();
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Activity {
        self.follow_libraries();
        let (code, is_unfinished) = match cfg!(target_arch = "x86_64") {
            true => self.symbols.advance_rules(),
            false => (None, false),
        };
        if let Some(code) = code {
            self.state.capture.set_code(Some(code));
        }
        match self.resolve(cx) {
            _ if is_unfinished => Activity::Unfinished,
            true => Activity::Busy,
            false => Activity::Idle,
        }
    }

    fn nothing(&self, _cx: &Context<'_>) -> Option<Nothing> {
        if self.has_counted || self.was_stopped {
            return None;
        }
        let text = format!(
            "native={} has sampled no allocation: {}",
            self.interval,
            match self.state.entries() {
                0 => "no import table could be changed, as where the program has its own malloc",
                _ => "the program allocated too little, so give it a smaller number",
            }
        );
        Some(match self.is_reported {
            true => Nothing::reported(text),
            false => Nothing::because(text),
        })
    }

    fn dump(&mut self, cx: &mut Context<'_>, _is_last: bool) -> Result<(), Incomplete> {
        cx.announce(" native memory ...");
        self.write_table(cx);
        Ok(())
    }

    /// Figures are those since the start.
    fn end_dump(&mut self, _cx: &mut Context<'_>, _is_written: bool) {}

    fn reset(&mut self, _cx: &mut Context<'_>) {
        let was_on = self.state.is_on();
        self.state.begin();
        self.traces.clear();
        self.seen = 0;
        if was_on {
            self.state.resume();
        }
    }

    /// Blocks are followed until they are freed, also while nothing is sampled.
    fn stop(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        self.was_stopped = true;
        self.state.pause();
        Ok(())
    }

    fn resume(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        self.state.resume();
        Ok(())
    }

    fn set_depth(&mut self, _cx: &mut Context<'_>, depth: u32) {
        self.state.capture.set_depth(depth);
    }

    fn detach(&mut self, _cx: &mut Context<'_>, _limit: Duration) -> Result<(), StillInside> {
        self.state.pause();
        // A library that is being loaded has no hooks yet.
        let back = self.state.change_imports(Lead::Back);
        if back.refused > 0 {
            report::note(&format!(
                "native=: {} entries of import tables still lead to the agent, which only passes the calls on",
                back.refused
            ));
        }
        self.state.set_imports(Vec::new());
        self.state.capture.set_code(None);
        self.state.begin();
        Ok(())
    }

    fn is_recording(&self) -> bool {
        self.state.is_on()
    }

    fn status(&self, reply: &mut Reply) {
        reply.push("native_stacks", self.state.stacks.count());
        reply.push("native_blocks_followed", self.state.blocks.all().count());
        reply.push("native_import_entries", self.state.entries());
    }
}
