//! Placeholder
mod annotations;
mod bytes;
mod code;
mod constant_pool;
mod error;
mod fields;
mod frames;
mod layout;
mod method;
mod mutf8;
mod opcode;
mod plan;
mod rewriter;
mod snippets;

pub use error::{ClassSkip, Malformed, MethodSkip};
pub use fields::{NewField, add_fields};
pub use method::MethodInfo;
pub use mutf8::Mutf8;
pub use plan::{Hooks, MethodHook, MethodNumber, SelectMethod, Shape};
pub use rewriter::{NEWEST_MAJOR, Rewriter, Rewritten, SkippedMethod, Tally};
