//! Walks of the current thread's stack in a signal handler, by the crate `hprof-walker`.
//!
//! # Why its loads do not fault
//!
//! - *The stack*, from the interrupted stack pointer to the end that the VM knows: the kernel has just written
//!   its own frame below.
//! - *The code cache* and its maps, below the bounds that the VM has committed: it never gives them back.
//! - *Chunks of stacks of virtual threads*: their module says why these objects stay where they are.
//! - *All else* (methods, classes, debug information, names): the kernel is asked whether the page can be read,
//!   once for each page and walk. Memory that belongs to a frame on this thread's stack stays while the thread is in
//!   the handler: the VM frees no code, method or class that is on a stack. Only an address that was garbage in the
//!   first place could be unmapped between question and load, within microseconds.
//!
//! Single places are looked up outside of handlers, at a point where the VM keeps the stack in order, so there is no garbage
//! to be expected. The kernel's answer for a page is remembered from one such place to the next.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use hprof_walker::callers::CodeMap;
use hprof_walker::{
    End, Failure, Frame, Heaps, Machine, Memory, Registers, Thread, Walker, native_frames,
};

use super::code_blobs::Heap;
use super::guarded::{self, MIN_PAGE};
use super::releases::Release;
use super::walk_frozen::{self, FrozenClasses};
use super::walk_layout;
use crate::Fault;
use crate::{Result as VmResult, Vm, VmStructs};

/// Walks stacks of this VM.
pub struct StackWalker {
    walker: Walker,
    structs: VmStructs,
    heaps: Box<[Heap]>,
    /// From the start of an anchor to its stack pointer.
    anchor_sp: usize,
    /// Pages that single places had something to be read in.
    pages: Box<[AtomicUsize]>,
}

/// The stack of a thread, and where the VM keeps the thread's last Java frame.
#[derive(Clone, Copy, Debug)]
pub struct WalkedThread {
    /// The lowest address of the stack; 0 when not known.
    pub stack_start: usize,
    /// The address after the stack.
    pub stack_end: usize,
    /// The address of the stack pointer in the thread's frame anchor, as in
    /// [`NativeThread::anchor`](crate::NativeThread::anchor).
    pub anchor_sp: usize,
}

impl StackWalker {
    /// Learns the layout of this VM, which runs. `None` when it does not tell, and on processors whose frames are
    /// not known.
    pub fn learn(structs: VmStructs, release: Release) -> Option<Self> {
        if Fault::NoStacks.is_wanted() {
            return None;
        }
        let layout = walk_layout::learn(structs, release)?;
        Some(Self {
            anchor_sp: layout.anchor.sp,
            walker: Walker::new(layout),
            structs,
            heaps: Heap::all(structs)?,
            pages: (0..PAGES_OF_PLACES).map(|_| AtomicUsize::new(0)).collect(),
        })
    }

    /// From now on walks go on to frames of virtual threads in the heap. False when this VM does not tell the way.
    ///
    /// # Errors
    /// The error of `GetClassFields`, usually `CLASS_NOT_PREPARED`.
    pub fn learn_frozen(&self, vm: Vm<'_>, classes: FrozenClasses<'_>) -> VmResult<bool> {
        let layout = walk_frozen::learn(self.structs, vm, classes)?;
        if let Some(layout) = layout {
            self.walker.set_frozen(layout);
        }
        Ok(self.walker.knows_frozen())
    }

    /// Hands the frames that a return address on the current thread's stack stands for to `receive`, innermost first,
    /// until that returns false. `None` unless the address lies in a compiled method with a record of it.
    pub(super) fn frames_at(
        &self,
        pc: usize,
        receive: &mut impl FnMut(Frame) -> bool,
    ) -> Option<()> {
        let heaps = self.heaps();
        let memory = LiveMemory::of_vm(&heaps, &self.pages);
        self.walker.frames_at(&memory, &heaps, pc, receive)
    }

    /// The frame of an interpreted method on the current thread's stack, by the addresses that its frame has.
    pub(super) fn interpreted_frame(&self, method: usize, bytecode: usize) -> Option<Frame> {
        let heaps = self.heaps();
        let memory = LiveMemory::of_vm(&heaps, &self.pages);
        self.walker.interpreted_frame(&memory, method, bytecode)
    }

    /// The bounds of this moment.
    fn heaps(&self) -> Heaps {
        let mut heaps = Heaps::default();
        for (now, heap) in heaps.heaps.iter_mut().zip(&self.heaps) {
            *now = heap.now();
        }
        heaps
    }

    /// Hands the Java frames of the current thread to `receive`, innermost first, until that returns false. Safe
    /// in a signal handler, except that it may change `errno`.
    ///
    /// # Errors
    /// Why there is no frame.
    ///
    /// # Safety
    /// The registers are those with which the current thread was interrupted or made this call; `thread` is its
    /// description by the VM, whose anchor is 0 or an address that the VM keeps while the thread runs.
    pub unsafe fn walk(
        &self,
        thread: WalkedThread,
        registers: Registers,
        receive: &mut impl FnMut(Frame) -> bool,
    ) -> Result<End, Failure> {
        let anchor = thread.anchor_sp.saturating_sub(self.anchor_sp);
        // On a stack of the program's own, the kernel is asked of each page.
        let is_on_stack = (thread.stack_start..thread.stack_end).contains(&registers.sp)
            && thread.stack_start != 0;
        let stack = match is_on_stack {
            true => registers.sp.saturating_sub(RED_ZONE)..thread.stack_end,
            false => 0..0,
        };
        let heaps = self.heaps();
        let memory = LiveMemory {
            stack,
            anchor,
            heaps: &heaps,
            pages: &[const { AtomicUsize::new(0) }; PAGES],
        };
        let thread = Thread {
            anchor,
            stack_end: thread.stack_end,
        };
        self.walker
            .walk(&memory, &heaps, thread, registers, receive)
    }
}

/// Hands the addresses of native code on the current thread's stack, up to Java's, to `receive`, innermost first,
/// until that returns false. `code` has the rules for callers that are known, `is_java` says where the VM's generated code
/// lies. Safe in a signal handler, except that it may change `errno`.
///
/// # Safety
/// The registers are those with which the current thread was interrupted; `thread` is its description by the VM.
pub unsafe fn walk_native(
    thread: WalkedThread,
    registers: Registers,
    code: Option<&CodeMap>,
    is_java: impl Fn(usize) -> bool,
    receive: impl FnMut(usize) -> bool,
) {
    let Some(machine) = Machine::HERE else {
        return;
    };
    let is_on_stack =
        (thread.stack_start..thread.stack_end).contains(&registers.sp) && thread.stack_start != 0;
    if !is_on_stack {
        // On a stack of the program's own, whose end is not known, there is one frame.
        native_frames(machine, &NoMemory, 0..0, registers, None, is_java, receive);
        return;
    }
    let stack = registers.sp..thread.stack_end;
    let memory = LiveMemory {
        stack: stack.clone(),
        anchor: 0,
        heaps: &Heaps::default(),
        pages: &[const { AtomicUsize::new(0) }; PAGES],
    };
    native_frames(machine, &memory, stack, registers, code, is_java, receive);
}

/// As [`walk_native`], on a stack whose end is not known: the kernel is asked of each page.
///
/// # Safety
/// The registers are those of a function that waits for this call.
pub unsafe fn walk_native_anywhere(
    registers: Registers,
    code: Option<&CodeMap>,
    is_java: impl Fn(usize) -> bool,
    receive: impl FnMut(usize) -> bool,
) {
    let Some(machine) = Machine::HERE else {
        return;
    };
    let heaps = Heaps::default();
    let pages = [const { AtomicUsize::new(0) }; PAGES];
    let memory = LiveMemory::of_vm(&heaps, &pages);
    let stack = registers.sp..registers.sp.saturating_add(MAX_UNKNOWN_STACK);
    native_frames(machine, &memory, stack, registers, code, is_java, receive);
}

/// Bytes of a stack whose end is not known that are looked at.
const MAX_UNKNOWN_STACK: usize = 1 << 20;

/// Memory of which nothing can be read.
struct NoMemory;

impl Memory for NoMemory {
    fn bytes<const N: usize>(&self, _address: usize) -> Option<[u8; N]> {
        None
    }
}

/// Bytes below the stack pointer that belong to the stack too.
const RED_ZONE: usize = 128;
/// Pages that a walk remembers as readable.
const PAGES: usize = 256;
/// Pages that lookups of single places remember.
const PAGES_OF_PLACES: usize = 1 << 13;
/// Spreads numbers of pages over the places: the golden ratio in 64 bits.
const SPREAD: usize = 0x9e37_79b9_7f4a_7c15;
/// Bytes of an anchor.
const ANCHOR: usize = 3 * size_of::<usize>();

/// The memory of this process, as far as the current thread may read it.
struct LiveMemory<'a> {
    stack: std::ops::Range<usize>,
    anchor: usize,
    heaps: &'a Heaps,
    /// Numbers of pages that can be read; 0 for none. As many as a power of two.
    pages: &'a [AtomicUsize],
}

impl<'a> LiveMemory<'a> {
    /// Without a stack.
    fn of_vm(heaps: &'a Heaps, pages: &'a [AtomicUsize]) -> Self {
        Self {
            stack: 0..0,
            anchor: 0,
            heaps,
            pages,
        }
    }

    /// Returns whether the VM has committed the page of an address.
    fn is_committed(&self, address: usize) -> bool {
        let anchor = self.anchor..self.anchor.saturating_add(ANCHOR);
        self.stack.contains(&address)
            || anchor.contains(&address)
            || self.heaps.heaps.iter().any(|heap| {
                (heap.low..heap.high).contains(&address)
                    || (heap.map_low..heap.map_high).contains(&address)
            })
    }

    #[inline]
    fn is_readable(&self, address: usize) -> bool {
        let page = address / MIN_PAGE;
        // Pages of the VM's structures often differ in high bits only.
        let place = page.wrapping_mul(SPREAD) >> (usize::BITS - self.pages.len().ilog2());
        let Some(known) = self.pages.get(place) else {
            return false;
        };
        if known.load(Ordering::Relaxed) == page {
            return page != 0;
        }
        self.ask(address, page, known)
    }

    #[cold]
    fn ask(&self, address: usize, page: usize, known: &AtomicUsize) -> bool {
        let readable = page != 0 && (self.is_committed(address) || guarded::is_readable(address));
        if readable {
            known.store(page, Ordering::Relaxed);
        }
        readable
    }
}

impl Memory for LiveMemory<'_> {
    #[inline]
    fn bytes<const N: usize>(&self, address: usize) -> Option<[u8; N]> {
        let last = address.checked_add(N.checked_sub(1)?)?;
        let readable = self.is_readable(address)
            && (address / MIN_PAGE == last / MIN_PAGE || self.is_readable(last));
        // SAFETY: the module's first lines say why these bytes can be read. Others may write there at the same
        // time, as to all memory of the VM.
        readable.then(|| unsafe { (address as *const [u8; N]).read_unaligned() })
    }
}

/// The registers of a signal's context. `None` on processors whose frames are not known.
///
/// # Safety
/// `context` is what the kernel passed to a handler.
pub unsafe fn interrupted_registers(context: *mut c_void) -> Option<Registers> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: by the caller's promise.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let register = |number: i32| {
            let value = registers.get(usize::try_from(number).ok()?)?;
            Some(*value as usize)
        };
        Some(Registers {
            pc: register(libc::REG_RIP)?,
            sp: register(libc::REG_RSP)?,
            fp: register(libc::REG_RBP)?,
            bytecode: register(libc::REG_R13)?,
            method: register(libc::REG_RBX)?,
            result: register(libc::REG_RAX)?,
            caller_sp: [register(libc::REG_R13)?; 2],
        })
    }
    #[cfg(target_arch = "aarch64")]
    {
        // SAFETY: by the caller's promise.
        let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        let register = |number: usize| machine.regs.get(number).map(|value| *value as usize);
        Some(Registers {
            pc: machine.pc as usize,
            sp: machine.sp as usize,
            fp: register(29)?,
            bytecode: register(22)?,
            method: register(12)?,
            result: register(30)?,
            caller_sp: [register(19)?, register(13)?],
        })
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        None
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_mapped_is_read() {
        let heaps = Heaps::default();
        let memory = LiveMemory {
            stack: 0..0,
            anchor: 0,
            heaps: &heaps,
            pages: &[const { AtomicUsize::new(0) }; PAGES],
        };
        let words = [7usize, 8];
        let start = words.as_ptr() as usize;
        // The first time the kernel is asked, the second time the page is known.
        for _ in 0..2 {
            assert_eq!(memory.word(start, 0), Some(7));
            assert_eq!(memory.word_at(start, 1), Some(8));
            for address in [0, 8, usize::MAX - 3, usize::MAX - 8, 1 << 63] {
                assert_eq!(memory.word(address, 0), None, "{address:x}");
            }
        }
    }
}
