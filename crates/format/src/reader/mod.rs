//! Reads binary files of all known producers: the JDK's agent, HotSpot, the Serviceability
//! Agent, GraalVM, and Android's Dalvik and ART.
//!
//! [`Reader`] walks over bytes in memory, usually a memory-mapped file, and copies nothing.
//! [`StreamReader`] reads from any [`std::io::Read`]. Both continue after damage, at the next place
//! where sound records begin, and report it as [`Damage`] with its place and what was lost. For a
//! strict reading stop at the first.

mod buffer;
mod damage;
mod file;
mod header;
pub(crate) mod resync;
mod stream;

pub use buffer::Buffer;
pub use damage::{Damage, HeaderError};
pub use file::{Positioned, Reader};
pub use header::{FileHeader, Version};
pub use stream::{Event, StreamError, StreamReader};
