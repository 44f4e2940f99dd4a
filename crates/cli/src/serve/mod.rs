//! The needs of `hprof-rs serve` and `worker` of the command line and of this machine.

mod fleet;
mod machine;

pub use fleet::FleetArguments;
#[cfg(feature = "parquet")]
pub use fleet::check_place;
pub use machine::LocalMachine;
