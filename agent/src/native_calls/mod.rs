//! Calls of C functions that lead to the agent, and their stacks: the part that native= and nativelock= share.
//!
//! ```text
//! call of a library ─► its import table ─► hook of a mode ─► the function itself
//!                                           └► stack ─► table of stacks ─► names
//! ```
//!
//! # Rules for code that hooks run
//!
//! The hooks of both modes, [`capture`], [`gate`], [`known`] and [`stacks`] run inside of other libraries' calls, where any lock may be held,
//! on threads that begin or end, and after a fork:
//! - no allocation, no lock, no thread-local with a destructor, no formatting;
//! - memory is preallocated and never freed, so that a thread that is late finds it valid;
//! - `errno` is as the function itself has left it;
//! - a hook inside of a hook only calls the function.

mod capture;
mod gate;
mod inside;
mod known;
mod names;
mod redirect;
mod room;
mod stacks;

pub use capture::Capture;
pub use gate::{Gate, Leaked};
pub use inside::Inside;
pub use names::{StackNames, vm_address};
pub use redirect::{Owner, entries, set};
pub use room::{Zeroed, zeroed};
pub use stacks::{StackId, Stacks};
