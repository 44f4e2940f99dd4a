//! The profile thread carries out the requests of the control socket.

use hprof_wire::control::{Mode, Reply, Request};

use super::collector::Collector;
use super::commands::Vm;
use super::{Engine, identity};
use crate::call_times::CallTimes;
use crate::options::Modes;
use crate::os::native_thread;

/// Which parts a dump has.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a>(pub(super) &'a [Mode]);

impl Parts<'_> {
    /// Every mode that is on.
    pub(super) const ALL: Parts<'static> = Parts(&[]);

    /// Whether `mode` is one of them; `on` tells whether the run has it. A heap dump needs no
    /// preparation, so it may be had in every run.
    pub(super) fn has(self, mode: Mode, on: bool) -> bool {
        match self.0 {
            [] => on,
            modes => modes.contains(&mode) && (on || mode == Mode::Heap),
        }
    }
}

impl Collector {
    /// Carries out a request and says what came of it.
    pub(super) fn request(&mut self, vm: Vm<'_>, request: Request) -> Reply {
        self.drain(vm.profile, vm.jvmti, vm.jni);
        let done = match request {
            Request::Start(_) => self.pause(vm, &[], false),
            Request::Stop(modes) => self.pause(vm, &modes, true),
            Request::Dump(modes) => self.dump_parts(vm, &modes),
            Request::Reset(modes) => self.reset(vm, &modes),
            Request::Gc => super::commands::collect_garbage(vm),
            Request::Status => return self.status(vm),
            Request::Metrics => return self.metrics(vm),
            Request::Detach => Ok(()),
        };
        let mut reply = match done {
            Ok(()) => Reply::default(),
            Err(text) => Reply::error(text),
        };
        reply.push("output", self.output.place());
        reply
    }

    /// Refuses modes that this run does not have.
    fn check(&self, vm: Vm<'_>, modes: &[Mode]) -> Result<(), String> {
        let on = self.modes(vm);
        for mode in modes {
            let has = match mode {
                Mode::Cpu => on.cpu_samples || on.counts_calls(),
                Mode::Sites => on.heap_sites,
                Mode::Heap => true,
                Mode::Monitor => on.monitor,
            };
            if !has {
                let name = mode.name();
                return Err(format!("this run does not record {name}"));
            }
        }
        Ok(())
    }

    /// The modes that are on, also those that came later.
    fn modes(&self, vm: Vm<'_>) -> Modes {
        let samples = !matches!(vm.profile.engine(), Engine::None);
        let settings = vm.profile.settings.modes;
        Modes {
            cpu_samples: settings.cpu_samples || samples,
            ..settings
        }
    }

    fn pause(&mut self, vm: Vm<'_>, modes: &[Mode], pause: bool) -> Result<(), String> {
        self.check(vm, modes)?;
        let profile = vm.profile;
        let wanted = |mode| modes.is_empty() || modes.contains(&mode);
        if wanted(Mode::Cpu) {
            self.paused = pause;
            if let Engine::Signal(engine, _) = profile.engine() {
                engine.set_sampling(!pause);
            }
            match profile.calls {
                Some(calls) if pause => calls.pause(vm.jvmti, vm.jni),
                Some(calls) => calls.resume(vm.jvmti, vm.jni),
                None => {}
            }
        }
        if let Some(sites) = profile.heap_sites.filter(|_| wanted(Mode::Sites)) {
            sites
                .set_recording(!pause)
                .map_err(|error| error.to_string())?;
        }
        if modes.contains(&Mode::Monitor) && pause {
            return Err("monitors cannot be stopped; 'reset monitor' starts new counts".to_owned());
        }
        if modes.contains(&Mode::Heap) {
            return Err("a heap dump is not recorded over time; ask for 'dump heap'".to_owned());
        }
        Ok(())
    }

    fn dump_parts(&mut self, vm: Vm<'_>, modes: &[Mode]) -> Result<(), String> {
        self.check(vm, modes)?;
        if self.dump(vm.profile, Parts(modes), vm.jvmti, vm.jni) {
            Ok(())
        } else {
            Err("the dump could not be written, see the JVM's standard error".to_owned())
        }
    }

    fn reset(&mut self, vm: Vm<'_>, modes: &[Mode]) -> Result<(), String> {
        self.check(vm, modes)?;
        let wanted = |mode| modes.is_empty() || modes.contains(&mode);
        if wanted(Mode::Cpu) {
            self.clear_cpu(vm.profile);
        }
        if wanted(Mode::Sites) {
            self.clear_sites(vm.jvmti, vm.jni);
        }
        if let Some(waits) = self.waits.as_mut().filter(|_| wanted(Mode::Monitor)) {
            waits.clear();
        }
        Ok(())
    }

    fn status(&self, vm: Vm<'_>) -> Reply {
        let profile = vm.profile;
        let modes = self.modes(vm);
        let is_paused = (modes.cpu_samples && !self.paused && self.is_sampling(profile))
            || profile.heap_sites.is_some_and(|sites| sites.is_recording())
            || profile.calls.is_some_and(CallTimes::is_counting);
        let mut reply = Reply::default();
        reply.push("state", if is_paused { "running" } else { "stopped" });
        reply.push("version", env!("CARGO_PKG_VERSION"));
        reply.push("pid", std::process::id());
        reply.push("modes", identity::modes(&modes));
        reply.push("options", &profile.settings.text);
        reply.push("output", self.output.place());
        reply.push("running_ms", self.running().as_millis());
        reply.push("samples", self.tables.samples.total());
        reply.push("traces", self.tables.traces.count());
        reply.push("dumps", self.dumps);
        reply
    }

    fn metrics(&self, vm: Vm<'_>) -> Reply {
        let profile = vm.profile;
        let mut reply = Reply::default();
        reply.push("samples", self.tables.samples.total());
        reply.push("stacks", self.tables.samples.stacks());
        let failed: u64 = self.tables.samples.failures().values().sum();
        reply.push("samples_without_stack", failed);
        if let Engine::Signal(engine, installed) = profile.engine() {
            reply.push("lost_samples", engine.lost());
            reply.push("foreign_signals", engine.foreign_signals());
            reply.push("signal", installed.signal());
        }
        reply.push("traces", self.tables.traces.count());
        reply.push("traces_cut", self.tables.traces.cut());
        reply.push("table_bytes", self.tables.bytes());
        reply.push("threads_seen", profile.registry.threads_seen());
        reply.push("threads_live", profile.registry.live().len());
        reply.push("threads_without_timer", profile.registry.without_timer());
        reply.push("lost_thread_records", profile.registry.lost_records());
        reply.push("commands_refused", self.refused);
        reply.push("dumps", self.dumps);
        reply.push(
            "profile_thread_cpu_ms",
            native_thread::cpu_time().as_millis(),
        );
        reply.push("internal_errors", crate::vm::panics());
        reply
    }
}
