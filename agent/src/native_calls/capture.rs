//! The stack of a call: native code above the last Java frame, then Java's frames.

use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use hprof_lockfree::published::Published;

use super::known::KnownPlaces;
use super::stacks::{StackId, Stacks};
use crate::cpu_samples::{AsgctFrame, CodeCache, sampled};
use crate::vm::callers::CodeMap;
use crate::vm::hash::mix;
use crate::vm::{
    CodePlaces, JMethodId, JavaThreads, Jni, Registers, StackKeys, StackWalker, VmHandle,
    WalkedFrame, WalkedThread, walk_native, walk_native_anywhere,
};

/// Frames of native code at most.
const MAX_NATIVE: usize = 32;
/// Frames of Java at most.
pub const MAX_JAVA: u32 = 256;
const MAX_FRAMES: usize = MAX_NATIVE + MAX_JAVA as usize;
/// Bytes of stack that a hook needs, and those that the VM keeps for its guards.
const NEEDED_STACK: usize = 64 << 10;

/// A stack that was taken.
pub struct Taken<'a> {
    /// The number of the function that is called, as the mode has it.
    pub function: u8,
    /// The kernel's id of the thread, or 0 if threads do not matter.
    pub thread: i32,
    pub frames: &'a [AsgctFrame],
}

/// All that is needed to take stacks.
#[derive(Default)]
pub struct Capture {
    /// The VM's threads, their stacks, and its code; without them there are no frames of Java.
    java: OnceLock<Java>,
    has_java: AtomicBool,
    /// The rules for callers of native code.
    code: Published<CodeMap>,
    depth: AtomicU32,
    per_thread: AtomicBool,
    /// Where the agent's own code begins and ends.
    own: (AtomicUsize, AtomicUsize),
}

/// The VM's side of a stack.
pub struct Java {
    pub vm: VmHandle,
    pub threads: JavaThreads,
    pub walker: StackWalker,
    pub cache: CodeCache,
    /// Makes keys of stacks, where it knows this VM.
    pub keys: Option<StackKeys>,
    pub places: KnownPlaces,
}

impl Taken<'_> {
    /// A hash that stands for the stack. Different stacks of a recording have the same with a probability of one in a hundred
    /// billion.
    fn key(&self) -> u64 {
        let start = mix(
            u64::from(self.function),
            u64::from(self.thread.cast_unsigned()),
        );
        self.frames.iter().fold(start, |hash, frame| {
            let location = u64::from(frame.location.cast_unsigned());
            mix(mix(hash, location), frame.method.as_word())
        })
    }
}

impl Capture {
    pub fn set_depth(&self, depth: u32) {
        self.depth.store(depth.min(MAX_JAVA), Ordering::Relaxed);
    }

    pub fn set_per_thread(&self, per_thread: bool) {
        self.per_thread.store(per_thread, Ordering::Relaxed);
    }

    /// Stacks have frames of Java from now on, or none.
    pub fn set_java(&self, java: Option<Java>) {
        self.has_java.store(java.is_some(), Ordering::Release);
        if let Some(java) = java {
            let _ = self.java.set(java);
        }
    }

    fn has_java(&self) -> bool {
        self.has_java.load(Ordering::Acquire)
    }

    /// The counter that says whether stacks have frames of Java: `y` or `n`.
    pub fn java_frames(&self) -> char {
        match self.has_java() {
            true => 'y',
            false => 'n',
        }
    }

    /// Has callers of native code found by these rules. Returns once no hook reads those before.
    pub fn set_code(&self, code: Option<CodeMap>) {
        self.code.exchange(code);
    }

    /// Leaves the agent's own frames out, which are in this range.
    pub fn set_own(&self, range: std::ops::Range<usize>) {
        self.own.0.store(range.start, Ordering::Relaxed);
        self.own.1.store(range.end, Ordering::Relaxed);
    }

    /// Finds the stack of the current thread among `stacks`, or adds it. Native code is walked each time; the frames of Java
    /// are walked only if no stack with the same key is there.
    #[inline(never)]
    pub fn take(&self, function: u8, stacks: &Stacks) -> StackId {
        let registers = here();
        // SAFETY: frames of any content are frames.
        let mut frames: [MaybeUninit<AsgctFrame>; MAX_FRAMES] =
            [const { MaybeUninit::uninit() }; MAX_FRAMES];
        let mut list = List {
            places: &mut frames,
            count: 0,
        };
        let java = self.java.get().filter(|_| self.has_java());
        // SAFETY: this thread uses no other environment here.
        let on_vm = java.and_then(|java| unsafe {
            let known = |jni: &Jni| (java.threads.walked(jni), java.threads.current_tid(jni));
            java.vm.with_current(known)
        });
        let known = on_vm.map(|(walked, _)| walked);
        let has_room = self.walk_native(java, known, registers, &mut list);
        // A thread that the VM is making or ending has no frame of Java.
        let in_java = on_vm.and_then(|(walked, tid)| Some((walked, tid?)));
        let thread = match (self.per_thread.load(Ordering::Relaxed), in_java) {
            (false, _) => 0,
            (true, Some((_, tid))) => tid,
            // SAFETY: the call has no arguments and cannot fail.
            (true, None) => unsafe { libc::gettid() },
        };
        let native = Taken {
            function,
            thread,
            frames: list.frames(),
        };
        let mut key = native.key();
        if let (Some(java), Some((walked, tid)), true) = (java, in_java, has_room) {
            if let Some(short) = self.short_key(java, tid, key) {
                if let Some(id) = stacks.find(short) {
                    return id;
                }
                self.walk_java(java, walked, registers, &mut list);
                key = short;
            } else {
                self.walk_java(java, walked, registers, &mut list);
                let whole = Taken {
                    function,
                    thread,
                    frames: list.frames(),
                };
                key = whole.key();
            }
        }
        let taken = Taken {
            function,
            thread,
            frames: list.frames(),
        };
        stacks.intern(key, &taken)
    }

    /// The key of a stack whose frames of Java are those of the current thread, with the `start` of its native code. `None`
    /// where it is not known.
    fn short_key(&self, java: &Java, tid: i32, start: u64) -> Option<u64> {
        let keys = java.keys.as_ref()?;
        let depth = self.depth.load(Ordering::Relaxed) as usize;
        // SAFETY: this thread uses no other environment here.
        unsafe {
            java.vm.with_current(|jni| {
                let key = |places: &CodePlaces| keys.key(jni, Some(places), depth, start);
                java.places.with(tid.unsigned_abs() as usize, key)
            })
        }??
    }

    /// False if the thread has too little stack left for more.
    fn walk_native(
        &self,
        java: Option<&Java>,
        known: Option<WalkedThread>,
        registers: Registers,
        list: &mut List<'_>,
    ) -> bool {
        let is_here = |thread: &WalkedThread| {
            thread.stack_start != 0
                && (thread.stack_start..thread.stack_end).contains(&registers.sp)
        };
        let here = known.filter(is_here);
        if here.is_some_and(|it| registers.sp.saturating_sub(it.stack_start) < NEEDED_STACK) {
            return false;
        }
        let is_java = |address| java.is_some_and(|java| java.cache.contains(address));
        let own = self.own.0.load(Ordering::Relaxed)..self.own.1.load(Ordering::Relaxed);
        let inside = self.code.enter();
        let receive = |address: usize| {
            own.contains(&address)
                || (list.push(AsgctFrame::of_code(address)) && list.count < MAX_NATIVE)
        };
        // The C library knows where other stacks end, but it may hold the lock that it takes for the answer.
        // SAFETY: the registers are those of this function's caller, which waits; the thread is the current one.
        unsafe {
            match here {
                Some(thread) => walk_native(thread, registers, inside.get(), is_java, receive),
                None => walk_native_anywhere(registers, inside.get(), is_java, receive),
            }
        }
        drop(inside);
        true
    }

    fn walk_java(
        &self,
        java: &Java,
        thread: WalkedThread,
        registers: Registers,
        list: &mut List<'_>,
    ) {
        let depth = self.depth.load(Ordering::Relaxed) as usize;
        let most = list.count.saturating_add(depth);
        let mut receive = |frame: WalkedFrame| {
            if list.count >= most {
                return false;
            }
            list.push(sampled(frame)) && list.count < most
        };
        // SAFETY: the registers are those of a function that waits for this; the anchor is the VM's.
        let _ = unsafe { java.walker.walk(thread, registers, &mut receive) };
    }
}

/// Frames as they come.
struct List<'a> {
    places: &'a mut [MaybeUninit<AsgctFrame>],
    count: usize,
}

impl List<'_> {
    /// False if there is no room.
    fn push(&mut self, frame: AsgctFrame) -> bool {
        let Some(place) = self.places.get_mut(self.count) else {
            return false;
        };
        place.write(frame);
        self.count = self.count.saturating_add(1);
        true
    }

    fn frames(&self) -> &[AsgctFrame] {
        let written = self.places.get(..self.count).unwrap_or_default();
        // SAFETY: `push` has written these.
        unsafe { &*(std::ptr::from_ref(written) as *const [AsgctFrame]) }
    }
}

/// The registers of the function that this is a part of.
#[inline(always)]
fn here() -> Registers {
    let (pc, sp, fp): (usize, usize, usize);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: registers are copied.
    unsafe {
        std::arch::asm!(
            "lea {pc}, [rip]", "mov {sp}, rsp", "mov {fp}, rbp",
            pc = out(reg) pc, sp = out(reg) sp, fp = out(reg) fp,
            options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: registers are copied.
    unsafe {
        std::arch::asm!(
            "adr {pc}, .", "mov {sp}, sp", "mov {fp}, x29",
            pc = out(reg) pc, sp = out(reg) sp, fp = out(reg) fp,
            options(nomem, nostack, preserves_flags)
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        (pc, sp, fp) = (0, 0, 0);
    }
    Registers {
        pc,
        sp,
        fp,
        ..Registers::default()
    }
}

const _: () = assert!(size_of::<JMethodId>() == size_of::<usize>());
