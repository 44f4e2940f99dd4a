//! The agent's own walk of stacks, and how far it is trusted.
//!
//! The walk is used only after it has proved itself, in one of two ways:
//!
//! - It has given the same frames as `GetStackTrace` on stacks at known points: where a class is prepared, the
//!   current thread has frames of most kinds. It is compared further on, and not used any more after one difference.
//! - It has given the same methods as `AsyncGetCallTrace` on most of the first samples. A program that has been running
//!   for hours prepares no classes. The two may differ rightly: at an instruction without debug information
//!   `AsyncGetCallTrace` takes that of a neighbour.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::asgct::{AsgctFrame, NATIVE_LOCATION};
use super::virtual_root::{VirtualClasses, VirtualRoot};
use crate::vm::{
    Fault, JMethodId, JavaThreads, NATIVE_FRAME, NoWalk, Registers, Release, StackFrame,
    StackWalker, Vm, VmStructs, WalkEnd, WalkedFrame, WalkedThread, interrupted_registers,
};

/// Equal stacks after which the walk is used.
const MIN_CHECKS: u64 = 16;
/// Stacks that are compared at most in an optimized build; all of them in others.
const MAX_CHECKS: u64 = if cfg!(debug_assertions) {
    1 << 60
} else {
    2_000
};
/// Where no option asks for the walk, the first stacks are all compared, later ones one in N: a JVM prepares hundreds
/// of classes while it starts.
const FIRST_CHECKS: u64 = MIN_CHECKS + 4;
const CHECKED_LATER: u64 = 64;
/// Samples with the methods of `AsyncGetCallTrace` after which the walk is used, if they are three of four.
const MIN_AGREED: u64 = 16;
/// Samples that are compared at most; a walk that has not proved itself by then is not used.
const MAX_TRIALS: u64 = 4_096;
/// Frames that are compared of a stack.
const CHECKED_FRAMES: usize = 256;

/// The walk of the engine.
#[derive(Default)]
pub(super) struct Walking {
    walker: OnceLock<StackWalker>,
    /// `None` in it without virtual threads.
    virtual_classes: OnceLock<Option<VirtualClasses>>,
    /// Known once the classes are prepared.
    virtual_root: OnceLock<VirtualRoot>,
    /// True once the agent has asked the VM for the way to frames in the heap, whether or not the VM has one.
    is_frozen_settled: AtomicBool,
    is_wanted: AtomicBool,
    /// Every known point is compared.
    is_thorough: AtomicBool,
    is_wrong: AtomicBool,
    checks: AtomicU64,
    /// Stacks at known points, compared or not.
    known_points: AtomicU64,
    /// Samples that were compared with `AsyncGetCallTrace`.
    trials: AtomicU64,
    /// Compared samples with equal methods.
    agreed: AtomicU64,
    /// Samples whose walk ended at a frame that it did not understand.
    cut: AtomicU64,
    /// Samples whose walk ended at callers in the heap.
    heap: AtomicU64,
    /// Samples whose walk had all frames, also those in the heap.
    in_heap: AtomicU64,
    /// Samples of the walk that had no frame.
    failed: AtomicU64,
}

/// Counts of the walk.
#[derive(Clone, Copy, Debug)]
pub struct WalkCounts {
    /// True if it is in use.
    pub is_on: bool,
    /// Stacks that were compared with the VM's.
    pub checks: u64,
    /// Samples that were compared with `AsyncGetCallTrace`.
    pub trials: u64,
    /// Compared samples with equal methods.
    pub agreed: u64,
    /// Samples whose walk ended at a frame that it did not understand.
    pub cut: u64,
    /// Samples of virtual threads whose outer frames were in the heap, and could not be read.
    pub heap: u64,
    /// Samples of virtual threads whose outer frames were read in the heap.
    pub in_heap: u64,
    /// Samples that the walk had no frame of, and AsyncGetCallTrace was asked for.
    pub failed: u64,
}

impl Walking {
    /// Learns the layout of this VM, which runs. False if its tables lack a part of it. `is_thorough` has every known
    /// point compared.
    pub(super) fn learn(&self, structs: VmStructs, vm: Vm<'_>, is_thorough: bool) -> bool {
        if self.walker.get().is_none() {
            let release = Release::of(vm.jvmti);
            let Some(walker) = StackWalker::learn(structs, release) else {
                return false;
            };
            let classes = release
                .has_virtual_threads()
                .then(|| VirtualClasses::find(vm.jni));
            let _ = self.virtual_classes.set(classes.flatten());
            let _ = self.walker.set(walker);
        }
        self.learn_virtual_threads(vm);
        self.is_thorough.store(is_thorough, Ordering::Relaxed);
        self.is_wanted.store(true, Ordering::Release);
        true
    }

    /// Learns the methods at the root of virtual threads, and the way to their frames in the heap, as soon as their
    /// classes are prepared. Cheap when there is nothing to learn.
    pub(super) fn learn_virtual_threads(&self, vm: Vm<'_>) {
        let Some(Some(classes)) = self.virtual_classes.get() else {
            return;
        };
        if self.virtual_root.get().is_none()
            && let Some(root) = classes.root(vm.jvmti)
        {
            let _ = self.virtual_root.set(root);
        }
        if !self.is_frozen_settled.load(Ordering::Relaxed)
            && let Some(walker) = self.walker.get()
            // An error means that a class is not prepared.
            && walker.learn_frozen(vm, classes.frozen()).is_ok()
        {
            self.is_frozen_settled.store(true, Ordering::Relaxed);
        }
    }

    /// Uses the walk no more.
    pub(super) fn end(&self) {
        self.is_wanted.store(false, Ordering::Release);
    }

    fn is_on(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
            && !self.is_wrong.load(Ordering::Relaxed)
            && (self.checks.load(Ordering::Relaxed) >= MIN_CHECKS || self.has_agreed())
    }

    fn has_agreed(&self) -> bool {
        let agreed = self.agreed.load(Ordering::Relaxed);
        // Every sample that agreed is among the trials.
        let trials = self.trials.load(Ordering::Relaxed);
        agreed >= MIN_AGREED && agreed.saturating_mul(4) >= trials.saturating_mul(3)
    }

    /// Returns true if samples of `AsyncGetCallTrace` are to be compared with the walk.
    pub(super) fn is_on_trial(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
            && !self.is_on()
            && !self.is_wrong.load(Ordering::Relaxed)
            && self.trials.load(Ordering::Relaxed) < MAX_TRIALS
    }

    /// Compares the walk with the frames that `AsyncGetCallTrace` has found, of a buffer for `depth` frames. Safe in
    /// a signal handler, except that it may change `errno`.
    ///
    /// # Safety
    /// Called in a signal handler with its own context; `thread` is the current one.
    pub(super) unsafe fn try_out(
        &self,
        thread: WalkedThread,
        expected: &[AsgctFrame],
        depth: i32,
        context: *mut c_void,
    ) {
        let Some(walker) = self.walker.get() else {
            return;
        };
        // SAFETY: by the caller's promise.
        let Some(registers) = (unsafe { interrupted_registers(context) }) else {
            return;
        };
        let is_full = i32::try_from(expected.len()) == Ok(depth);
        let (mut count, mut is_equal) = (0usize, true);
        let mut receive = |frame: WalkedFrame| {
            is_equal &= expected
                .get(count)
                .is_some_and(|other| other.method == sampled(frame).method);
            count = count.saturating_add(1);
            is_equal && !(is_full && count == expected.len())
        };
        // SAFETY: by the caller's promise.
        let end = unsafe { walker.walk(thread, registers, &mut receive) };
        // Of a virtual thread the two end at different frames.
        if matches!(end, Ok(WalkEnd::Heap | WalkEnd::VirtualRoot)) {
            return;
        }
        self.trials.fetch_add(1, Ordering::Relaxed);
        if is_equal && count == expected.len() {
            self.agreed.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn counts(&self) -> Option<WalkCounts> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.is_wanted.load(Ordering::Relaxed).then(|| WalkCounts {
            is_on: self.is_on(),
            checks: count(&self.checks),
            trials: count(&self.trials),
            agreed: count(&self.agreed),
            cut: count(&self.cut),
            heap: count(&self.heap),
            in_heap: count(&self.in_heap),
            failed: count(&self.failed),
        })
    }

    /// Writes the frames of the current thread, as of `context`; returns their number. `None` when the walk is
    /// not used, or finds none. Safe in a signal handler, except that it may change `errno`.
    ///
    /// # Safety
    /// Called in a signal handler with its own context; `thread` is the current one; `frames` has room for
    /// `depth` frames.
    pub(super) unsafe fn sample(
        &self,
        thread: WalkedThread,
        frames: *mut AsgctFrame,
        depth: i32,
        context: *mut c_void,
    ) -> Option<i32> {
        if !self.is_on() {
            return None;
        }
        let walker = self.walker.get()?;
        // SAFETY: by the caller's promise.
        let registers = unsafe { interrupted_registers(context) }?;
        let mut count = 0i32;
        let mut receive = |frame: WalkedFrame| {
            if count < depth {
                let place = frames.wrapping_add(count.unsigned_abs() as usize);
                // SAFETY: the place is one of the `depth` that there is room for.
                unsafe { place.write(sampled(frame)) };
                count = count.saturating_add(1);
            }
            count < depth
        };
        // SAFETY: by the caller's promise.
        let end = unsafe { walker.walk(thread, registers, &mut receive) };
        let counter = match end {
            Ok(WalkEnd::Root | WalkEnd::Full) => None,
            Ok(WalkEnd::VirtualRoot) => Some(&self.in_heap),
            Ok(WalkEnd::Heap) => Some(&self.heap),
            Ok(WalkEnd::Unknown | WalkEnd::Native) => Some(&self.cut),
            Err(NoWalk::NoJavaFrame | NoWalk::UnknownTop) => Some(&self.failed),
        };
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        if count <= 0 {
            return None;
        }
        let written = usize::try_from(count).ok()?;
        if let Some(root) = self.virtual_root.get() {
            // SAFETY: `receive` has written the first `written` frames.
            let taken = unsafe { std::slice::from_raw_parts(frames, written) };
            if end == Ok(WalkEnd::Heap) {
                let outermost = taken.last()?.method;
                let room = usize::try_from(depth.saturating_sub(count)).unwrap_or(0);
                for frame in root.below(outermost).take(room) {
                    let place = frames.wrapping_add(count.unsigned_abs() as usize);
                    // SAFETY: there is room.
                    unsafe { place.write(frame) };
                    count = count.saturating_add(1);
                }
            } else {
                root.note(taken);
            }
        }
        Some(count)
    }

    /// Compares the walk of the current thread's stack with the VM's. Returns a sentence when they differ for the
    /// first time.
    pub(super) fn check(&self, vm: Vm<'_>, threads: &JavaThreads) -> Option<String> {
        let walker = self.walker.get()?;
        self.learn_virtual_threads(vm);
        let is_over = self.is_wrong.load(Ordering::Relaxed)
            || !self.is_wanted.load(Ordering::Relaxed)
            || self.checks.load(Ordering::Relaxed) >= MAX_CHECKS;
        let point = self.known_points.fetch_add(1, Ordering::Relaxed);
        let is_chosen = point < FIRST_CHECKS
            || point.is_multiple_of(CHECKED_LATER)
            || self.is_thorough.load(Ordering::Relaxed);
        match is_over || !is_chosen {
            true => None,
            false => self.compare(walker, vm, threads),
        }
    }

    /// Out of line: its frames would else be on the stack of every thread that prepares a class.
    #[cold]
    #[inline(never)]
    fn compare(&self, walker: &StackWalker, vm: Vm<'_>, threads: &JavaThreads) -> Option<String> {
        let mut expected = vec![StackFrame::NONE; CHECKED_FRAMES];
        // Also makes the ids of methods that have none.
        let count = vm.jvmti.current_stack(&mut expected).ok()?;
        let expected = expected.get(..count).filter(|frames| !frames.is_empty())?;
        let native = threads.current(vm.jni);
        let here = 0usize;
        let registers = Registers {
            sp: (&raw const here as usize) & !(size_of::<usize>() - 1),
            ..Registers::default()
        };
        let thread = WalkedThread {
            stack_start: native.stack_start,
            stack_end: native.stack_end,
            anchor_sp: native.anchor.0,
        };
        let mut found = Vec::with_capacity(count);
        let mut receive = |frame: WalkedFrame| {
            found.push(sampled(frame));
            found.len() < CHECKED_FRAMES
        };
        // SAFETY: the VM has called this function from the current thread, so the anchor is its innermost
        // frame; the stack pointer is that of a frame below.
        let end = unsafe { walker.walk(thread, registers, &mut receive) };
        if let Some(root) = self.virtual_root.get() {
            root.note(&found);
        }
        let found: Vec<StackFrame> = found.into_iter().map(told).collect();
        // The VM's list ends with the virtual thread, the stack with its carrier; and the VM may know a way past
        // native code that it does not describe.
        let common = match end {
            Ok(WalkEnd::Heap | WalkEnd::Native) => found.len().min(count),
            _ => count,
        };
        let is_other = Fault::OtherWalk.is_wanted();
        if !is_other && found.get(..common) == expected.get(..common) {
            self.checks.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let at = (0..count).find(|&index| found.get(index) != expected.get(index));
        let first = !self.is_wrong.swap(true, Ordering::Relaxed);
        first.then(|| {
            format!(
                "the walk of a stack differs from the VM's at frame {} of {count} ({:?}, {end:?}): \
                 cpu=samples uses AsyncGetCallTrace",
                at.unwrap_or(0),
                at.map(|index| (found.get(index), expected.get(index))),
            )
        })
    }
}

/// A frame as the ring has it.
pub fn sampled(frame: WalkedFrame) -> AsgctFrame {
    AsgctFrame {
        location: match frame.location {
            NATIVE_FRAME => NATIVE_LOCATION,
            index => index,
        },
        // SAFETY: the walk took it from where the VM keeps the ids of methods.
        method: unsafe { JMethodId::from_raw(frame.method_id as jni_sys::jmethodID) },
    }
}

/// A frame as `GetStackTrace` has it.
fn told(frame: AsgctFrame) -> StackFrame {
    StackFrame {
        method: frame.method,
        location: match frame.location {
            NATIVE_LOCATION => -1,
            index => i64::from(index),
        },
    }
}
