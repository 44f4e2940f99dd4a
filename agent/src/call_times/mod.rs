//! cpu=times: every call counted, and CPU time by method and path.
//!
//! Every method of every class gets hooks when its class is loaded ([`methods`],
//! and the crate `hprof_instrument`). They are in Java (`java/` of this crate) and
//! move the thread from [node](automaton) to node, with one counter for each node
//! and [thread](threads). There is no clock in them: a [`sampler`] books the CPU
//! time. Counts are exact, times are a statistic.
//!
//! The hooks find a thread's state in a field that java.lang.Thread gets when the
//! VM loads that class. All other classes loaded before the VM is up are rewritten
//! when it is.

mod automaton;
mod costs;
mod methods;
mod sampler;
mod state;
mod threads;
mod ticks;

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hprof_format::ids::ThreadSerial;
use hprof_native_headers as raw;
use jni_sys::{JNIEnv, jclass, jfieldID, jint, jlong, jobject};
use parking_lot::Mutex;

use crate::cpu_samples::signal::{EngineError, SignalNumber};
use crate::names::{Method, java_class_name};
use crate::report;
use crate::vm::{GlobalRef, Jni, Jvmti, JvmtiError, NativeMethod, Result, guard};
use automaton::{Automaton, NodeAddress, NodeNumber};
use costs::Costs;
pub use methods::ChosenClasses;
use methods::{HOOK_CLASS, Methods};
use threads::Threads;
use ticks::Ticks;

pub use state::Timing;

const HOOK_CLASS_FILE: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/java/lang/HprofHooks.class"));
const STARTED_CLASS: &CStr = c"java/lang/HprofHooks$Started";
const STARTED_SIGNATURE: &str = "Ljava/lang/HprofHooks$Started;";
const STARTED_CLASS_FILE: &[u8] = include_bytes!(concat!(
    env!("OUT_DIR"),
    "/java/lang/HprofHooks$Started.class"
));

/// The longest path that is kept. Nodes, and so memory and cache misses, multiply
/// with it.
pub const MAX_PATH: u32 = 64;
/// Bytes for nodes and their tables.
const NODE_MEMORY: usize = 300 << 20;
/// A node's own size, its share of the index and of tables.
const NODE_OVERHEAD: usize = 64;
const MOST_PATHS: usize = 1 << 21;
/// Room for references to the classes of a start-up.
const MANY_REFERENCES: u32 = 1 << 15;

/// The one counter of this process: natives of the hook class have no other way
/// to it.
static CALLS: OnceLock<CallTimes> = OnceLock::new();

/// Counts calls.
pub struct CallTimes {
    depth: usize,
    timing: Timing,
    automaton: Mutex<Automaton>,
    root: NodeAddress,
    threads: Mutex<Threads>,
    /// The state of threads that get none of their own.
    nobody: jlong,
    methods: Mutex<Methods>,
    /// Whether classes get hooks now.
    engaged: AtomicBool,
    /// Whether the classes loaded before are being rewritten.
    starting: AtomicBool,
    stopped: AtomicBool,
    refused: AtomicU64,
    java: OnceLock<Java>,
}

/// What is known of the Java side.
struct Java {
    state: jfieldID,
    virtual_thread: Option<GlobalRef>,
    hooks: GlobalRef,
    /// Whether the hook class has its natives.
    registered: AtomicBool,
}

// SAFETY: a field id is valid on every thread.
unsafe impl Send for Java {}
// SAFETY: as above.
unsafe impl Sync for Java {}

/// Why calls cannot be counted.
#[derive(Debug, thiserror::Error)]
pub enum Unprepared {
    /// The system gives no memory.
    #[error("no memory for counting calls")]
    NoMemory,
    /// The signal that the user asked for cannot be had.
    #[error("cpu=times cannot time threads: {0}")]
    Signal(#[from] EngineError),
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

/// What was counted, by path and by thread.
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
    /// Prepares counting of paths of `depth` methods. `signal` is the user's choice of
    /// a signal for the timers of threads, if any.
    ///
    /// # Errors
    /// [`Unprepared`].
    pub fn prepare(
        depth: u32,
        timing: Timing,
        classes: ChosenClasses,
        signal: Option<i32>,
    ) -> std::result::Result<&'static Self, Unprepared> {
        let install = || match timing {
            Timing::Sampled => Ticks::install(signal.map(SignalNumber)),
            Timing::Clocked | Timing::ClockedInclusive => Ok(Ticks::none()),
        };
        let ticks = match install() {
            Ok(ticks) => ticks,
            Err(error) if signal.is_some() => return Err(error.into()),
            Err(error) => {
                report::note(&format!(
                    "{error}: on a busy machine, times of cpu=times are less exact"
                ));
                Ticks::none()
            }
        };
        let depth = depth.min(MAX_PATH) as usize;
        let longest = depth.max(1);
        let most = (NODE_MEMORY / (4 * longest + NODE_OVERHEAD)).min(MOST_PATHS);
        let automaton = Automaton::new(longest, most);
        let root = automaton.root();
        let threads = Threads::new(automaton.most_nodes(), root, timing, ticks)
            .ok_or(Unprepared::NoMemory)?;
        let calls = Self {
            depth,
            timing,
            root,
            nobody: threads.nobody() as jlong,
            automaton: Mutex::new(automaton),
            threads: Mutex::new(threads),
            methods: Mutex::new(Methods::new(depth > 0, timing, classes)),
            engaged: AtomicBool::new(false),
            starting: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            java: OnceLock::new(),
        };
        Ok(CALLS.get_or_init(|| calls))
    }

    /// The class-file hook: what the class `name` is to be instead, if anything.
    pub fn class_file(&self, name: &[u8], class: &[u8], again: bool) -> Option<Vec<u8>> {
        if !self.engaged.load(Ordering::Acquire) {
            return match name {
                b"java/lang/Thread" => methods::thread_with_fields(class),
                _ => None,
            };
        }
        let again = again && !self.starting.load(Ordering::Relaxed);
        self.methods.lock().rewrite(name, class, again)
    }

    /// Starts counting, once the VM is up.
    ///
    /// # Errors
    /// The Java side cannot be set up; nothing is counted then.
    pub fn start(&'static self, jvmti: Jvmti, jni: &Jni) -> Result<()> {
        let thread = jni.find_class(c"java/lang/Thread")?;
        let state = jni.field_id(thread.as_raw(), c"hprofState", c"J")?;
        jni.field_id(thread.as_raw(), c"hprofNode", c"J")?;
        let virtual_thread = jni
            .find_class(c"java/lang/BaseVirtualThread")
            .ok()
            .map(|class| jni.new_global(class.as_raw()));
        let hooks = jni.define_boot_class(HOOK_CLASS, HOOK_CLASS_FILE)?;
        jni.define_boot_class(STARTED_CLASS, STARTED_CLASS_FILE)?;
        let _ = self.java.set(Java {
            state,
            virtual_thread,
            hooks: jni.new_global(hooks.as_raw()),
            registered: AtomicBool::new(false),
        });
        // The class is prepared in the call, see `class_prepared`.
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_PREPARE, true)?;
        let called = jni.call_static(hooks.as_raw(), c"start");
        jvmti.set_event(raw::JVMTI_EVENT_CLASS_PREPARE, false)?;
        called?;
        let java = self.java.get();
        if !java.is_some_and(|java| java.registered.load(Ordering::Acquire)) {
            return Err(JvmtiError::INTERNAL);
        }
        self.engaged.store(true, Ordering::Release);
        if self.timing == Timing::Sampled
            && let Err(error) = sampler::start(self)
        {
            report::error(&format!(
                "cannot start the thread that books CPU time, all times are 0 ({error})"
            ));
        }
        self.rewrite_loaded(jvmti, jni);
        let nodes = self.automaton.lock().len();
        self.threads.lock().forget_time(nodes);
        Ok(())
    }

    /// A class was prepared: registers the natives of the hook class when that is
    /// what runs, so that the VM sees the call come from java.base.
    pub fn class_prepared(&self, jvmti: Jvmti, jni: &Jni, class: jclass) {
        let Some(java) = self.java.get() else {
            return;
        };
        let signature = jvmti.class_signature(class);
        if java.registered.load(Ordering::Acquire)
            || signature.is_ok_and(|signature| signature != STARTED_SIGNATURE)
        {
            return;
        }
        // SAFETY: the functions have the parameters of these descriptors.
        let done = unsafe { jni.register_natives(java.hooks.as_raw(), &natives()) };
        java.registered.store(done.is_ok(), Ordering::Release);
    }

    /// Rewrites the classes that were loaded before.
    fn rewrite_loaded(&self, jvmti: Jvmti, jni: &Jni) {
        let _frame = jni.local_frame(MANY_REFERENCES);
        let Ok(classes) = jvmti.loaded_classes() else {
            report::error("the VM does not tell its classes: those of its start are not counted");
            return;
        };
        let classes: Vec<jclass> = classes
            .iter()
            .copied()
            .filter(|&class| jvmti.is_modifiable(class) && self.chooses(jvmti, class))
            .collect();
        self.starting.store(true, Ordering::Relaxed);
        self.retransform(jvmti, &classes);
        self.starting.store(false, Ordering::Relaxed);
    }

    fn chooses(&self, jvmti: Jvmti, class: jclass) -> bool {
        let Ok(signature) = jvmti.class_signature(class) else {
            return false;
        };
        let name = signature
            .strip_prefix('L')
            .and_then(|name| name.strip_suffix(';'));
        name.is_some_and(|name| self.methods.lock().chooses(name.as_bytes()))
    }

    /// Retransforms in one go, or, where the VM refuses, in two halves.
    fn retransform(&self, jvmti: Jvmti, classes: &[jclass]) {
        if classes.is_empty() || jvmti.retransform(classes).is_ok() {
            return;
        }
        if let [_] = classes {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let (first, second) = classes.split_at(classes.len() / 2);
        self.retransform(jvmti, first);
        self.retransform(jvmti, second);
    }

    /// A thread, the current one, ends.
    pub fn thread_end(&self, jni: &Jni, thread: jobject, tid: i32, serial: Option<ThreadSerial>) {
        let Some(java) = self.java.get() else {
            return;
        };
        jni.set_long_field(thread, java.state, 0);
        let nodes = self.automaton.lock().len();
        self.threads.lock().end(tid, serial, nodes);
    }

    /// Ends the sampling.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// All that was counted since the last time. `serial_of` tells a thread's serial from its
    /// kernel id, where threads are told apart. Nothing is counted after the `last` time.
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

    /// What is not counted, and what the counting takes, as remarks.
    pub fn remarks(&self, jvmti: Jvmti, jni: &Jni) -> Vec<String> {
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
        let ticks = threads.ticks();
        if let Some(signal) = ticks.signal() {
            lines.push(format!(
                "hprof-rs: timer_signal={signal} threads_without_timer={} foreign_signals={} \
                 handler_replaced={}",
                threads.without_tick(),
                ticks.foreign(),
                if ticks.is_replaced() { "y" } else { "n" },
            ));
        }
        lines
    }
}

/// Classes without a name that one could load them by: lambdas' above all.
fn hidden_classes(jvmti: Jvmti, jni: &Jni) -> usize {
    let _frame = jni.local_frame(MANY_REFERENCES);
    let Ok(classes) = jvmti.loaded_classes() else {
        return 0;
    };
    let hidden = classes.iter().filter(|&&class| {
        jvmti.class_signature(class).is_ok_and(|signature| {
            signature.starts_with('L') && (signature.contains('.') || signature.contains("/0x"))
        })
    });
    hidden.count()
}

fn natives() -> [NativeMethod; 3] {
    let native =
        |name: &'static CStr, signature: &'static CStr, function: *mut c_void| NativeMethod {
            name,
            signature,
            function,
        };
    [
        native(
            c"attach",
            c"(Ljava/lang/Thread;)J",
            attach as *const () as *mut c_void,
        ),
        native(c"root", c"()J", root as *const () as *mut c_void),
        native(c"find", c"(JI)J", find as *const () as *mut c_void),
    ]
}

/// What `HprofHooks.VIRTUAL` is.
const VIRTUAL: jlong = -1;

unsafe extern "system" fn attach(env: *mut JNIEnv, _class: jclass, thread: jobject) -> jlong {
    let Some(calls) = CALLS.get() else {
        return VIRTUAL;
    };
    guard(calls.nobody, || {
        // SAFETY: the VM passes the environment of the current thread.
        let jni = unsafe { Jni::new(env) };
        let is_virtual = calls
            .java
            .get()
            .and_then(|java| java.virtual_thread)
            .is_some_and(|class| jni.is_instance(thread, class.as_raw()));
        if is_virtual {
            return VIRTUAL;
        }
        // SAFETY: the call takes nothing and cannot fail.
        let tid = unsafe { libc::gettid() };
        calls.threads.lock().attach(tid, calls.root) as jlong
    })
}

unsafe extern "system" fn root(_env: *mut JNIEnv, _class: jclass) -> jlong {
    CALLS.get().map_or(0, |calls| calls.root.as_word() as jlong)
}

unsafe extern "system" fn find(
    _env: *mut JNIEnv,
    _class: jclass,
    node: jlong,
    method: jint,
) -> jlong {
    let Some(calls) = CALLS.get() else {
        return node;
    };
    guard(calls.root.as_word() as jlong, || {
        // SAFETY: the hooks only have addresses of nodes.
        let node = unsafe { NodeAddress::from_word(node as u64) };
        let next = calls.automaton.lock().next(node, method as u32);
        next.as_word() as jlong
    })
}
