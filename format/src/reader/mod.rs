//! Reads binary files of all known producers: the JDK's agent, HotSpot, the Serviceability
//! Agent, GraalVM, and Android's Dalvik and ART.
//!
//! [`Reader`] walks over bytes in memory, usually a memory-mapped file, and copies nothing.
//! [`StreamReader`] reads from any [`std::io::Read`]. Both go on behind damage as far as
//! possible and report it as [`Damage`] with its place.

mod damage;
mod file;
mod header;
mod stream;

pub use damage::{Damage, HeaderError};
pub use file::{Positioned, Reader};
pub use header::{FileHeader, Version};
pub use stream::{Event, StreamError, StreamReader};
