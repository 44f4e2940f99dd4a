//! The state that is kept while the VM dumps its heap.

use std::sync::Arc;

use super::live::Segment;
use super::located::Places;
use super::sweep::Sweeper;

/// Tells whether the VM has written its dump, though perhaps not all of the file.
pub type IsDumped = Box<dyn Fn() -> bool + Send + Sync>;

/// A dump that is being taken.
pub(super) struct Watch {
    /// The followed objects, lent by the profile thread.
    pub(super) sweeper: Sweeper,
    pub(super) is_dumped: IsDumped,
    /// Taken out of the channel meanwhile.
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) places: Option<Places>,
}

/// How the objects of the dump to come are going to be found.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    /// By the words of their references.
    Words,
    /// Through JNI, if no more phases of collections than these begin.
    References(usize),
}
