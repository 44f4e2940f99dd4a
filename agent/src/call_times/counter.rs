//! The one counter of calls of this process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use hprof_format::ids::ThreadSerial;
use hprof_lockfree::nodes::NodeNumber;
use jni_sys::jlong;
use parking_lot::Mutex;

use super::automaton::Automaton;
use super::costs::{self, Costs};
use super::methods::Methods;
use super::plan::{Arrival, Plan, Unprepared};
use super::rewriting::{Java, Rewriting};
use super::state::CallClock;
use super::thread_timers::ThreadTimers;
use super::threads::Threads;
use crate::names::{Method, java_class_name};
use crate::os::signals::SignalNumber;
use crate::report;
use crate::vm::{Jni, Jvmti, Ref};

/// The longest path that is kept. Nodes, and so memory and cache misses, multiply
/// with it.
pub const MAX_PATH: u32 = 64;
/// Bytes for nodes and their tables.
const NODE_MEMORY: usize = 300 << 20;
/// A node's own size, its share of the index and of tables.
const NODE_OVERHEAD: usize = 64;
const MAX_PATHS: usize = 1 << 21;
/// The one counter of this process: natives of the hook class have no other way
/// to it.
pub(super) static CALLS: OnceLock<CallTimes> = OnceLock::new();

/// Counts calls.
pub struct CallTimes {
    pub(super) depth: usize,
    pub(super) timing: CallClock,
    pub(super) automaton: Mutex<Automaton>,
    pub(super) threads: Mutex<Threads>,
    /// The state of threads that get none of their own.
    pub(super) shared_state: jlong,
    pub(super) methods: Mutex<Methods>,
    /// True if classes get hooks now.
    pub(super) engaged: AtomicBool,
    /// True if the classes loaded before are being rewritten.
    pub(super) starting: AtomicBool,
    pub(super) stopped: AtomicBool,
    pub(super) sampler: Mutex<Option<JoinHandle<()>>>,
    pub(super) refused: AtomicU64,
    pub(super) arrival: Arrival,
    pub(super) java: OnceLock<Java>,
    /// How classes were rewritten last, if that was while the program ran.
    pub(super) rewriting: Mutex<Option<Rewriting>>,
}

/// One row: what was counted in a path.
pub struct PathCost {
    /// The thread, where that was wanted.
    pub thread: Option<ThreadSerial>,
    node: NodeNumber,
    /// Calls of the innermost method.
    pub calls: u64,
    /// Its own CPU time.
    pub nanos: u64,
}

/// The counts, by path and by thread.
pub struct PathCosts(Costs);

impl PathCosts {
    /// Nanoseconds of all paths.
    pub fn nanos(&self) -> u64 {
        self.0.values().map(costs::NodeCosts::nanos).sum()
    }

    /// All rows, in no order.
    pub fn rows(&self) -> impl Iterator<Item = PathCost> + '_ {
        self.0.iter().flat_map(|(&thread, costs)| {
            costs.iter().map(move |(node, cost)| PathCost {
                thread,
                node,
                calls: cost.calls,
                nanos: cost.nanos,
            })
        })
    }
}

/// A method of a path.
pub struct PathMethod {
    /// Its names.
    pub method: Method,
    /// The line its code begins with.
    pub line: Option<u16>,
}

impl CallTimes {
    /// Prepares counting.
    ///
    /// # Errors
    /// [`Unprepared`].
    pub fn prepare(plan: Plan, arrival: Arrival) -> std::result::Result<&'static Self, Unprepared> {
        let depth = plan.depth.min(MAX_PATH) as usize;
        let timing = plan.timing;
        if let Some(calls) = CALLS.get() {
            calls.prepare_again(plan, depth)?;
            return Ok(calls);
        }
        let timers = install_timers(timing, plan.signal)?;
        let longest = depth.max(1);
        let most = (NODE_MEMORY / (4 * longest + NODE_OVERHEAD)).min(MAX_PATHS);
        let automaton = Automaton::new(longest, most).ok_or(Unprepared::NoMemory)?;
        let threads = Threads::new(automaton.most_nodes(), timing, timers, arrival)
            .ok_or(Unprepared::NoMemory)?;
        let calls = Self {
            depth,
            timing,
            shared_state: threads.shared_state() as jlong,
            automaton: Mutex::new(automaton),
            threads: Mutex::new(threads),
            methods: Mutex::new(Methods::new(
                depth > 0,
                timing,
                plan.classes,
                plan.adds_fields,
                plan.has_fast_accessors,
            )),
            engaged: AtomicBool::new(false),
            starting: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            sampler: Mutex::new(None),
            refused: AtomicU64::new(0),
            arrival,
            java: OnceLock::new(),
            rewriting: Mutex::new(None),
        };
        Ok(CALLS.get_or_init(|| calls))
    }

    fn prepare_again(&self, plan: Plan, depth: usize) -> std::result::Result<(), Unprepared> {
        let mut threads = self.threads.lock();
        if !threads.is_over() {
            return Err(Unprepared::Busy);
        }
        if depth != self.depth || plan.timing != self.timing {
            let clock = match self.timing {
                CallClock::Sampled => "",
                CallClock::Clocked => ",clock=exact",
                CallClock::ClockedInclusive => " by cpu=old",
            };
            return Err(Unprepared::Different(self.depth, clock));
        }
        threads.begin_again(install_timers(plan.timing, plan.signal)?);
        self.methods.lock().begin_again(plan.classes);
        self.refused.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Takes back what [`Self::prepare`] has done, where counting has not begun.
    pub fn cancel(&self) {
        let nodes = self.automaton.lock().len();
        self.threads.lock().detach(nodes);
    }

    /// The class-file hook: what the class `name` is to be instead, if anything.
    pub fn class_file(&self, name: &[u8], class: &[u8], again: bool) -> Option<Vec<u8>> {
        if !self.engaged.load(Ordering::Acquire) {
            return self.methods.lock().unhooked(name, class);
        }
        let again = again && !self.starting.load(Ordering::Relaxed);
        self.methods.lock().rewrite(name, class, again)
    }

    /// Returns true if classes have hooks.
    pub fn is_counting(&self) -> bool {
        self.engaged.load(Ordering::Acquire)
    }

    /// Returns true if this can end before the VM does.
    pub fn can_end(&self) -> bool {
        self.arrival == Arrival::Late
    }

    /// A thread, the current one, has run nothing yet.
    pub fn thread_start(&self, jni: &Jni, thread: Ref<'_>) {
        if let Some(java) = self.java.get() {
            // Its place may have a size below 0 that was asked for.
            // SAFETY: the VM says that it is a thread.
            unsafe { java.place.set(jni, thread, 0) };
        }
    }

    /// A thread, the current one, ends.
    pub fn thread_end(&self, jni: &Jni, thread: Ref<'_>, tid: i32, serial: Option<ThreadSerial>) {
        let Some(java) = self.java.get() else {
            return;
        };
        // Should it still leave a method, its hook writes there, or nowhere.
        let state = if java.keeps_states {
            self.shared_state
        } else {
            0
        };
        // SAFETY: the VM says that it is a thread.
        unsafe { java.place.set(jni, thread, state) };
        let nodes = self.automaton.lock().len();
        self.threads.lock().end(tid, serial, nodes);
    }

    /// Ends the sampling.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// All that was counted since the last time. `serial_of` tells a thread's serial from its
    /// kernel id, where threads are distinguished. Nothing is counted after the `last` time.
    pub fn take(&self, last: bool, serial_of: &dyn Fn(i32) -> Option<ThreadSerial>) -> PathCosts {
        let nodes = self.automaton.lock().len();
        let mut costs = self.threads.lock().take(nodes, !last, serial_of);
        let automaton = self.automaton.lock();
        for (first, second) in automaton.twins() {
            for costs in costs.values_mut() {
                costs.shift(second, first);
            }
        }
        PathCosts(costs)
    }

    /// The methods of a path, innermost first.
    pub fn path(&self, cost: &PathCost) -> Vec<PathMethod> {
        if self.depth == 0 {
            return Vec::new();
        }
        let numbers = self.automaton.lock().methods(cost.node);
        let methods = self.methods.lock();
        let found = numbers.iter().filter_map(|&number| methods.get(number));
        let named = found.map(|method| PathMethod {
            method: Method {
                class_name: java_class_name(&format!("L{};", method.class)),
                name: method.name.clone(),
                descriptor: method.descriptor.clone(),
                source_file: method.source_file.as_deref().map(str::to_owned),
            },
            line: method.line,
        });
        named.collect()
    }

    /// The number of classes that the VM has refused with hooks.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// A sentence on what the profile lacks as this agent does not know it, with the remedy. `None` where all is known.
    pub fn why_unknown(&self) -> Option<String> {
        self.methods.lock().left_out().why_unknown()
    }

    /// Why no call was counted, and what to do.
    pub fn why_nothing(&self) -> String {
        let refused = self.refused.load(Ordering::Relaxed);
        self.methods.lock().left_out().why_nothing(refused)
    }

    /// Remarks on uncounted methods and on the cost of counting.
    pub fn remarks(&self, jvmti: &Jvmti, jni: &Jni) -> Vec<String> {
        let hidden = hidden_classes(jvmti, jni);
        let left_out = self.methods.lock().left_out().clone();
        let list = |reasons: &std::collections::BTreeMap<String, u64>| -> String {
            reasons
                .iter()
                .map(|(reason, count)| format!(" {reason}={count}"))
                .collect()
        };
        let mut lines = vec![
            format!(
                "hprof-rs: counted_classes={} counted_methods={} methods_without_time={} \
                 excluded_classes={}",
                left_out.classes, left_out.methods, left_out.count_only, left_out.excluded_classes,
            ),
            format!(
                "hprof-rs: not counted: native_methods={} hidden_classes={hidden} \
                 refused_classes={}; counted only while interpreted: intrinsics={}; \
                 too long for the compilers with hooks: methods={}",
                left_out.natives,
                self.refused.load(Ordering::Relaxed),
                left_out.intrinsics,
                left_out.no_longer_compiled,
            ),
        ];
        if !left_out.skipped_classes.is_empty() {
            let reasons = list(&left_out.skipped_classes);
            lines.push(format!("hprof-rs: skipped_classes{reasons}"));
        }
        if !left_out.skipped_methods.is_empty() {
            let reasons = list(&left_out.skipped_methods);
            lines.push(format!("hprof-rs: skipped_methods{reasons}"));
        }
        let (nodes, bytes, cut) = {
            let automaton = self.automaton.lock();
            (automaton.len(), automaton.bytes(), automaton.cut())
        };
        let threads = self.threads.lock();
        lines.push(format!(
            "hprof-rs: paths={nodes} paths_kb={} paths_cut={cut} counting_threads={} \
             threads_not_counted={}",
            bytes >> 10,
            threads.seen(),
            threads.without_state(),
        ));
        let timers = threads.timers();
        if let Some(signal) = timers.signal() {
            lines.push(format!(
                "hprof-rs: timer_signal={signal} threads_without_timer={} foreign_signals={} \
                 handler_replaced={}",
                threads.without_timer(),
                timers.foreign(),
                if timers.is_replaced() { "y" } else { "n" },
            ));
        }
        if let Some(rewriting) = self.rewriting.lock().as_ref() {
            lines.push(format!("hprof-rs: {rewriting}"));
        }
        lines
    }
}

/// The timers of threads, where they are needed.
fn install_timers(
    timing: CallClock,
    signal: Option<i32>,
) -> std::result::Result<ThreadTimers, Unprepared> {
    if timing != CallClock::Sampled {
        return Ok(ThreadTimers::none());
    }
    match ThreadTimers::install(signal.map(SignalNumber)) {
        Ok(timers) => Ok(timers),
        Err(error) if signal.is_some() => Err(error.into()),
        Err(error) => {
            report::note(&format!(
                "{error}: on a busy machine, times of cpu=times are less exact"
            ));
            Ok(ThreadTimers::none())
        }
    }
}

/// Classes without a name that one could load them by: lambdas' above all.
fn hidden_classes(jvmti: &Jvmti, jni: &Jni) -> usize {
    let jni = &*jni.large_local_frame();
    let Ok(classes) = jvmti.loaded_classes(jni) else {
        return 0;
    };
    let hidden = classes.iter().filter(|class| {
        jvmti.class_signature(class.get()).is_ok_and(|signature| {
            signature.starts_with('L') && (signature.contains('.') || signature.contains("/0x"))
        })
    });
    hidden.count()
}
