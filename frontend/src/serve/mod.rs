//! What `hprof-rs serve` and `worker` need of the command line and of this machine.

mod fleet;
mod machine;

pub use fleet::FleetArguments;
pub use machine::LocalMachine;
