//! Pictures of profiles, and the files of other tools.
//!
//! [`collapsed`] is what flame graph tools read, [`flame_graph`] draws, [`page`] puts several flame
//! graphs and tables into one HTML page. [`pprof`] and [`speedscope`] are the formats of other
//! viewers.

pub mod collapsed;
mod colours;
pub mod flame_graph;
pub mod numbers;
pub mod page;
pub mod pprof;
pub mod profile;
pub mod speedscope;
