//! What `hprof-rs serve` gives its server: the JVMs of this machine.

mod machine;

pub use machine::LocalMachine;
