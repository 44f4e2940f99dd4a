//! The recorder of nativelock=.

use std::collections::BTreeMap;
use std::time::Duration;

use hprof_format::ids::TraceSerial;
use hprof_format::model::{LockKind, MonitorRow, MonitorTable};
use hprof_format::rank::RankedMonitorTable;
use hprof_wire::control::{Mode, Reply};

use super::hooks::{self, Function};
use super::state::State;
use crate::native_calls::{Owner, StackNames, entries, set, vm_address};
use crate::os::clock::LocalTime;
use crate::recording::{Activity, Context, Incomplete, Nothing, Recorder, left_out};
use crate::report;
use crate::vm::StillInside;

/// The loss where the kernel refuses to change import tables.
const LOST: &str = "waits there are not seen";

/// Writes who waits for locks of native code.
pub struct NativeLockRecorder {
    threshold: Duration,
    state: &'static State,
    names: StackNames,
    /// Nanoseconds and waits of each stack that the last dump had, or the reset forgot.
    before: Vec<(u64, u64)>,
    /// The sums that the dump under way has.
    written: Vec<(u64, u64)>,
    /// Waits below the threshold at the last dump or reset, and at the dump under way.
    below: (u64, u64),
}

/// Nanoseconds and waits by stack and function.
type Rows = BTreeMap<(TraceSerial, Function), (u64, u64)>;

impl NativeLockRecorder {
    /// A recorder of waits that are as long as the threshold or longer. There must be one at a time.
    pub fn new(threshold: Duration) -> Self {
        Self {
            threshold,
            state: State::the(),
            names: StackNames::new(Owner::Locks, "nativelock="),
            before: Vec::new(),
            written: Vec::new(),
            below: (0, 0),
        }
    }

    /// Nanoseconds and waits of each stack, by its place.
    fn sums(&self) -> Vec<(u64, u64)> {
        let stacks = &self.state.stacks;
        let sums = |index| stacks.get(index).map_or((0, 0), |stored| stored.sums());
        (0..stacks.places()).map(sums).collect()
    }

    /// The part of the sums that the last dump had not.
    fn rows(&self, sums: &[(u64, u64)]) -> Rows {
        let mut rows = Rows::new();
        for (index, &(nanos, count)) in sums.iter().enumerate() {
            let before = self.before.get(index).copied().unwrap_or_default();
            let (nanos, count) = (
                nanos.saturating_sub(before.0),
                count.saturating_sub(before.1),
            );
            let (Some(trace), Some(stored)) =
                (self.names.trace(index), self.state.stacks.get(index))
            else {
                continue;
            };
            if count > 0 {
                let key = (trace, Function::from_number(stored.function));
                let row = rows.entry(key).or_default();
                *row = (row.0.saturating_add(nanos), row.1.saturating_add(count));
            }
        }
        rows
    }

    fn write_table(&mut self, cx: &mut Context<'_>) {
        // Stacks that are added meanwhile have no name, and are in the next dump.
        let mut sums = self.sums();
        self.names.resolve(cx, &self.state.stacks);
        for (index, sum) in sums.iter_mut().enumerate() {
            if self.names.trace(index).is_none() {
                *sum = self.before.get(index).copied().unwrap_or_default();
            }
        }
        let rows = self.rows(&sums);
        self.written = sums;
        self.below.1 = self.state.below();
        let rows: Vec<MonitorRow<'_>> = rows
            .iter()
            .map(|(&(trace, function), &(nanos, count))| MonitorRow {
                nanos,
                count,
                trace,
                class_name: function.name(),
                lock: LockKind::Native,
            })
            .collect();
        let total = |value: fn(&MonitorRow<'_>) -> u64| {
            rows.iter()
                .fold(0u64, |sum, row| sum.saturating_add(value(row)))
        };
        let table = MonitorTable {
            total_nanos: total(|row| row.nanos),
            rows: &rows,
        };
        let ranked = RankedMonitorTable::new(&table, cx.run.settings.cutoff).of_native_locks();
        let names = &*cx.names;
        cx.output.write(|writer| {
            let traces = ranked.rows().iter().map(|ranked| ranked.row.trace);
            names.write_traces(writer, traces)?;
            writer.monitor_table(&ranked, &LocalTime::now().ctime())
        });
        let counters = format!(
            "hprof-rs: native_lock_waits={} native_lock_nanos={} native_lock_waits_below={} native_lock_threshold_ns={} \
             native_lock_stacks={} native_lock_import_entries={} native_lock_java_frames={}",
            total(|row| row.count),
            table.total_nanos,
            self.below.1.saturating_sub(self.below.0),
            self.threshold.as_nanos(),
            self.state.stacks.count(),
            entries(Owner::Locks),
            self.state.capture.java_frames(),
        );
        cx.output
            .remark(left_out::of_waits("native_locks", &ranked));
        cx.output.remark(&counters);
        let modes = &cx.run.settings.modes;
        if !modes.cpu_samples && !modes.heap_sites && !modes.native {
            let general = cx.general_remark();
            cx.output.remark(&general);
        }
    }
}

impl Recorder for NativeLockRecorder {
    fn mode(&self) -> Mode {
        Mode::NativeLock
    }

    fn is_on(&self) -> bool {
        true
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.names.start(cx, &self.state.capture);
        set(Owner::Locks, hooks::imports(), vm_address(cx.vm));
        self.state.begin(self.threshold);
        self.names.follow_libraries(LOST);
        if entries(Owner::Locks) == 0 {
            report::error(
                "nativelock= finds no import of pthread_mutex_lock that it could change: no wait is seen",
            );
        }
        self.state.resume();
    }

    fn tick(&mut self, cx: &mut Context<'_>) -> Activity {
        let state = self.state;
        self.names.tick(cx, (&state.capture, &state.stacks), LOST)
    }

    fn nothing(&self, _cx: &Context<'_>) -> Option<Nothing> {
        let text = "nativelock= has seen no lock: no import table could be changed";
        (entries(Owner::Locks) == 0).then(|| Nothing::reported(text.to_owned()))
    }

    fn dump(&mut self, cx: &mut Context<'_>, _is_last: bool) -> Result<(), Incomplete> {
        cx.announce(" native locks ...");
        self.write_table(cx);
        Ok(())
    }

    fn end_dump(&mut self, _cx: &mut Context<'_>, is_written: bool) {
        if is_written {
            self.before = std::mem::take(&mut self.written);
            self.below.0 = self.below.1;
        }
    }

    fn reset(&mut self, _cx: &mut Context<'_>) {
        self.before = self.sums();
        self.below.0 = self.state.below();
    }

    fn stop(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
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
        self.state.begin(self.threshold);
        Ok(())
    }

    fn is_recording(&self) -> bool {
        self.state.is_on()
    }

    fn status(&self, reply: &mut Reply) {
        let sums = self.sums();
        let waits = sums.iter().fold(0u64, |all, sum| all.saturating_add(sum.1));
        reply.push("native_lock_waits", waits);
        reply.push("native_lock_import_entries", entries(Owner::Locks));
    }
}
