//! Stacks, what they cost, and the ways to sum them up.

mod call_tree;
mod methods;
mod table;
mod weights;

pub use call_tree::{CallTree, Node};
pub use methods::{MethodCost, by_method, by_thread};
pub use table::{Frame, FrameIndex, Stacks, Trace};
pub use weights::{Measure, Weight, Weights};
