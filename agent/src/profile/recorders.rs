//! The recorders of a run.

use std::sync::Arc;

use hprof_wire::control::Mode;

use crate::call_times::{CallTimes, TimesRecorder};
use crate::cpu_samples::{SamplesRecorder, Sampling};
use crate::heap_dump::HeapDumpRecorder;
use crate::heap_sites::{HeapSites, SitesRecorder};
use crate::monitors::{MonitorRecorder, Monitors};
use crate::native_locks::NativeLockRecorder;
use crate::native_memory::NativeRecorder;
use crate::options::{Modes, Settings};
use crate::recording::Recorder;
use crate::slow_calls::{SlowCalls, SlowRecorder};

/// One recorder for each mode of the run, and for those that may come later.
pub(super) struct Recorders {
    pub(super) monitors: Option<MonitorRecorder>,
    pub(super) heap: HeapDumpRecorder,
    pub(super) sites: Option<SitesRecorder>,
    pub(super) samples: SamplesRecorder,
    pub(super) times: Option<TimesRecorder>,
    pub(super) native: Option<NativeRecorder>,
    pub(super) native_locks: Option<NativeLockRecorder>,
    pub(super) slow: Option<SlowRecorder>,
}

impl Recorders {
    pub(super) fn new(
        settings: &Settings,
        sampling: &Arc<Sampling>,
        sites: Option<&'static HeapSites>,
        calls: Option<&'static CallTimes>,
        monitors: Option<&'static Monitors>,
        slow: Option<&'static SlowCalls>,
    ) -> Self {
        let sites = sites.map(SitesRecorder::new);
        let shared = sites.as_ref().map(SitesRecorder::shared);
        Self {
            monitors: monitors.map(|it| MonitorRecorder::new(it, settings.depth)),
            heap: HeapDumpRecorder::new(settings, shared),
            sites,
            samples: SamplesRecorder::new(Arc::clone(sampling), settings),
            times: calls.map(|it| TimesRecorder::new(it, settings.modes.cpu_old)),
            slow: slow.map(SlowRecorder::new),
            native: (settings.modes.native).then(|| NativeRecorder::new(settings.native_interval)),
            native_locks: (settings.modes.native_lock)
                .then(|| NativeLockRecorder::new(settings.native_lock_threshold)),
        }
    }

    /// All of them, in the order of a dump.
    pub(super) fn all(&self) -> impl Iterator<Item = &dyn Recorder> {
        fn some<R: Recorder>(recorder: &Option<R>) -> Option<&dyn Recorder> {
            recorder.as_ref().map(|it| it as &dyn Recorder)
        }
        let all = [
            some(&self.monitors),
            Some(&self.heap as &dyn Recorder),
            some(&self.sites),
            Some(&self.samples as &dyn Recorder),
            some(&self.times),
            some(&self.native),
            some(&self.native_locks),
            some(&self.slow),
        ];
        all.into_iter().flatten()
    }

    /// All of them, in the order of a dump.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut dyn Recorder> {
        fn some<R: Recorder>(recorder: &mut Option<R>) -> Option<&mut dyn Recorder> {
            recorder.as_mut().map(|it| it as &mut dyn Recorder)
        }
        let all = [
            some(&mut self.monitors),
            Some(&mut self.heap as &mut dyn Recorder),
            some(&mut self.sites),
            Some(&mut self.samples as &mut dyn Recorder),
            some(&mut self.times),
            some(&mut self.native),
            some(&mut self.native_locks),
            some(&mut self.slow),
        ];
        all.into_iter().flatten()
    }

    /// Returns the recorders that a request for these modes is about: all that are on if it names none. A heap dump
    /// needs no preparation, so it may be had in every run.
    pub(super) fn of<'a>(
        &'a mut self,
        modes: &'a [Mode],
    ) -> impl Iterator<Item = &'a mut dyn Recorder> {
        self.all_mut().filter(move |it| match modes {
            [] => it.is_on(),
            modes => modes.contains(&it.mode()) && (it.is_on() || it.mode() == Mode::Heap),
        })
    }

    /// Refuses modes that this run does not have.
    ///
    /// # Errors
    /// A sentence that names the first of them.
    pub(super) fn check(&self, modes: &[Mode]) -> Result<(), String> {
        for &mode in modes {
            let mut all = self.all();
            if mode != Mode::Heap && !all.any(|it| it.mode() == mode && it.is_on()) {
                let name = mode.name();
                let instead = match mode {
                    Mode::Cpu => "'start cpu=samples' adds it",
                    _ => "detach, then begin with all modes",
                };
                return Err(format!("this run does not record {name}: {instead}"));
            }
        }
        Ok(())
    }

    /// The modes that are on, also those that came later.
    pub(super) fn modes(&self, settings: &Settings) -> Modes {
        Modes {
            cpu_samples: self.samples.is_on(),
            ..settings.modes
        }
    }

    /// Returns true if a dump would show nothing of the program.
    pub(super) fn are_empty(&self) -> bool {
        !self.all().any(|it| it.is_on() && it.has_counts())
    }

    /// Returns true if anything is recorded that could be stopped, or anything at all if nothing can.
    pub(super) fn are_recording(&self) -> bool {
        let on = || self.all().filter(|it| it.is_on());
        let can_stop = |it: &&dyn Recorder| it.can_stop().is_ok();
        match on().any(|it| can_stop(&it)) {
            true => on().filter(can_stop).any(|it| it.is_recording()),
            false => on().any(|it| it.is_recording()),
        }
    }
}
