//! Views of heap dumps made by hand, whose figures are known, and of a real one.

mod background;
mod http;
mod known;
#[path = "../../../analysis/tests/common/made.rs"]
mod made;
mod objects;
mod opening;
mod profiles;
mod refusals;
mod tree;
