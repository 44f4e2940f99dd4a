//! The safe layer over the VM: the only place with raw calls through the JVMTI
//! and JNI function tables.
//!
//! An environment ([`Jvmti`]), memory that the VM allocated ([`VmMemory`]) and references to objects
//! ([`LocalRef`], [`GlobalRef`]) have one owner each and are given back by `Drop`. Every call returns a `Result`; what
//! an error means for the profile is decided by the caller. Callbacks from the
//! VM enter through [`guard()`], so that no panic crosses into the VM.
//!
//! `jvmti` is what the specifications of JVMTI and JNI promise, and changes with neither release nor machine. `hotspot` is what
//! HotSpot has besides, learnt from the tables that it exports: it changes with every JDK. Its `patch` is the only place that
//! changes code of the VM.

#[cfg(test)]
mod fake;
mod faults;
mod guard;
pub mod hash;
mod hotspot;
mod jvmti;

pub use faults::Fault;
pub use guard::{guard, panics, report_panics_to};
pub use hotspot::code_places::CodePlaces;
pub use hotspot::guarded;
pub use hotspot::handles::{FastCompare, handle_place, handle_word};
pub use hotspot::java_threads::{JavaThreads, NativeThread, ThreadReader};
pub use hotspot::patch::sample_hook::{
    Decide, NewObject, SYMBOLS as SAMPLE_HOOK_SYMBOLS, SampleHook,
};
pub use hotspot::releases::{BoolFlag, Field, Release, TextFlag, Type, VmThreadKind, WordFlag};
pub use hotspot::stack_key::StackKeys;
pub use hotspot::structs::VmStructs;
pub use hotspot::symbols::{VmLibrary, pin_library};
pub use hotspot::thread_names::{ThreadInfo, ThreadNames};
pub use hotspot::walk::{
    StackWalker, WalkedThread, interrupted_registers, walk_native, walk_native_anywhere,
};
pub use hotspot::walk_frozen::FrozenClasses;
pub use hprof_walker::callers;
pub use hprof_walker::{
    End as WalkEnd, Failure as NoWalk, Frame as WalkedFrame, NATIVE as NATIVE_FRAME, Registers,
};
pub use jvmti::classes::LineEntry;
pub use jvmti::env::{Capabilities, Jvmti, keep_environment};
pub use jvmti::error::{JvmtiError, Result};
pub use jvmti::fields::{InstanceFields, Value};
pub use jvmti::follow::{HeapReference, ReferenceKind};
pub use jvmti::gate::StillInside;
pub use jvmti::ids::{JFieldId, JMethodId};
pub use jvmti::invoke::VmHandle;
pub use jvmti::jni::{Jni, LocalFrame};
pub use jvmti::management::VmDumper;
pub use jvmti::memory::VmMemory;
pub use jvmti::object_sizes::{ArrayLayout, measure_arrays, measure_classes};
pub use jvmti::redefine::NativeMethod;
pub use jvmti::refs::{Class, GlobalRef, KeptWeakRef, LocalRef, Object, Ref, WeakRef};
pub use jvmti::stacks::StackFrame;
pub use jvmti::threads::ThreadState;
pub use jvmti::thrown::Thrown;
pub use jvmti::view::Vm;
