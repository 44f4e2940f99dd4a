//! From a JVM or a file to the report on a server: dump, strip, compress, send, wait.

#[cfg(feature = "capture")]
mod address;
#[cfg(feature = "capture")]
mod client;
#[cfg(feature = "capture")]
mod direct;
mod heap_dump;
mod interrupt;
#[cfg(feature = "capture")]
mod job;
mod meter;
mod pack;
#[cfg(feature = "capture")]
mod upload;
#[cfg(feature = "capture")]
mod watch;

#[cfg(feature = "capture")]
pub use address::{Address, Secret};
#[cfg(feature = "capture")]
pub use client::{Body, Client, Patience, Waits, lasting};
#[cfg(feature = "capture")]
pub use direct::send_direct;
pub use heap_dump::{DumpWish, dump};
pub use interrupt::Interrupt;
#[cfg(feature = "capture")]
pub use job::{Outcome, describe, wait};
pub use pack::{Packing, pack};
#[cfg(feature = "capture")]
pub use upload::{Parcel, send};
#[cfg(feature = "capture")]
pub use watch::{LOOK_EVERY, WatchedFolder};
