//! Stacks taken by the VM itself, at a safepoint or handshake.

use std::ptr;

use hprof_native_headers as raw;
use jni_sys::{jmethodID, jobject};

use super::Jvmti;
use super::Result;
use super::env::call;
use super::memory::VmMemory;

/// A method and the bytecode index in it; -1 for native methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// The method.
    pub method: jmethodID,
    /// Bytecode index, -1 in native methods.
    pub location: i64,
}

/// The stack of one thread, innermost frame first.
pub struct ThreadStack {
    /// Its frames, at most as many as asked for.
    pub frames: Vec<StackFrame>,
}

impl Jvmti {
    /// The innermost `depth` frames of several threads, all taken at one
    /// safepoint, in the order of `threads`.
    ///
    /// # Errors
    /// What `GetThreadListStackTraces` says.
    pub fn thread_stacks(self, threads: &[jobject], depth: u32) -> Result<Vec<ThreadStack>> {
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
            threads.as_ptr(),
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
                    frames: frames
                        .iter()
                        .map(|f| StackFrame {
                            method: f.method,
                            location: f.location,
                        })
                        .collect(),
                }
            })
            .collect())
    }
}
