//! cpu=times: every call counted, and CPU time by method and path.
//!
//! Every method of every class gets hooks when its class is loaded ([`methods`],
//! and the crate `hprof_instrument`). They are in Java (`agent/hooks/`) and
//! move the thread from [node](automaton) to node, with one counter for each node
//! and [thread](threads). There is no clock in them: a [`sampler`] books the CPU
//! time. Counts are exact, times are a statistic.
//!
//! Hooks find a thread's state in a field of the thread object ([`rewriting`]): one that java.lang.Thread gets
//! when the VM loads that class, or the one that had the size of its stack. Classes that are loaded before the
//! VM is up, or before an agent that comes later, are rewritten in steps ([`java_side`]).

mod automaton;
mod costs;
mod counter;
mod java_side;
mod loaded;
mod methods;
mod natives;
mod permission;
mod plan;
mod recorder;
mod rewriting;
mod sampler;
mod state;
mod thread_timers;
mod threads;

pub use counter::{CallTimes, MAX_PATH};
pub use java_side::taken_by_another;
pub use plan::{Arrival, ChosenClasses, Plan};
pub use recorder::{TimesRecorder, calls_serial};
pub use state::CallClock;
