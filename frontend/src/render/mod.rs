//! How results are shown.

pub mod screen;
pub mod table;
