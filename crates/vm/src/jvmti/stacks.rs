//! Stacks taken by the VM itself, at a safepoint or handshake.

use std::mem::offset_of;
use std::ptr;

use super::env::call;
use super::ids::JMethodId;
use super::memory::VmMemory;
use super::refs::Ref;
use super::threads::ThreadState;
use crate::Jvmti;
use crate::Result;
use hprof_native_headers as raw;

/// A method and the bytecode index in it; -1 for native methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct StackFrame {
    /// The method.
    pub method: JMethodId,
    /// Bytecode index, -1 in native methods.
    pub location: i64,
}

// Buffers of frames are filled in by the VM.
const _: () = {
    assert!(size_of::<StackFrame>() == size_of::<raw::jvmtiFrameInfo>());
    assert!(align_of::<StackFrame>() == align_of::<raw::jvmtiFrameInfo>());
    assert!(offset_of!(StackFrame, method) == offset_of!(raw::jvmtiFrameInfo, method));
    assert!(offset_of!(StackFrame, location) == offset_of!(raw::jvmtiFrameInfo, location));
};

impl StackFrame {
    /// A frame of no method, to fill a buffer with.
    pub const NONE: Self = Self {
        method: JMethodId::NONE,
        location: -1,
    };
}

/// The stack of one thread, innermost frame first.
pub struct ThreadStack {
    /// The state of the thread.
    pub state: ThreadState,
    /// Its frames, at most as many as asked for.
    pub frames: Vec<StackFrame>,
}

impl Jvmti {
    /// The innermost frames of the current thread, or of the virtual thread it
    /// runs, as many as the buffer holds. Returns how many were written.
    ///
    /// # Errors
    /// The error of `GetStackTrace`.
    pub fn current_stack(&self, buffer: &mut [StackFrame]) -> Result<usize> {
        self.current_stack_below(0, buffer)
    }

    /// The stack without the innermost `skipped` frames.
    ///
    /// # Errors
    /// The error of `GetStackTrace`; `ILLEGAL_ARGUMENT` when there are fewer.
    pub fn current_stack_below(&self, skipped: i32, buffer: &mut [StackFrame]) -> Result<usize> {
        let mut count = 0;
        let limit = i32::try_from(buffer.len()).unwrap_or(i32::MAX);
        call!(
            self,
            GetStackTrace,
            ptr::null_mut(),
            skipped,
            limit,
            buffer.as_mut_ptr().cast::<raw::jvmtiFrameInfo>(),
            &mut count
        )?;
        Ok(usize::try_from(count).unwrap_or(0).min(buffer.len()))
    }

    /// The innermost `depth` frames of several threads, all taken at one
    /// safepoint, in the order of `threads`.
    ///
    /// # Errors
    /// The error of `GetThreadListStackTraces`.
    pub fn thread_stacks(&self, threads: &[Ref<'_>], depth: u32) -> Result<Vec<ThreadStack>> {
        if threads.is_empty() {
            return Ok(Vec::new());
        }
        let mut stacks: *mut raw::jvmtiStackInfo = ptr::null_mut();
        let count = i32::try_from(threads.len()).unwrap_or(i32::MAX);
        let depth = i32::try_from(depth).unwrap_or(i32::MAX);
        call!(
            self,
            GetThreadListStackTraces,
            count,
            // `Ref` is laid out as the raw reference.
            threads.as_ptr().cast(),
            depth,
            &mut stacks
        )?;
        // SAFETY: the VM allocated one entry for each thread, in one block that
        // also holds the frames the entries point to.
        let stacks = unsafe { VmMemory::new(self, stacks, count as usize) };
        Ok(stacks
            .iter()
            .map(|stack| {
                // `stack.thread` is the caller's own reference again, not a new one.
                let len = stack.frame_count.max(0) as usize;
                let frames = if len == 0 {
                    &[]
                } else {
                    // SAFETY: the VM wrote `frame_count` frames there, and the
                    // block lives until `stacks` is dropped.
                    unsafe { std::slice::from_raw_parts(stack.frame_buffer, len) }
                };
                ThreadStack {
                    state: ThreadState::new(stack.state),
                    frames: frames
                        .iter()
                        .map(|f| StackFrame {
                            // SAFETY: the VM gave it.
                            method: unsafe { JMethodId::from_raw(f.method) },
                            location: f.location,
                        })
                        .collect(),
                }
            })
            .collect())
    }
}
