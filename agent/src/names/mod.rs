//! Interning: methods, frames and traces, each in its own table with its own id.
//!
//! The profile thread owns all of them, so they have no locks. Names are looked
//! up soon after a method is first seen, while its class is still loaded. What
//! grows with the program - methods, frames, traces - shares one memory limit;
//! beyond it a new trace keeps its innermost frame only, and then none.

mod class_name;
mod methods;
mod resolver;
mod tables;
mod traces;

pub use class_name::{HiddenNames, class_signature, java_class_name};
pub use methods::{FrameId, Method};
pub use resolver::Location;
pub use tables::Names;
