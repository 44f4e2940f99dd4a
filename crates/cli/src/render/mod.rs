//! How results are shown.

pub mod foreign;
mod narrow;
pub mod out;
pub mod screen;
pub mod steps;
pub mod table;
