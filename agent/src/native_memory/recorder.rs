//! The recorder of native=SIZE.

use std::collections::BTreeMap;
use std::time::Duration;

use hprof_format::held::Held;
use hprof_format::ids::{ObjectId, TraceSerial};
use hprof_format::model::{HeapSummary, SiteOrder, SiteRow, SiteTable};
use hprof_format::rank::RankedSiteTable;
use hprof_wire::control::{Mode, Reply};

use super::hooks::{self, Function, State};
use super::sampler::{self, FRACTION};
use crate::native_calls::{Inside, Owner, StackNames, entries, set, vm_address};
use crate::os::clock::LocalTime;
use crate::recording::{Activity, Context, Incomplete, Nothing, Recorder, left_out};
use crate::report;
use crate::vm::StillInside;

/// The loss where the kernel refuses to change import tables.
const LOST: &str = "allocations there are not seen";
/// Rows of what is held for long.
const MAX_HELD: usize = 30;

/// Writes who allocates native memory.
pub struct NativeRecorder {
    interval: u32,
    state: &'static State,
    names: StackNames,
    was_stopped: bool,
    has_counted: bool,
    is_reported: bool,
}

/// Bytes and blocks that a stack has allocated.
#[derive(Clone, Copy, Default)]
struct Sum {
    bytes: u64,
    /// In [`FRACTION`]s.
    blocks: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64, blocks: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.blocks = self.blocks.saturating_add(blocks);
    }

    /// Blocks, rounded; one at least if there is any byte.
    fn whole_blocks(self) -> u64 {
        let rounded = self.blocks.saturating_add(FRACTION / 2) / FRACTION;
        rounded.max(u64::from(self.bytes > 0))
    }
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
            names: StackNames::new(Owner::Memory, "native="),
            was_stopped: false,
            has_counted: false,
            is_reported: false,
        }
    }

    /// Allocations and waits of the current thread, one of the agent's, do not count.
    pub fn ignore_current_thread() {
        Inside::ignore_current_thread();
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
            let (Some(stored), Some(trace)) =
                (self.state.stacks.get(index), self.names.trace(index))
            else {
                continue;
            };
            // Read after the blocks, so that there are not more of them.
            let (bytes, blocks) = stored.sums();
            if bytes == 0 {
                continue;
            }
            let function = Function::from_number(stored.function);
            let row = figures.rows.entry((trace, function)).or_default();
            row.allocated.add(bytes, blocks);
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
        self.names.resolve(cx, &self.state.stacks);
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
            entries(Owner::Memory),
            self.state.capture.java_frames(),
        )
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

impl Recorder for NativeRecorder {
    fn mode(&self) -> Mode {
        Mode::Native
    }

    fn is_on(&self) -> bool {
        true
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.names.start(cx, &self.state.capture);
        sampler::set_interval(self.interval.into());
        set(Owner::Memory, hooks::imports(), vm_address(cx.vm));
        self.state.begin();
        self.names.follow_libraries(LOST);
        if entries(Owner::Memory) == 0 {
            self.is_reported = true;
            report::error(
                "native= finds no import of malloc that it could change: no allocation is seen",
            );
        }
        self.state.resume();
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Activity {
        let state = self.state;
        self.names.tick(cx, (&state.capture, &state.stacks), LOST)
    }

    fn nothing(&self, _cx: &Context<'_>) -> Option<Nothing> {
        if self.has_counted || self.was_stopped {
            return None;
        }
        let text = format!(
            "native={} has sampled no allocation: {}",
            self.interval,
            match entries(Owner::Memory) {
                0 => "no import table could be changed, as where the program has its own malloc",
                _ => "the program allocated too little, so give it a smaller number",
            }
        );
        Some(match self.is_reported || self.names.is_refusal_reported() {
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
        self.names.clear();
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
        self.names.end(&self.state.capture);
        self.state.begin();
        Ok(())
    }

    fn is_recording(&self) -> bool {
        self.state.is_on()
    }

    fn status(&self, reply: &mut Reply) {
        reply.push("native_stacks", self.state.stacks.count());
        reply.push("native_blocks_followed", self.state.blocks.all().count());
        reply.push("native_import_entries", entries(Owner::Memory));
    }
}
