//! HotSpot's own structures, read where its exported tables say that they are. Each fact of a release is in `releases`.

pub(crate) mod code_blobs;
pub(crate) mod code_places;
pub mod guarded;
pub(crate) mod handles;
pub(crate) mod java_threads;
pub(crate) mod method_ids;
pub(crate) mod patch;
pub(crate) mod releases;
pub(crate) mod stack_key;
pub(crate) mod structs;
pub(crate) mod symbols;
pub(crate) mod thread_names;
pub(crate) mod walk;
pub(crate) mod walk_frozen;
pub(crate) mod walk_layout;
