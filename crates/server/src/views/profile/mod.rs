//! Views of profiles: flame graphs, methods, call trees.

mod contents;
mod flame;
mod page;
mod remarks;
mod tables;

pub use contents::{
    Dimension, FlameQuery, ProfileAbout, ProfileFile, ProfileQuery, ThreadCost, ThreadGroup,
    TreeQuery,
};
#[cfg(feature = "serve")]
pub(crate) use flame::draw;
pub use flame::{Flame, FlameNode, compare, flame};
pub use page::page;
pub use tables::{callees, callers, methods, tree};
