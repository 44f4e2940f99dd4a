//! From a JVM or a file to the report on a server: dump, strip, compress, send, wait.

mod address;
mod client;
mod direct;
mod heap_dump;
mod interrupt;
mod job;
mod meter;
mod pack;
mod upload;
mod watch;

pub use address::{Address, Secret};
pub use client::{Client, Patience};
pub use direct::send_direct;
pub use heap_dump::{DumpWish, dump};
pub use interrupt::Interrupt;
pub use job::{Outcome, describe, wait};
pub use pack::{Packing, pack};
pub use upload::{Parcel, send};
pub use watch::{LOOK_EVERY, WatchedFolder};
