//! Stacks, what they cost, and the ways to sum them up: those of `hprof-stacks`.

pub use hprof_stacks::{
    CallTree, Frame, FrameIndex, LineCost, Measure, MethodCost, MethodLines, Node, Own, OwnCost,
    OwnCosts, Stacks, Trace, Weight, Weights, by_line, by_method, by_own, by_thread, headline,
};
