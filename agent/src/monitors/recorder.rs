//! The recorder of monitor=y.

use std::time::Duration;

use hprof_wire::control::Mode;

use super::costs::WaitTables;
use super::kinds::Kind;
use super::tables::{WaitRanks, ranked, write_usage, write_waits};
use super::{INNER_FRAMES, Monitors};
use crate::recording::{Activity, Context, Incomplete, Nothing, Recorder};
use crate::vm::StillInside;

/// Names what [`Monitors`] has counted, and writes it.
pub struct MonitorRecorder {
    monitors: &'static Monitors,
    waits: WaitTables,
    /// Frames of traces to come.
    depth: u32,
}

impl MonitorRecorder {
    /// A recorder of `monitors`, whose traces have `depth` frames.
    pub fn new(monitors: &'static Monitors, depth: u32) -> Self {
        Self {
            monitors,
            waits: WaitTables::new(monitors),
            depth,
        }
    }
}

impl Recorder for MonitorRecorder {
    fn mode(&self) -> Mode {
        Mode::Monitor
    }

    fn is_on(&self) -> bool {
        true
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        self.monitors.start(cx.vm.jni);
    }

    /// Looks up names before their classes can be unloaded.
    fn tick(&mut self, cx: &mut Context<'_>) -> Activity {
        self.waits.update(cx.vm, cx.names, self.depth as usize);
        Activity::Idle
    }

    fn nothing(&self, _cx: &Context<'_>) -> Option<Nothing> {
        let reported = || {
            Nothing::reported(
                "monitor=y has counted no lock: the VM does not take the hooks in java.util.concurrent.locks; monitor=java \
                 counts the locks of synchronized"
                    .to_owned(),
            )
        };
        self.monitors.has_no_source().then(reported)
    }

    /// Writes who has and wants which lock, and what time was lost to locks.
    fn dump(&mut self, cx: &mut Context<'_>, _is_last: bool) -> Result<(), Incomplete> {
        cx.announce(" contended monitor usage ...");
        self.monitors.book_going_on();
        self.tick(cx);
        let own = cx.run.own_threads.lock().clone();
        let depth = match cx.run.settings.depth {
            0 => 0,
            depth => depth + INNER_FRAMES as u32,
        };
        let usage = self.monitors.usage(cx.vm.jni, &own, depth);
        // Threads that were met for the first time have sent their names.
        cx.inbox.write_records(cx.output);
        let costs = self.waits.costs();
        let (contended, waited, idle) = (
            costs.rows(Kind::Contention),
            costs.rows(Kind::Waiting),
            costs.rows(Kind::Idle),
        );
        let cutoff = cx.run.settings.cutoff;
        let tables = WaitRanks {
            contention: ranked(&contended, cutoff),
            others: [
                ("waiting", ranked(&waited, cutoff)),
                ("idle", ranked(&idle, cutoff)),
            ],
        };
        write_usage(cx, &usage, &tables, self.depth as usize);
        write_waits(cx, &tables, self.monitors.remarks());
        Ok(())
    }

    fn end_dump(&mut self, _cx: &mut Context<'_>, is_written: bool) {
        if is_written {
            self.waits.clear();
        }
    }

    fn reset(&mut self, _cx: &mut Context<'_>) {
        self.waits.clear();
    }

    fn can_stop(&self) -> Result<(), String> {
        Err("monitors cannot be stopped; 'reset monitor' starts new counts".to_owned())
    }

    /// Locks are recorded to the end of the run.
    fn stop(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        Ok(())
    }

    fn resume(&mut self, _cx: &mut Context<'_>) -> Result<(), String> {
        Ok(())
    }

    fn set_depth(&mut self, _cx: &mut Context<'_>, depth: u32) {
        self.depth = depth;
    }

    fn detach(&mut self, cx: &mut Context<'_>, limit: Duration) -> Result<(), StillInside> {
        self.monitors.detach(cx.vm.jni, limit)?;
        // These alone have rows besides the parts.
        self.waits = WaitTables::new(self.monitors);
        // SAFETY: so it is, and a run is detached once.
        unsafe { self.monitors.forget(cx.vm.jni) };
        Ok(())
    }

    fn is_recording(&self) -> bool {
        true
    }
}
