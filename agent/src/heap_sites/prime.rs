//! Making the sampling interval act at once.
//!
//! A thread takes a new interval into account at its next sampling point only
//! (JVMTI specification, `SetHeapSamplingInterval`), and the point it has was
//! drawn for the default interval of 512 KiB. Then the end of its allocation
//! buffer has to be moved, which happens when the buffer is full. So the main
//! thread, and on old VMs each new one, allocates small garbage until each piece
//! of it is an event.

use std::sync::atomic::{AtomicBool, Ordering};

use super::HeapSites;
use super::threads::ThreadMode;
use crate::report;
use crate::vm::{Jni, VmStructs, WordFlag};

/// The size of one piece, which fits into an allocation buffer.
const ARRAY: i32 = 1 << 11;
/// How many pieces in a row must have been events.
const IN_A_ROW: u32 = 4;
/// The number of pieces after which priming gives up. The distance is geometric with a mean of
/// 512 KiB, so that these 32 MiB are exceeded once in e^64 times; a buffer is
/// rarely larger than 1 MiB.
const MAX_ARRAYS: u32 = 1 << 14;

/// Makes a VM that needs help give up an allocation buffer when an array does not fit
/// into it, rather than keep it for later: the flag is the part of a buffer that may be wasted,
/// as a divisor, and is 64 by default. Called before the VM reads it. False when the user has set
/// the flag to something else.
pub(super) fn give_up_buffers(structs: Option<VmStructs>) -> bool {
    // A run before has set it.
    static IS_SET: AtomicBool = AtomicBool::new(false);
    if IS_SET.load(Ordering::Relaxed) {
        return true;
    }
    let Some(flag) = structs.and_then(|s| s.default_word_flag(WordFlag::TlabRefillWasteFraction))
    else {
        return false;
    };
    // SAFETY: the VM's own table says that the flag lies there, a uintx; it is
    // read by threads that allocate, of which there are none at load time.
    unsafe { *flag = 1 };
    IS_SET.store(true, Ordering::Relaxed);
    true
}

impl HeapSites {
    /// Primes the main thread, and says so when it does not work.
    pub(super) fn prime_main(&self, jni: &Jni) {
        let is_primed = self.prime(jni);
        let is_blind = self
            .structs
            .is_some_and(VmStructs::allocates_without_buffers);
        if self.needs_help && is_blind {
            report::error(
                "heap=sites sees hardly any allocation with -XX:-UseTLAB and this collector on this VM; \
                 leave that option out, or use -XX:+UseG1GC",
            );
        } else if self.needs_help && !self.gives_up_buffers {
            report::error(
                "heap=sites misses allocations with -XX:TLABRefillWasteFraction on this VM; \
                 leave that option out",
            );
        } else if !is_primed {
            report::error(
                "this VM does not tell of each allocation yet; heap=sites misses those until \
                 each thread has allocated about 512 KB",
            );
        }
    }

    /// Makes the current thread tell of each allocation from now on. Returns
    /// whether that worked.
    pub(super) fn prime(&self, jni: &Jni) -> bool {
        let Some(thread) = self.threads.current() else {
            return true;
        };
        let mut in_a_row = 0;
        for _ in 0..MAX_ARRAYS {
            thread.mode.set(ThreadMode::Priming);
            let Ok(array) = jni.new_byte_array(ARRAY) else {
                break;
            };
            drop(array);
            in_a_row = match thread.mode.get() {
                ThreadMode::Primed => in_a_row + 1,
                ThreadMode::Priming | ThreadMode::Recording => 0,
            };
            if in_a_row == IN_A_ROW {
                break;
            }
        }
        thread.mode.set(ThreadMode::Recording);
        let is_primed = in_a_row == IN_A_ROW;
        if !is_primed {
            self.unrecorded
                .unprimed_threads
                .fetch_add(1, Ordering::Relaxed);
        }
        is_primed
    }
}
