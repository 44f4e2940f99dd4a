//! How results are shown.

pub mod foreign;
pub mod out;
pub mod screen;
pub mod table;
