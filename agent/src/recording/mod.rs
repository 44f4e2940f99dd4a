//! The trait and the parts that all recorders share.
//!
//! Each mode records in a room of its own and has one [`Recorder`] there, which works on the profile
//! thread. It gets a [`Context`]: the VM, the run, the tables of names and the output. Nothing here
//! knows a mode.

mod context;
mod inbox;
pub mod left_out;
mod messages;
mod recorder;
mod run;
mod start_watch;
mod threads;

pub use context::Context;
pub use inbox::Inbox;
pub use messages::{Asked, Message, Order, Outbox};
pub use recorder::{Activity, Incomplete, Nothing, Recorder};
pub use run::{Phase, Run};
pub use start_watch::{STEP, StartWatch};
pub use threads::{LiveThread, NAMED, Threads};
