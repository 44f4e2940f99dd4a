//! Stacks of calls, what they cost, and pictures of that.
//!
//! [`Stacks`] holds the traces of a profile, each frame once. [`Weights`] brings CPU samples, times,
//! allocation and contention into one form; [`CallTree`] and [`by_method`] sum it up. [`pictures`]
//! turns the result into flame graphs and into the files of other tools.
//!
//! The agent uses this crate to write pictures at the end of a run, the front-end to make them of
//! any profile, so both look the same.

pub mod call_strips;
mod call_tree;
mod changes;
mod depth;
pub mod events;
mod facts;
mod family;
mod idle;
pub mod lanes;
mod lines;
pub mod load;
mod methods;
mod own;
pub mod pictures;
pub mod requests;
pub mod slow;
pub mod slow_remarks;
pub mod slow_spans;
pub mod slow_table;
mod states;
mod table;
mod tables;
pub mod timeline;
mod weights;

pub use call_tree::{CUT_OFF, CallTree, EMPTY, Node};
pub use changes::change_points;
pub use depth::{CutBeforeOwn, Depth};
pub use facts::RunFacts;
pub use family::family;
pub use idle::{may_wait, waits_for_work, without_idle};
pub use lines::{LineCost, MethodLines, by_line};
pub use methods::{MethodCost, by_method, by_thread};
pub use own::{Own, OwnCost, OwnCosts, by_own, headline};
pub use states::ThreadState;
pub use table::{Frame, FrameIndex, Stacks, Trace};
pub use tables::{
    CpuRow, CpuTable, MonitorRow, MonitorTable, OldCpuRow, SiteRow, SiteTable, Tables,
};
pub use weights::{Measure, Weight, Weights};
