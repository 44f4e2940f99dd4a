//! The safe layer over the VM: the only place with raw calls through the JVMTI
//! and JNI function tables.
//!
//! An environment ([`Jvmti`]), memory that the VM allocated ([`VmMemory`]) and references to objects
//! ([`LocalRef`], [`GlobalRef`]) have one owner each and are given back by `Drop`. Every call returns a `Result`; what
//! an error means for the profile is decided by the caller. Callbacks from the
//! VM enter through [`guard()`], so that no panic crosses into the VM.

mod calls;
mod classes;
mod code_blobs;
mod code_places;
mod env;
mod error;
#[cfg(test)]
mod fake;
mod faults;
mod fields;
mod follow;
mod gate;
mod guard;
pub mod guarded;
mod handles;
pub mod hash;
mod heap;
mod hotspot;
mod ids;
mod invoke;
mod jni;
mod management;
mod memory;
mod method_ids;
mod monitors;
mod object_sizes;
mod redefine;
mod refs;
mod releases;
mod sample_hook;
mod stack_key;
mod stacks;
mod structs;
mod symbols;
mod thread_names;
mod threads;
mod thrown;
mod view;
mod walk;
mod walk_frozen;
mod walk_layout;

pub use classes::LineEntry;
pub use code_places::CodePlaces;
pub use env::{Capabilities, Jvmti, keep_environment};
pub use error::{JvmtiError, Result};
pub use faults::Fault;
pub use fields::{InstanceFields, Value};
pub use follow::{HeapReference, ReferenceKind};
pub use gate::StillInside;
pub use guard::{guard, panics, report_panics_to};
pub use handles::{FastCompare, handle_place, handle_word};
pub use hotspot::{JavaThreads, NativeThread, ThreadReader};
pub use hprof_walker::callers;
pub use hprof_walker::{
    End as WalkEnd, Failure as NoWalk, Frame as WalkedFrame, NATIVE as NATIVE_FRAME, Registers,
};
pub use ids::{JFieldId, JMethodId};
pub use invoke::VmHandle;
pub use jni::{Jni, LocalFrame};
pub use management::VmDumper;
pub use memory::VmMemory;
pub use object_sizes::{ArrayLayout, measure_arrays, measure_classes};
pub use redefine::NativeMethod;
pub use refs::{Class, GlobalRef, KeptWeakRef, LocalRef, Object, Ref, WeakRef};
pub use releases::{BoolFlag, Field, Release, TextFlag, Type, VmThreadKind, WordFlag};
pub use sample_hook::{Decide, NewObject, SYMBOLS as SAMPLE_HOOK_SYMBOLS, SampleHook};
pub use stack_key::StackKeys;
pub use stacks::StackFrame;
pub use structs::VmStructs;
pub use symbols::{VmLibrary, pin_library};
pub use thread_names::{ThreadInfo, ThreadNames};
pub use threads::ThreadState;
pub use thrown::Thrown;
pub use view::Vm;
pub use walk::{StackWalker, WalkedThread, interrupted_registers, walk_native};
pub use walk_frozen::FrozenClasses;
