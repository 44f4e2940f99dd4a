//! How results are shown.

pub mod collapsed;
pub mod flame_graph;
pub mod screen;
pub mod speedscope;
pub mod table;
