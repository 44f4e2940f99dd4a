//! The safe layer over the VM: the only place with raw calls through the JVMTI
//! and JNI function tables.
//!
//! Memory that the VM allocated ([`VmMemory`]) and local references
//! ([`jni::LocalRef`]) are given back by `Drop`. Every call returns a `Result`; what
//! an error means for the profile is decided by the caller. Callbacks from the
//! VM enter through [`guard()`], so that no panic crosses into the VM.

// Functions that take raw references are not `unsafe fn` yet.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

mod classes;
mod code_blobs;
mod env;
mod error;
mod gate;
mod guard;
mod handles;
pub mod hash;
mod heap;
mod hotspot;
mod invoke;
mod jni;
mod management;
mod memory;
mod monitors;
mod object_sizes;
mod redefine;
mod releases;
mod stack_key;
mod stacks;
mod structs;
mod symbols;
mod threads;
mod view;

pub use classes::LineEntry;
pub use env::{Capabilities, Jvmti};
pub use error::{JvmtiError, Result};
pub use gate::StillInside;
pub use guard::{guard, panics, report_panics_to};
pub use handles::{FastCompare, handle_word};
pub use hotspot::{JavaThreads, NativeThread};
pub use invoke::VmHandle;
pub use jni::{GlobalRef, Jni, LocalRef, WeakRef};
pub use management::VmDumper;
pub use memory::VmMemory;
pub use object_sizes::{ArrayLayout, measure_arrays, measure_classes};
pub use redefine::NativeMethod;
pub use releases::Release;
pub use stack_key::StackKeys;
pub use stacks::StackFrame;
pub use structs::VmStructs;
pub use symbols::{VmLibrary, pin_library};
pub use threads::{ThreadInfo, ThreadState};
pub use view::Vm;
