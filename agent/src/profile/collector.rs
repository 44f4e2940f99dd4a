//! The profile thread: it alone owns the tables and the output, takes messages
//! and samples, and writes the dumps.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use hprof_format::model::Settings;
use hprof_wire::control::Reply;

use super::check;
use super::commands::Vm;
use super::dumps::cpu_time;
use super::messages::Message;
use super::monitors::WaitTables;
use super::output::{Begin, Output};
use super::requests::Parts;
use super::sites::SiteMarks;
use super::tables::Tables;
use super::{Engine, Phase, Profile, advice, identity, peer};
use crate::cpu_samples::Samples;
use crate::cpu_samples::safepoint::SafepointSampler;
use crate::cpu_samples::signal::Watch;
use crate::heap_sites::{HeapSites, SitesProfile};
use crate::monitors::Monitors;
use crate::names::{HiddenNames, MethodTable, Resolver, TraceTable};
use crate::options::{Format, Settings as RunSettings};
use crate::os::clock::LocalTime;
use crate::report;
use crate::vm::{Jni, Jvmti};

/// What the profile thread owns.
pub(super) struct Collector {
    receiver: Receiver<Message>,
    /// A request that came while messages were written.
    put_off: Option<Message>,
    pub(super) output: Output,
    pub(super) tables: Tables,
    pub(super) sites: Option<SitesProfile>,
    pub(super) waits: Option<WaitTables>,
    started: LocalTime,
    /// The format of the old `prof` has tables and nothing else.
    is_bare: bool,
    pub(super) last_cpu: Duration,
    pub(super) last_lost: u64,
    /// What becomes of these two when the dump under way is complete.
    pub(super) shown: (Duration, u64),
    /// The safepoint engine's, if that is used.
    pub(super) sampler: Option<SafepointSampler>,
    /// Frames of traces to come.
    pub(super) depth: u32,
    /// Threads that were muted, or not, by themselves.
    pub(super) muted: HashMap<u32, bool>,
    /// What holds for the others.
    pub(super) all_muted: bool,
    /// How many commands were refused.
    pub(super) refused: u32,
    pub(super) site_marks: SiteMarks,
    /// The next dump is the last.
    pub(super) ending: bool,
    /// Sampling is stopped.
    pub(super) paused: bool,
    /// How many dumps were written.
    pub(super) dumps: u32,
    /// Looks for other profilers.
    pub(super) watch: Watch,
    began: Instant,
}

/// How long samples may wait in the ring. Names are looked up afterwards, so it
/// must be short against the life of a class.
const DRAIN_EVERY: Duration = Duration::from_millis(20);
/// The same when classes were unloaded before their methods had been looked up.
const CHURN_DRAIN_EVERY: Duration = Duration::from_millis(1);
/// The same when the program has been idle.
const IDLE_DRAIN_EVERY: Duration = Duration::from_millis(100);
/// Bytes for methods and traces together; see [`TraceTable::intern`].
const TABLE_MEMORY: usize = 16 << 20;
/// The same with heap=sites, which has many more traces.
const HEAP_TABLE_MEMORY: usize = 64 << 20;
/// The same when calls are counted: their traces are made for a dump only, and
/// only of the paths that its table shows.
const CALLS_TABLE_MEMORY: usize = 256 << 20;

impl Collector {
    pub(super) fn new(
        receiver: Receiver<Message>,
        output: Output,
        settings: &RunSettings,
        heap_sites: Option<&'static HeapSites>,
        monitors: Option<&'static Monitors>,
    ) -> Self {
        let table_memory = if settings.modes.counts_calls() {
            CALLS_TABLE_MEMORY
        } else if heap_sites.is_some() {
            HEAP_TABLE_MEMORY
        } else {
            TABLE_MEMORY
        };
        Self {
            receiver,
            put_off: None,
            output,
            tables: Tables {
                methods: MethodTable::new(HiddenNames::of(settings.format)),
                resolver: Resolver::new(settings.lineno),
                traces: TraceTable::new(table_memory),
                own_thread: None,
                own_thread_in: 0,
                samples: Samples::default(),
                per_thread: settings.thread,
                scratch: Vec::new(),
            },
            sites: heap_sites.map(SitesProfile::new),
            waits: monitors.map(WaitTables::new),
            started: LocalTime::now(),
            is_bare: settings.modes.cpu_old,
            last_cpu: Duration::ZERO,
            last_lost: 0,
            shown: (Duration::ZERO, 0),
            sampler: None,
            depth: settings.depth,
            muted: HashMap::new(),
            all_muted: false,
            refused: 0,
            site_marks: SiteMarks::default(),
            ending: false,
            paused: false,
            dumps: 0,
            watch: Watch::default(),
            began: Instant::now(),
        }
    }

    /// Forgets the profile: the VM ended before it was up.
    pub(super) fn discard(self) {
        self.output.discard();
    }

    /// The life of the profile thread.
    pub(super) fn run(mut self, profile: &'static Profile, jvmti: &Jvmti, jni: &Jni) {
        self.begin(profile);
        self.tell_tables(profile, "start");
        if let Some(sites) = profile.heap_sites {
            sites.ignore_current_thread();
        }
        self.sampler = self.safepoint_sampler(profile);
        if let Some(source) = self.output.source() {
            self.site_marks.wanted = true;
            peer::listen(profile, source);
        }
        let mut drained = Instant::now();
        let mut pause = DRAIN_EVERY;
        loop {
            let wait = self
                .sampler
                .as_ref()
                .map_or(pause, |sampler| sampler.wait().min(pause));
            let message = match self.put_off.take() {
                Some(message) => Ok(message),
                None => self.receiver.recv_timeout(wait),
            };
            match message {
                Ok(Message::Commands { orders, done }) => {
                    let vm = Vm {
                        profile,
                        jvmti,
                        jni,
                    };
                    for order in orders {
                        self.command(vm, order);
                    }
                    let _ = done.send(());
                }
                Ok(Message::Request { request, reply }) => {
                    let vm = Vm {
                        profile,
                        jvmti,
                        jni,
                    };
                    let answer = self.request(vm, request);
                    let _ = reply.send(answer);
                }
                Ok(Message::Detach { reply }) => {
                    profile.set_phase(Phase::Dead);
                    if let Engine::Signal(engine, _) = profile.engine() {
                        engine.set_sampling(false);
                    }
                    let whole = self.finish(profile, jvmti, jni);
                    let mut answer = if whole {
                        Reply::default()
                    } else {
                        Reply::error("the last dump could not be written, see standard error")
                    };
                    answer.push("output", self.output.place());
                    drop(self);
                    profile.retire(jni);
                    let _ = reply.send(answer);
                    return;
                }
                Ok(Message::Connected(sink)) => {
                    if let Some(source) = self.output.reconnect(sink) {
                        peer::listen(profile, source);
                    }
                }
                Ok(Message::Dump { done }) => {
                    self.drain(profile, jvmti, jni);
                    self.dump(profile, Parts::ALL, jvmti, jni);
                    let _ = done.send(());
                }
                Ok(Message::Finish { done }) => {
                    self.finish(profile, jvmti, jni);
                    let _ = done.send(());
                    return;
                }
                Ok(message) => {
                    self.record(message);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.sampler.is_none() {
                self.sampler = self.safepoint_sampler(profile);
            }
            if let Some(mut sampler) = self.sampler.take() {
                if sampler.is_due() && !self.paused {
                    self.safepoint_round(profile, jvmti, jni, &mut sampler);
                }
                self.sampler = Some(sampler);
            }
            if let Some(endpoint) = self.output.take_lost() {
                peer::reconnect(profile, endpoint);
            }
            if drained.elapsed() >= pause {
                let unknown = self.tables.resolver.unknown_methods();
                let busy = self.drain(profile, jvmti, jni) > 0;
                self.tick_waits(jvmti, jni);
                pause = if self.tick_sites(jvmti, jni) {
                    Duration::ZERO
                } else if self.tables.resolver.unknown_methods() > unknown {
                    CHURN_DRAIN_EVERY
                } else if busy {
                    (pause * 2).clamp(CHURN_DRAIN_EVERY, DRAIN_EVERY)
                } else {
                    (pause * 2).clamp(CHURN_DRAIN_EVERY, IDLE_DRAIN_EVERY)
                };
                drained = Instant::now();
                self.tables.resolver.refresh();
                self.output.tick();
            }
        }
    }

    /// Writes what is left. False when it could not be written.
    fn finish(&mut self, profile: &'static Profile, jvmti: &Jvmti, jni: &Jni) -> bool {
        self.ending = true;
        self.drain(profile, jvmti, jni);
        let written = if profile.settings.doe {
            self.dump(profile, Parts::ALL, jvmti, jni)
        } else {
            // A front-end that is lost at the last moment has a file as its successor.
            self.output.commit() || self.output.commit()
        };
        self.output.close();
        self.tell_tables(profile, "end");
        self.check_output(profile);
        if let (Some(from), Some(file)) = (&profile.advises, self.output.last_file()) {
            report::raw(&advice::lines(&file, &profile.settings, from));
        }
        written
    }

    /// How long the run has lasted.
    pub(super) fn running(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn safepoint_sampler(&self, profile: &Profile) -> Option<SafepointSampler> {
        let interval = profile.settings.interval;
        matches!(profile.engine(), Engine::Safepoint)
            .then(|| SafepointSampler::new(interval, self.depth))
    }

    /// Sets all counts of samples and times to zero.
    pub(super) fn clear_cpu(&mut self, profile: &Profile) {
        self.tables.samples.clear();
        if let Engine::Signal(engine, _) = profile.engine() {
            self.shown = (cpu_time(profile, engine), engine.lost());
        }
        (self.last_cpu, self.last_lost) = self.shown;
        if let Some(calls) = profile.calls {
            drop(calls.take(false, &|tid| profile.calls_serial(tid)));
        }
    }

    /// Writes what a message tells; gives it back if it asks for something instead.
    fn record(&mut self, message: Message) -> Option<Message> {
        match message {
            Message::ThreadStart { .. } | Message::ThreadEnd { .. } if self.is_bare => {}
            Message::ThreadStart { serial, info } => self.output.thread_start(serial, info),
            Message::ThreadEnd { serial } => self.output.thread_end(serial),
            Message::Monitor(line) => self.log_wait(&line),
            Message::Dump { .. }
            | Message::Finish { .. }
            | Message::Commands { .. }
            | Message::Request { .. }
            | Message::Detach { .. }
            | Message::Connected(_) => return Some(message),
        }
        None
    }

    /// Writes what all messages sent so far tell, in the middle of a dump.
    pub(super) fn record_messages(&mut self) {
        while self.put_off.is_none()
            && let Ok(message) = self.receiver.try_recv()
        {
            self.put_off = self.record(message);
        }
    }

    fn begin(&mut self, profile: &Profile) {
        let settings = &profile.settings;
        if self.is_bare {
            return;
        }
        self.output.begin(Begin {
            started: self.started,
            settings: Settings {
                allocation_traces: settings.modes.tracks_objects(),
                cpu_sampling: settings.modes.cpu_samples,
                depth: settings.depth,
            },
            identity: identity::of(profile).to_string(),
        });
    }

    /// Reads the finished file back, where the options ask for that.
    fn check_output(&self, profile: &Profile) {
        let settings = &profile.settings;
        if !settings.checks_output() || settings.format != Format::Binary {
            return;
        }
        let Some(path) = self.output.finished_file() else {
            return;
        };
        check::check_file(&path);
        if settings.lists_output() && settings.modes.heap_dump {
            check::list_file(&path);
        }
    }

    /// `logflags=2`: what the tables hold, in figures.
    fn tell_tables(&self, profile: &Profile, when: &str) {
        if !profile.settings.tells_tables() {
            return;
        }
        let (methods, traces) = (&self.tables.methods, &self.tables.traces);
        report::note(&format!(
            "tables at the {when}: {methods} traces={} traces_cut={} trace_bytes={} threads={}",
            traces.count(),
            traces.cut(),
            traces.bytes(),
            profile.registry.threads_seen(),
        ));
    }

    /// Takes the samples out of the signal engine's ring.
    pub(super) fn drain(&mut self, profile: &Profile, jvmti: &Jvmti, jni: &Jni) -> usize {
        let Engine::Signal(engine, installed) = profile.engine() else {
            return 0;
        };
        if let Some(text) = self.watch.look(engine, installed) {
            report::note(text);
        }
        let tables = &mut self.tables;
        engine.drain(|sample| tables.add_signal_sample(jvmti, jni, &sample))
    }

    fn safepoint_round(
        &mut self,
        profile: &Profile,
        jvmti: &Jvmti,
        jni: &Jni,
        sampler: &mut SafepointSampler,
    ) {
        let own = profile.own_threads.lock().clone();
        let (muted, all_muted) = (&self.muted, self.all_muted);
        let samples = sampler.round(jvmti, jni, |thread| {
            if own.iter().any(|own| jni.is_same(thread, own.get())) {
                return None;
            }
            // A thread that has no serial yet is about to get it, on itself.
            let word = jvmti.thread_local(Some(thread)).ok()?;
            Some(word as u32)
                .filter(|serial| *serial != 0 && !muted.get(serial).unwrap_or(&all_muted))
        });
        for sample in samples.unwrap_or_default() {
            self.tables.add_safepoint_sample(jvmti, jni, &sample);
        }
    }
}
