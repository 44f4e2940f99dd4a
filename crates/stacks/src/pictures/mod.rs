//! Pictures of profiles, and the files of other tools.
//!
//! [`collapsed`] is what flame graph tools read, [`flame_graph`] draws, [`page`] is one HTML page
//! with flame graphs to look around in and tables of methods. [`pprof`], [`speedscope`] and [`otlp`] are the formats of
//! other programs.

pub mod about;
pub mod collapsed;
#[cfg(feature = "svg")]
mod colours;
#[cfg(feature = "svg")]
pub mod flame_graph;
mod kinds;
pub use kinds::{Kind, kind_of};
pub mod message;
pub mod numbers;
pub mod otlp;
pub mod page;
mod places;
pub mod pprof;
pub mod profile;
pub mod sources;
pub mod speedscope;
pub mod times;

/// The file of frames that are no methods but the classes of what was allocated or waited for, in
/// formats whose stacks have frames only. By it, readers tell them from methods.
pub const CLASS_FILE: &str = "<class>";
