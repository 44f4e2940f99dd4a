//! Stacks, what they cost, and the ways to sum them up: those of `hprof-stacks`.

pub use hprof_stacks::{
    CallTree, Frame, FrameIndex, Measure, MethodCost, Node, Own, OwnCost, OwnCosts, Stacks, Trace,
    Weight, Weights, by_method, by_own, by_thread, headline,
};
