//! The run: what is profiled, how far the VM is, and who may dump.
//!
//! ```text
//! OnLoad    options checked, output created, recorders made         (load.rs)
//! VMInit    threads registered, recorders and profile thread start  (start.rs)
//! live      callbacks and signal handlers record and send,          (callbacks.rs)
//!           the profile thread lets the recorders work              (work.rs, dump.rs)
//!           and carries out what is asked for                       (dispatch.rs, commands.rs)
//! VMDeath   the profile thread finishes; the VM waits for it        (callbacks.rs)
//! ```

mod advice;
mod callbacks;
mod check;
mod commands;
mod dispatch;
mod dump;
mod exit_hook;
mod facts;
mod identity;
mod install;
mod load;
mod orders;
mod peer;
mod recorders;
mod serve;
mod session;
mod siblings;
mod start;
mod state;
mod thread;
mod threads;
mod virtual_threads;
mod work;

pub use install::Refusal;
pub use load::load;
pub use serve::serve;
pub use session::{NotBegun, begin};
