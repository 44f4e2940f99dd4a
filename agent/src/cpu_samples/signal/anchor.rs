//! A thread that has just called into the VM.
//!
//! Compiled code notes its stack pointer in the thread's frame anchor before such
//! a call, but not always the program counter: the VM fills that in, from the
//! word below the stack pointer, when it next needs to walk the stack
//! (`JavaFrameAnchor::make_walkable`). Until then AsyncGetCallTrace gives up. So
//! does what the VM would do, walks, and takes it back.

use super::unwind::Unwinder;
use crate::vm::guarded;

/// Fills in the program counter of the last Java frame, calls `walk`, and takes
/// it out again. `None` when there is no such frame, or the walk fails.
///
/// # Safety
/// `sp_at` and `pc_at` are zero or the addresses of the current thread's own
/// anchor, and we are in a signal handler of that thread, so that no other thread
/// uses it: the VM looks at the anchor of another thread only when that thread
/// has completed it and stopped.
pub(super) unsafe fn complete(
    sp_at: usize,
    pc_at: usize,
    unwinder: &Unwinder,
    walk: impl FnOnce() -> i32,
) -> Option<i32> {
    if sp_at == 0 || pc_at == 0 {
        return None;
    }
    // SAFETY: by the caller's promise.
    let (sp, pc) = unsafe { (*(sp_at as *const usize), *(pc_at as *const usize)) };
    let return_at = sp.checked_sub(size_of::<usize>())?;
    if sp == 0 || pc != 0 || !sp.is_multiple_of(align_of::<usize>()) {
        return None;
    }
    // SAFETY: the anchor's stack pointer lies in the current thread's stack, above
    // the frames of the VM code that runs now. It may be from an earlier call, as the
    // signal can come between the stores.
    let caller = unsafe { guarded::load(return_at) }?;
    if !unwinder.is_java_code(caller) {
        return None;
    }
    // SAFETY: by the caller's promise.
    unsafe { std::ptr::write_volatile(pc_at as *mut usize, caller) };
    let frames = walk();
    // SAFETY: as above.
    unsafe { std::ptr::write_volatile(pc_at as *mut usize, 0) };
    (frames > 0).then_some(frames)
}
