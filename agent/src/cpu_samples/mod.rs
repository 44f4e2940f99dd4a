//! cpu=samples: where the CPU time of Java threads goes.
//!
//! Two [engines](engine) take stacks: the [`signal`] engine, and the [`safepoint`] engine where the
//! first cannot work. The [`recorder`] counts their stacks by trace ([`counts`]). With cpu=wall, [`wall`] says when
//! which thread is sampled. With
//! `cstack=y`, [`c_symbols`] has the names of native code.

mod c_symbols;
mod counts;
mod debug_info;
mod engine;
mod recorder;
mod safepoint;
pub mod signal;
mod threads;
mod times;
mod vm_threads;
mod wall;

pub use c_symbols::CSymbols;
pub use debug_info::has_debug_info;
pub use engine::{Engine, Sampling, choose};
pub use recorder::SamplesRecorder;
pub use recorder::location;
pub use signal::{AsgctFrame, CodeCache, StackPart, sampled};
pub use threads::{begin_sampling, check_walk, make_method_ids, sample_thread};
