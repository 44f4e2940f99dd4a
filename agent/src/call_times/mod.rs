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
//! when it is. In a VM that was up before the agent came, the states are in a [table](hprof_lockfree::late_threads)
//! instead, and all classes are rewritten in steps ([`java_side`]).

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
pub use plan::{Arrival, ChosenClasses, Plan};
pub use recorder::{TimesRecorder, calls_serial};
pub use state::CallClock;
