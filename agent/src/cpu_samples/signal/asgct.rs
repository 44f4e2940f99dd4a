//! `AsyncGetCallTrace`, HotSpot's stack walk for signal handlers (`forte.cpp`).

use std::ffi::c_void;

use jni_sys::{JNIEnv, jint};

use crate::vm::{Fault, JMethodId, VmLibrary};

/// The value of `AsgctFrame::location` in a native method.
pub const NATIVE_LOCATION: i32 = -3;

/// The value of `AsgctFrame::location` in a frame of native code, whose address stands for the method.
const CODE_LOCATION: i32 = -100;
/// The value where a failure code of the VM stands for the method: there is no frame of Java.
const FAILURE_LOCATION: i32 = -101;

/// A frame as the VM writes it, or the agent for native code.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsgctFrame {
    /// Bytecode index, or [`NATIVE_LOCATION`].
    pub location: jint,
    /// The method; [`JMethodId::NONE`] when it has no id yet.
    pub method: JMethodId,
}

/// The part of a stack that a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackPart {
    /// A Java method.
    Java,
    /// Native code at this address.
    Code(usize),
    /// No frame: the failure code of the walk of Java's part.
    Failure(i32),
}

impl AsgctFrame {
    /// A frame of native code.
    pub fn of_code(address: usize) -> Self {
        Self {
            location: CODE_LOCATION,
            // SAFETY: the location says that it is no method, so no VM gets it.
            method: unsafe { JMethodId::from_raw(address as jni_sys::jmethodID) },
        }
    }

    /// A frame of its two words.
    pub fn from_words(location: i32, method: u64) -> Self {
        Self {
            location,
            // SAFETY: the words are those of a frame that was taken apart.
            method: unsafe { JMethodId::from_raw(method as usize as jni_sys::jmethodID) },
        }
    }

    /// The place of Java's part where that has no frame.
    pub(super) fn of_failure(code: i32) -> Self {
        Self {
            location: FAILURE_LOCATION,
            // SAFETY: as above.
            method: unsafe { JMethodId::from_raw(code as usize as jni_sys::jmethodID) },
        }
    }

    /// The method, address or reason that it stands for.
    pub fn part(&self) -> StackPart {
        match self.location {
            CODE_LOCATION => StackPart::Code(self.method.as_raw() as usize),
            FAILURE_LOCATION => StackPart::Failure(self.method.as_raw() as usize as i32),
            _ => StackPart::Java,
        }
    }
}

#[repr(C)]
struct CallTrace {
    env: *mut JNIEnv,
    frame_count: jint,
    frames: *mut AsgctFrame,
}

type Function = unsafe extern "C" fn(*mut CallTrace, jint, *mut c_void);

/// Stands for the VM's function where a test wants none of its stacks.
unsafe extern "C" fn no_stack(trace: *mut CallTrace, _depth: jint, _context: *mut c_void) {
    /// `ticks_not_walkable_Java`.
    const NOT_WALKABLE: jint = -6;
    // SAFETY: the caller's own description of the call.
    unsafe { (*trace).frame_count = NOT_WALKABLE };
}

/// The function, found at run time: it is exported but in no header.
#[derive(Clone, Copy)]
pub(super) struct AsyncGetCallTrace(Function);

impl AsyncGetCallTrace {
    pub(super) fn find(library: VmLibrary) -> Option<Self> {
        if Fault::NoCallTrace.is_wanted() {
            return None;
        }
        if Fault::NoStacks.is_wanted() {
            return Some(Self(no_stack));
        }
        let address = library.symbol(c"AsyncGetCallTrace")?;
        // SAFETY: the symbol is a function of this type (forte.cpp), in every
        // release from 8 to 28.
        Some(Self(unsafe {
            std::mem::transmute::<*mut c_void, Function>(address)
        }))
    }

    /// Walks the stack of the current thread as of `context`. Returns the number
    /// of frames, or the VM's failure code (zero or negative).
    ///
    /// # Safety
    /// Called in a signal handler with its own context; `env` is the current
    /// thread's; `frames` has room for `depth` frames.
    pub(super) unsafe fn walk(
        self,
        env: *mut JNIEnv,
        frames: *mut AsgctFrame,
        depth: i32,
        context: *mut c_void,
    ) -> i32 {
        let mut trace = CallTrace {
            env,
            frame_count: 0,
            frames,
        };
        // SAFETY: by the caller's promise; `trace` is a local.
        unsafe { (self.0)(&mut trace, depth, context) };
        trace.frame_count
    }
}

/// Why a walk gave no frames (the codes of `forte.cpp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WalkFailure {
    /// The thread has no Java frame: it runs VM code only.
    NoJavaFrame,
    /// Class-load events are not enabled.
    NoClassLoad,
    /// A garbage collection was active.
    GcActive,
    /// In native or VM code, and its last Java frame is not known.
    UnknownNotJava,
    /// In native or VM code, and its last Java frame cannot be walked.
    NotWalkableNotJava,
    /// In Java code, and its top frame is not known.
    UnknownJava,
    /// In Java code, and its top frame cannot be walked.
    NotWalkableJava,
    /// The VM does not know the state of the thread.
    UnknownState,
    /// The thread is about to exit.
    ThreadExit,
    /// The thread is being deoptimised.
    Deoptimization,
    /// The thread is at a safepoint.
    Safepoint,
}

impl WalkFailure {
    /// All reasons, in the order of their codes.
    pub const ALL: [Self; 11] = [
        Self::NoJavaFrame,
        Self::NoClassLoad,
        Self::GcActive,
        Self::UnknownNotJava,
        Self::NotWalkableNotJava,
        Self::UnknownJava,
        Self::NotWalkableJava,
        Self::UnknownState,
        Self::ThreadExit,
        Self::Deoptimization,
        Self::Safepoint,
    ];

    /// The reason for a frame count that is not positive.
    pub fn from_code(code: i32) -> Self {
        let index = usize::try_from(code.unsigned_abs()).unwrap_or(usize::MAX);
        Self::ALL.get(index).copied().unwrap_or(Self::UnknownState)
    }

    /// A word for the counters of a profile.
    pub fn label(self) -> &'static str {
        match self {
            Self::NoJavaFrame => "no-java-frame",
            Self::NoClassLoad => "no-class-load",
            Self::GcActive => "gc-active",
            Self::UnknownNotJava => "unknown-not-java",
            Self::NotWalkableNotJava => "not-walkable-not-java",
            Self::UnknownJava => "unknown-java",
            Self::NotWalkableJava => "not-walkable-java",
            Self::UnknownState => "unknown-state",
            Self::ThreadExit => "thread-exit",
            Self::Deoptimization => "deoptimization",
            Self::Safepoint => "safepoint",
        }
    }
}
