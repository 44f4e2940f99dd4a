//! CPU time of the process outside of Java threads, for `vmthreads=y`.
//!
//! Threads that run no Java code cannot be asked what they do, but the kernel has their names and CPU clocks.
//! [`VmThreads`] reads these now and then. What neither they nor Java threads have used of the CPU time of the
//! process is that of native threads: the parts add up to the whole by construction.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::os::{task, timer};
use crate::vm::VmThreadKind;

/// Between two readings. A thread that ends has its last bit counted as native.
const PERIOD: Duration = Duration::from_millis(500);

/// Whose CPU time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Garbage collection. The serial collector works in the VM's own thread.
    Gc,
    /// The JIT compilers.
    Jit,
    /// The VM's own threads: safepoints, timers.
    Vm,
    /// The agent.
    Agent,
    /// All else: the start of the VM, threads of libraries, threads that end.
    Native,
}

impl Part {
    /// All parts, in their order.
    pub const ALL: [Self; 5] = [Self::Gc, Self::Jit, Self::Vm, Self::Agent, Self::Native];

    /// The name of its row.
    pub fn label(self) -> &'static str {
        match self {
            Self::Gc => "[gc]",
            Self::Jit => "[jit]",
            Self::Vm => "[vm]",
            Self::Agent => "[agent]",
            Self::Native => "[native]",
        }
    }

    /// The part of a thread by its name.
    fn of_name(name: &str) -> Self {
        match VmThreadKind::of_name(name) {
            Some(VmThreadKind::Collector) => Self::Gc,
            Some(VmThreadKind::Compiler) => Self::Jit,
            Some(VmThreadKind::Vm) => Self::Vm,
            None if name.starts_with("HPROF") || name.starts_with("hprof") => Self::Agent,
            None => Self::Native,
        }
    }
}

/// CPU time by [`Part`] in nanoseconds.
pub type Parts = [u64; Part::ALL.len()];

/// Reads the CPU clocks of threads that run no Java code.
pub struct VmThreads {
    known: HashMap<i32, Known>,
    /// Since the begin; that of native threads is not known here.
    nanos: Parts,
    /// CPU time of the process at the begin.
    process_nanos: u64,
    read: Instant,
}

struct Known {
    part: Part,
    cpu_nanos: u64,
}

impl VmThreads {
    /// Counts from now on.
    pub fn begin() -> Self {
        let mut this = Self {
            known: HashMap::new(),
            nanos: Parts::default(),
            process_nanos: timer::process_cpu_nanos(),
            read: Instant::now(),
        };
        this.read(|_| false);
        // What threads have used before.
        this.nanos = Parts::default();
        this
    }

    /// Reads the clocks if that is due. `is_java` tells which kernel thread ids are sampled.
    pub fn read_now_and_then(&mut self, is_java: impl Fn(i32) -> bool) {
        if self.read.elapsed() >= PERIOD {
            self.read(is_java);
        }
    }

    /// CPU time of each part since the begin, if Java threads have used `java`. Reads the clocks.
    pub fn parts(&mut self, is_java: impl Fn(i32) -> bool, java: Duration) -> Parts {
        self.read(is_java);
        let java = u64::try_from(java.as_nanos()).unwrap_or(u64::MAX);
        let process = timer::process_cpu_nanos().saturating_sub(self.process_nanos);
        let mut parts = self.nanos;
        let known: u64 = parts.iter().sum();
        if let Some(native) = parts.get_mut(Part::Native as usize) {
            *native = process.saturating_sub(known.saturating_add(java));
        }
        parts
    }

    fn read(&mut self, is_java: impl Fn(i32) -> bool) {
        self.read = Instant::now();
        // SAFETY: the call has no arguments and cannot fail.
        let own = unsafe { libc::gettid() };
        let threads = task::all();
        for &tid in &threads {
            if is_java(tid) {
                self.known.remove(&tid);
                continue;
            }
            let cpu = timer::thread_cpu_nanos(tid);
            let known = self.known.get(&tid).filter(|known| known.cpu_nanos <= cpu);
            let (part, before) = match known {
                Some(known) => (known.part, known.cpu_nanos),
                // New, or another thread got the id.
                None => match task::name(tid) {
                    _ if tid == own => (Part::Agent, 0),
                    Some(name) => (Part::of_name(&name), 0),
                    None => continue,
                },
            };
            self.known.insert(
                tid,
                Known {
                    part,
                    cpu_nanos: cpu,
                },
            );
            if part != Part::Native
                && let Some(nanos) = self.nanos.get_mut(part as usize)
            {
                *nanos += cpu - before;
            }
        }
        if self.known.len() > threads.len() {
            let live: std::collections::HashSet<i32> = threads.into_iter().collect();
            self.known.retain(|tid, _| live.contains(tid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "needs /proc")]
    fn the_parts_add_up_to_the_process() {
        let mut threads = VmThreads::begin();
        let spin = |nanos: u64| {
            let begin = timer::process_cpu_nanos();
            while timer::process_cpu_nanos() < begin + nanos {}
        };
        spin(20_000_000);
        let gc = std::thread::Builder::new().name("GC Thread#7".to_owned());
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let gc = gc.spawn(move || {
            spin(40_000_000);
            receiver.recv()
        });
        spin(60_000_000);
        let parts = threads.parts(|_| false, Duration::ZERO);
        let process = timer::process_cpu_nanos() - threads.process_nanos;
        drop(sender);
        let _ = gc.unwrap().join();
        let sum: u64 = parts.iter().sum();
        assert!(
            sum <= process && sum + 20_000_000 > process,
            "{parts:?} of {process}"
        );
        assert!(parts[Part::Gc as usize] > 0, "{parts:?}");
    }
}
