//! What a heap dump holds, counted by class.
//!
//! [`Census`] is filled in one pass, in any order of the sub-records, and can be merged with that
//! of another part of the same dump. Sizes are worked out at the end, by [`Layout`], since a
//! binary dump holds values only and not the room that a VM gives them.

mod address_sample;
mod census;
mod class_shape;
mod distances;
mod histogram;
mod hotspot;
mod largest;
mod layout;
mod layout_votes;
mod objects;
mod strings;
mod thread_facts;

pub(crate) use address_sample::AddressSample;
pub use census::{ArrayCount, Census, ClassCount, HeapCount, RootCounts};
pub use class_shape::ClassShape;
pub(crate) use distances::{Distances, LOOKED_AT};
pub use histogram::{Group, Histogram, Row, Totals, histogram, layout, text_histogram};
pub(crate) use hotspot::{is_stack_chunk, stack_words};
pub use largest::{Large, LargeKind, Largest, PREVIEW};
pub(crate) use layout::MOST_ALIGNMENT;
pub use layout::{Layout, LayoutSource, Sizes};
pub(crate) use layout_votes::LayoutVotes;
pub use objects::{HeapFile, Object};
pub(crate) use strings::{StringClass, StringSource, Uniform, count_strings, is_uniform};
pub use strings::{StringGroup, StringReport, strings};
pub use thread_facts::{Local, ThreadFacts, locals, thread_facts};
