//! The JVMs of this machine, for the server of `hprof-rs serve`.

mod machine;

pub use machine::LocalMachine;
