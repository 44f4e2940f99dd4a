//! The census of a heap dump: its objects, counted by class.
//!
//! [`Census`] is filled in one pass, in any order of the sub-records, and can be merged with that
//! of another part of the same dump. Sizes are worked out at the end, by [`Layout`], since a
//! binary dump holds values only and not the room that a VM gives them.

mod address_sample;
mod census;
mod class_shape;
mod counts;
mod distances;
mod histogram;
mod hotspot;
mod largest;
mod layout;
mod layout_observer;
mod layout_votes;
mod objects;
mod placement;
mod sizes;
mod strings;
mod text;
mod thread_facts;

pub use census::Census;
pub use class_shape::ClassShape;
pub use counts::{ArrayCount, ClassCount, HeapCount, RootCounts};
pub use histogram::{Group, Histogram, Row, Totals, histogram, layout, text_histogram};
pub(crate) use hotspot::{is_stack_chunk, stack_words};
pub use largest::{Large, LargeKind, Largest, PREVIEW};
pub(crate) use layout::MAX_ALIGNMENT;
pub use layout::{Layout, LayoutSource};
pub(crate) use layout_observer::LayoutObserver;
pub(crate) use objects::number as number_of;
pub use objects::{HeapFile, Object};
pub use sizes::Sizes;
pub(crate) use strings::{
    SeenTexts, SeenUses, StringClass, StringSource, StringUses, Uniform, is_blanked, is_uniform,
};
pub use strings::{StringGroup, StringReport, strings};
pub(crate) use text::Text;
pub use thread_facts::{Local, ThreadFacts, locals, thread_facts};
pub(crate) use thread_facts::{is_virtual, state as thread_state};
