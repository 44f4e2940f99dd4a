//! Changes to code of the VM. No other module writes to it.

pub(crate) mod sample_hook;
