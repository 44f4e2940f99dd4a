//! The report on a heap dump: one page, JSON or Markdown.

mod data;
mod details;
mod html;
mod markdown;
mod phases;

pub use data::Report;
pub use html::html;
pub use markdown::markdown;
pub use phases::{Phases, say_timings};
