//! Readers of text and binary profiles for tests. They share no code with the product, so that a mistake in its writer cannot hide
//! behind the same mistake in its reader.
//!
//! A package of its own, as these read millions of lines and are compiled for speed; tests that use them are not.

mod binary_heap;
mod binary_profile;
mod text_heap;
mod text_profile;
mod text_sites;

pub use binary_heap::{BinaryHeap, Content, HeapClass, HeapObject, HeapRoot};
pub use binary_profile::{BinaryFrame, BinaryProfile, BinarySite, BinaryTable, BinaryTrace};
pub use text_heap::{TextClass, TextHeap, TextObject};
pub use text_profile::{CpuTable, MonitorDump, Row, TextProfile, ThreadStart, Trace, UsedMonitor};
pub use text_sites::{SiteRow, SiteTable};
