//! Files that other programs read, and pictures of heap dumps.

mod created;
mod csv;
mod firefox;
pub mod hprof;
mod jfr;
mod json;
mod otlp;
mod parts;
pub mod sheet;
mod views;

pub use csv::csv;
pub use firefox::firefox;
pub use hprof::hprof;
pub use hprof_stacks::pictures::otlp::Resource;
#[cfg(feature = "capture")]
pub use hprof_stacks::pictures::otlp::pairs;
pub use jfr::jfr;
pub use json::json;
pub use otlp::otlp;
#[cfg(feature = "capture")]
pub use otlp::span;
pub use views::{heap_views, old_callees, old_view, readable};
