//! The profile thread carries out the commands of the front-end.

use std::sync::Arc;

use hprof_format::model::{
    CpuKind, CpuTable, HeapSummary, Settings, SiteOrder, SiteTable as SiteTableModel,
};
use hprof_format::rank::{Cutoff, RankedCpuTable, RankedSiteTable};
use hprof_wire::command::{Command, Control, SiteFlags, ThreadObject};
use hprof_wire::marks::Reply;

use super::collector::Collector;
use super::orders::Order;
use super::output::{DumpEnd, thread_object};
use super::sites::SiteRequest;
use super::{Engine, Phase, Profile, start};
use crate::options::resolve::MAX_DEPTH;
use crate::os::clock::LocalTime;
use crate::report;
use crate::vm::{Jni, Jvmti};

/// Where a command runs.
#[derive(Clone, Copy)]
pub(super) struct Vm<'a> {
    pub(super) profile: &'static Profile,
    pub(super) jvmti: &'a Jvmti,
    pub(super) jni: &'a Jni,
}

/// Why a command was not carried out, or not as meant.
type Outcome = Result<(), String>;

/// How many refusals are said on standard error; the stream has them all.
const MOST_LINES: u32 = 20;
/// How many equal commands are answered once the end is asked for.
const MOST_LAST_REPLIES: usize = 100;

impl Collector {
    /// Carries out what has come. Once the end is asked for, nothing is: whoever sends commands must
    /// not keep the program.
    pub(super) fn command(&mut self, vm: Vm<'_>, order: Order) {
        let command = order.command.map_err(|error| error.to_string());
        let is_over = || vm.profile.phase() != Phase::Live;
        self.drain(vm.profile, vm.jvmti, vm.jni);
        let outcome = loop {
            self.output.begin_dump();
            let outcome = if is_over() {
                Err("the run ends".to_owned())
            } else {
                command.clone().and_then(|command| self.obey(vm, command))
            };
            for (at, &serial) in order.serials.iter().enumerate() {
                if at >= MOST_LAST_REPLIES && is_over() {
                    break;
                }
                let reply = Reply {
                    serial,
                    refused: outcome.clone().err(),
                };
                self.output.write(|writer| writer.mark(&reply.to_string()));
            }
            if self.output.end_reply() != DumpEnd::Again {
                break outcome;
            }
        };
        if let Err(reason) = outcome {
            let said = self.refused;
            let more = u32::try_from(order.serials.len()).unwrap_or(u32::MAX);
            self.refused = said.saturating_add(more);
            if said < MOST_LINES && !is_over() {
                let last = match self.refused {
                    ..MOST_LINES => "",
                    MOST_LINES.. => "; further refusals are only in the stream",
                };
                report::error(&format!("command refused: {reason}{last}"));
            }
        }
        if matches!(command, Ok(Command::Exit)) && vm.profile.settings.exitcmd && !is_over() {
            exit(vm);
        }
    }

    fn obey(&mut self, vm: Vm<'_>, command: Command) -> Outcome {
        match command {
            Command::ForceGc => collect_garbage(vm),
            Command::DumpHeap => self
                .dump_heap(vm.profile, vm.jvmti, vm.jni)
                .map(|_| ())
                .map_err(|_| "there is no heap dump, see the JVM's standard error".to_owned()),
            Command::AllocSites { flags, cutoff } => self.alloc_sites(vm, flags, cutoff),
            Command::HeapSummary => self.heap_summary(vm),
            Command::DumpTraces => {
                self.tick_sites(vm.jvmti, vm.jni);
                let tables = &self.tables;
                let serials = tables.traces.serials();
                self.output
                    .write(|writer| tables.write_traces(writer, serials));
                Ok(())
            }
            Command::CpuSamples { cutoff, .. } => {
                self.cpu_samples(vm, Cutoff::below(f64::from(cutoff)))
            }
            Command::Control(control) => {
                let outcome = self.control(vm, control);
                self.show_settings(vm.profile);
                outcome
            }
            Command::Exit if vm.profile.settings.exitcmd => Ok(()),
            Command::Exit => Err("EXIT needs the agent option exitcmd=y".to_owned()),
            Command::Eof => Ok(()),
        }
    }

    fn alloc_sites(&mut self, vm: Vm<'_>, flags: SiteFlags, cutoff: f32) -> Outcome {
        let Vm {
            profile,
            jvmti,
            jni,
        } = vm;
        let order = if flags.by_allocated {
            SiteOrder::AllocatedBytes
        } else {
            SiteOrder::LiveBytes
        };
        if self.sites.is_none() {
            let table = SiteTableModel {
                order,
                is_incremental: flags.incremental,
                is_after_gc: false,
                totals: HeapSummary::default(),
                rows: &[],
            };
            let table = RankedSiteTable::new(&table, f64::from(cutoff));
            let now = LocalTime::now().ctime();
            self.output.write(|writer| writer.site_table(&table, &now));
            return Err("no allocation sites are recorded: start with heap=sites".to_owned());
        }
        let request = SiteRequest {
            order,
            incremental: flags.incremental,
            force_gc: flags.force_gc,
            cutoff: Cutoff::below(f64::from(cutoff)),
        };
        self.dump_sites(profile, jvmti, jni, request);
        Ok(())
    }

    fn heap_summary(&mut self, vm: Vm<'_>) -> Outcome {
        let totals = self.site_totals(vm.profile, vm.jvmti, vm.jni);
        let summary = totals.unwrap_or_default();
        self.output.write(|writer| {
            writer.heap_summary(&summary)?;
            writer.comment(&format!(
                "hprof-rs: heap summary: live_bytes={} live_objects={} allocated_bytes={} \
                 allocated_objects={}",
                summary.live_bytes,
                summary.live_objects,
                summary.allocated_bytes,
                summary.allocated_objects
            ))
        });
        match totals {
            Some(_) => Ok(()),
            None => Err("no allocations are recorded: start with heap=sites".to_owned()),
        }
    }

    fn cpu_samples(&mut self, vm: Vm<'_>, cutoff: Cutoff) -> Outcome {
        let rows = self.tables.samples.rows();
        let table = CpuTable {
            kind: CpuKind::Samples,
            total: self.tables.samples.total(),
            rows: &rows,
        };
        self.write_table(&RankedCpuTable::new(&table, cutoff));
        match vm.profile.engine() {
            Engine::None => Err(
                "no CPU samples are taken: start with cpu=samples, or send CONTROL 3".to_owned(),
            ),
            Engine::Signal(..) | Engine::Safepoint => Ok(()),
        }
    }

    fn control(&mut self, vm: Vm<'_>, control: Control) -> Outcome {
        let profile = vm.profile;
        match control {
            Control::AllocTracesOn | Control::AllocTracesOff => {
                let Some(sites) = profile.heap_sites else {
                    return Err(
                        "no allocation sites are recorded: start with heap=sites".to_owned()
                    );
                };
                sites
                    .set_recording(control == Control::AllocTracesOn)
                    .map_err(|error| error.to_string())
            }
            Control::CpuSamplingOn(thread) => {
                if matches!(profile.engine(), Engine::None) {
                    start::start_sampling(profile, vm.jni)?;
                    self.sampler = self.safepoint_sampler(profile);
                    if thread.get() != 0 {
                        // Only this one is wanted.
                        self.mute(profile, ThreadObject::ALL, true)?;
                    }
                }
                self.mute(profile, thread, false)
            }
            Control::CpuSamplingOff(thread) => match profile.engine() {
                Engine::None => Err("no CPU samples are taken".to_owned()),
                Engine::Signal(..) | Engine::Safepoint => self.mute(profile, thread, true),
            },
            Control::ClearCpu => {
                self.clear_cpu(profile);
                Ok(())
            }
            Control::ClearSites if self.clear_sites(vm.jvmti, vm.jni) => Ok(()),
            Control::ClearSites => Err("no allocation sites are recorded".to_owned()),
            Control::Depth(depth) => self.set_depth(vm, u32::from(depth)),
        }
    }

    fn mute(&mut self, profile: &Profile, thread: ThreadObject, muted: bool) -> Outcome {
        let threads = profile.registry.live();
        if thread.get() == 0 {
            self.muted.clear();
            self.all_muted = muted;
            if let Engine::Signal(engine, _) = profile.engine() {
                engine.mute_all(muted);
            }
            return Ok(());
        }
        let find = |id: u64| {
            let mut threads = threads.iter();
            threads.find(|thread| thread_object(thread.serial).get() == id)
        };
        let found = find(thread.get()).or_else(|| find(thread.swapped()));
        let found = found.ok_or_else(|| format!("no live thread has the id {:x}", thread.get()))?;
        if let (Engine::Signal(engine, _), Some(slot)) = (profile.engine(), found.slot) {
            engine.mute(slot, muted);
        }
        self.muted.insert(found.serial.get(), muted);
        Ok(())
    }

    fn set_depth(&mut self, vm: Vm<'_>, depth: u32) -> Outcome {
        if depth > MAX_DEPTH {
            return Err(format!("depth is at most {MAX_DEPTH}, and stays as it was"));
        }
        self.depth = depth;
        if let Engine::Signal(engine, _) = vm.profile.engine() {
            let tables = &mut self.tables;
            engine.set_depth(depth, |sample| {
                tables.add_signal_sample(vm.jvmti, vm.jni, &sample);
            });
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.set_depth(depth);
        }
        if let Some(sites) = vm.profile.heap_sites {
            sites.set_depth(depth);
        }
        Ok(())
    }

    /// What is in force now.
    fn show_settings(&mut self, profile: &Profile) {
        let settings = Settings {
            allocation_traces: profile.heap_sites.is_some_and(|sites| sites.is_recording()),
            cpu_sampling: self.is_sampling(profile),
            depth: self.depth,
        };
        self.output.write(|writer| writer.settings(&settings));
    }

    /// Whether any thread is sampled.
    pub(super) fn is_sampling(&self, profile: &Profile) -> bool {
        !matches!(profile.engine(), Engine::None)
            && (!self.all_muted || self.muted.values().any(|&muted| !muted))
    }
}

pub(super) fn collect_garbage(vm: Vm<'_>) -> Outcome {
    if !vm.profile.may_collect() {
        return Err("the VM ends, and its collector is gone".to_owned());
    }
    vm.jvmti
        .force_garbage_collection()
        .map_err(|error| error.to_string())
}

/// Ends the VM in order, from a thread of its own: the VM's death waits for this one.
fn exit(vm: Vm<'_>) {
    if vm.profile.settings.verbose {
        report::raw("HPROF: received exit event, exiting ...\n");
    }
    let started = start::new_thread(vm.profile, vm.jni, "HPROF exit command").and_then(|thread| {
        let own = Arc::new(vm.jni.new_global(thread.get())?);
        vm.profile.own_threads.lock().push(Arc::clone(&own));
        vm.jvmti.run_agent_thread(
            own.get(),
            Box::new(|jni| {
                if let Err(error) = jni.exit_vm() {
                    report::error(&format!("the exit command failed: {error}"));
                }
            }),
        )
    });
    if let Err(error) = started {
        report::error(&format!("the exit command failed: {error}"));
    }
}
