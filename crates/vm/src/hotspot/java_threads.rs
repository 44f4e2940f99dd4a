//! HotSpot's own view of a Java thread, read at the offsets that the VM exports.

use std::io;

use jni_sys::JNIEnv;

use super::guarded::{self, Copier};
use super::releases::layout::Field;
use super::walk::WalkedThread;
use crate::{Fault, JFieldId, Jni, Jvmti, Ref, VmStructs};

/// Finds kernel thread id, JNI environment and stack of a Java thread.
#[derive(Clone, Copy)]
pub struct JavaThreads {
    /// The field of `java.lang.Thread` that holds the VM's thread.
    thread_pointer: JFieldId,
    /// Where the JNI environment lies in a VM thread.
    env_offset: usize,
    os_thread_offset: usize,
    thread_id_offset: usize,
    stack_base_offset: Option<usize>,
    stack_size_offset: Option<usize>,
    anchor_offset: Option<AnchorOffsets>,
}

/// Where a VM thread keeps its last Java frame (`JavaFrameAnchor`).
#[derive(Clone, Copy)]
struct AnchorOffsets {
    sp: usize,
    pc: usize,
}

/// HotSpot's data about a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NativeThread {
    /// The kernel's thread id.
    pub tid: i32,
    /// The JNI environment.
    pub env: *mut JNIEnv,
    /// The lowest address of the stack; 0 when the VM does not tell.
    pub stack_start: usize,
    /// The highest address of the stack; 0 when the VM does not tell.
    pub stack_end: usize,
    /// The VM's own thread, as the thread object has it.
    pub vm_thread: usize,
    /// Addresses of the stack pointer and program counter of the last Java frame
    /// in the VM's thread; 0 when the VM does not tell.
    pub anchor: (usize, usize),
}

impl JavaThreads {
    /// Learns the layout from the current thread. `None` when this VM does not export what is
    /// needed.
    pub fn learn(structs: VmStructs, jvmti: &Jvmti, jni: &Jni) -> Option<Self> {
        if Fault::NoThreads.is_wanted() {
            return None;
        }
        let class = jni.find_class(c"java/lang/Thread").ok()?;
        let thread_pointer = jni.field_id(class.get(), c"eetop", c"J").ok()?;
        let current = jvmti.current_thread(jni).ok()?;
        // SAFETY: the field is of type long, and threads have it.
        let vm_thread = unsafe { jni.long_field(current.get(), thread_pointer) };
        let vm_thread = usize::try_from(vm_thread).ok()?;
        let env_offset = (jni.as_raw() as usize).checked_sub(vm_thread)?;
        let threads = Self {
            thread_pointer,
            // A VM thread is a few kilobytes; anything else is not the layout
            // we know.
            env_offset: (vm_thread != 0 && env_offset < 1 << 16).then_some(env_offset)?,
            os_thread_offset: structs.offset(Field::OsThread)?,
            thread_id_offset: structs.offset(Field::ThreadId)?,
            stack_base_offset: structs.offset(Field::StackBase),
            stack_size_offset: structs.offset(Field::StackSize),
            anchor_offset: anchor_offsets(structs),
        };
        threads.describes_current(vm_thread).then_some(threads)
    }

    /// Returns whether the current thread's own data, read at these offsets, is what the kernel
    /// says.
    fn describes_current(&self, vm_thread: usize) -> bool {
        // SAFETY: the call has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        // SAFETY: the VM keeps the data of a thread that runs; where the offsets are wrong, loads are of memory that no
        // Rust code has a reference to, or of none.
        let found = unsafe {
            guarded::load::<usize>(vm_thread + self.os_thread_offset)
                .and_then(|os_thread| os_thread.checked_add(self.thread_id_offset))
                .and_then(|address| guarded::load::<i32>(address))
        };
        found == Some(tid)
    }

    /// The address of a thread's own data in the VM, which is not looked at; `None` for one that has none:
    /// a virtual thread, or one that has ended or not begun.
    ///
    /// # Safety
    /// `thread` is a `java.lang.Thread`.
    pub unsafe fn address(&self, jni: &Jni, thread: Ref<'_>) -> Option<usize> {
        // SAFETY: the field is of type long, and threads have it.
        let address = unsafe { jni.long_field(thread, self.thread_pointer) };
        usize::try_from(address)
            .ok()
            .filter(|&address| address != 0)
    }

    /// Reads the VM's data about other threads. Keep it for one batch of threads only: it holds two
    /// descriptors.
    ///
    /// # Errors
    /// The program has too many open files.
    pub fn reader(&self) -> io::Result<ThreadReader<'_>> {
        Ok(ThreadReader {
            threads: self,
            copier: Copier::new()?,
        })
    }

    /// The VM's data about the current thread, by its environment.
    pub fn current(&self, jni: &Jni) -> NativeThread {
        let vm_thread = (jni.as_raw() as usize).wrapping_sub(self.env_offset);
        // SAFETY: the environment is a member of the current VM thread at
        // this offset, the same for all threads.
        let stack_end = unsafe { self.stack_end(vm_thread) };
        let stack_size = self.stack_size_offset.map(|offset| {
            // SAFETY: as above.
            unsafe { *((vm_thread + offset) as *const usize) }
        });
        NativeThread {
            // SAFETY: the call has no arguments and cannot fail.
            tid: self
                .current_tid(jni)
                .unwrap_or_else(|| unsafe { libc::gettid() }),
            env: jni.as_raw(),
            stack_start: stack_start(stack_end, stack_size),
            stack_end,
            vm_thread,
            anchor: self.anchor(vm_thread),
        }
    }

    /// The stack of the current thread and its anchor, by its environment, also while the VM makes or ends the
    /// thread: it has no more than these then. Safe in a signal handler.
    pub fn walked(&self, jni: &Jni) -> WalkedThread {
        let vm_thread = (jni.as_raw() as usize).wrapping_sub(self.env_offset);
        // SAFETY: as in `current`.
        let stack_end = unsafe { self.stack_end(vm_thread) };
        let stack_size = self.stack_size_offset.map(|offset| {
            // SAFETY: as above.
            unsafe { *((vm_thread + offset) as *const usize) }
        });
        WalkedThread {
            stack_start: stack_start(stack_end, stack_size),
            stack_end,
            anchor_sp: self.anchor(vm_thread).0,
        }
    }

    /// The kernel's id of the current thread, by its environment; to ask the kernel takes longer. `None` while the VM
    /// makes or ends the thread: it has an environment then, but no `OSThread` yet or any more.
    pub fn current_tid(&self, jni: &Jni) -> Option<i32> {
        let vm_thread = (jni.as_raw() as usize).wrapping_sub(self.env_offset);
        // SAFETY: as in `current`; `describes_current` has found the kernel's id at these offsets. The pointer is null
        // before `os::create_thread` and after `Thread::~Thread` has freed the `OSThread`.
        unsafe {
            let os_thread = *((vm_thread + self.os_thread_offset) as *const usize);
            (os_thread != 0).then(|| *((os_thread + self.thread_id_offset) as *const i32))
        }
    }

    /// The address of the current thread in the VM, and the highest one of its stack. `None` when
    /// the VM does not tell.
    #[inline]
    pub(super) fn own_stack(&self, jni: &Jni) -> Option<(usize, usize)> {
        let vm_thread = (jni.as_raw() as usize).wrapping_sub(self.env_offset);
        // SAFETY: as in `current`.
        let end = unsafe { self.stack_end(vm_thread) };
        (end != 0).then_some((vm_thread, end))
    }

    fn anchor(&self, vm_thread: usize) -> (usize, usize) {
        self.anchor_offset
            .map_or((0, 0), |at| (vm_thread + at.sp, vm_thread + at.pc))
    }

    /// # Safety
    /// `vm_thread` is a live thread of this VM.
    unsafe fn stack_end(&self, vm_thread: usize) -> usize {
        self.stack_base_offset.map_or(0, |offset| {
            // SAFETY: by the caller's promise.
            unsafe { *((vm_thread + offset) as *const usize) }
        })
    }
}

/// Reads the VM's data about threads other than the current one.
pub struct ThreadReader<'a> {
    threads: &'a JavaThreads,
    copier: Copier,
}

impl ThreadReader<'_> {
    /// The VM's data about a thread; `None` if it has none, or has it no longer.
    ///
    /// # Safety
    /// `thread` is a `java.lang.Thread`.
    pub unsafe fn read(&mut self, jni: &Jni, thread: Ref<'_>) -> Option<NativeThread> {
        let layout = self.threads;
        // SAFETY: the field is of type long, and threads have it.
        let pointer = || usize::try_from(unsafe { jni.long_field(thread, layout.thread_pointer) });
        let vm_thread = pointer().ok().filter(|&pointer| pointer != 0)?;
        // A thread may end meanwhile, and the VM frees what is read here. So it is copied by the kernel,
        // and the results count if the thread has the pointer afterwards: the VM clears it before it frees
        // (`JavaThread::exit`).
        let copier = &mut self.copier;
        let os_thread = copier.copy::<usize>(vm_thread + layout.os_thread_offset)?;
        let tid = copier.copy::<i32>(os_thread.checked_add(layout.thread_id_offset)?)?;
        let stack_end = match layout.stack_base_offset {
            Some(offset) => copier.copy(vm_thread + offset)?,
            None => 0,
        };
        let stack_size = match layout.stack_size_offset {
            Some(offset) => Some(copier.copy(vm_thread + offset)?),
            None => None,
        };
        (os_thread != 0 && pointer() == Ok(vm_thread)).then(|| NativeThread {
            tid,
            env: (vm_thread + layout.env_offset) as *mut JNIEnv,
            stack_start: stack_start(stack_end, stack_size),
            stack_end,
            vm_thread,
            anchor: layout.anchor(vm_thread),
        })
    }
}

/// The lowest address of a stack; 0 when its size is not known.
fn stack_start(end: usize, size: Option<usize>) -> usize {
    size.and_then(|size| end.checked_sub(size)).unwrap_or(0)
}

fn anchor_offsets(structs: VmStructs) -> Option<AnchorOffsets> {
    let anchor = structs.offset(Field::ThreadAnchor)?;
    Some(AnchorOffsets {
        sp: anchor + structs.offset(Field::AnchorSp)?,
        pc: anchor + structs.offset(Field::AnchorPc)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout of a VM thread whose environment is its second word and whose `OSThread` is its first.
    fn layout() -> JavaThreads {
        JavaThreads {
            thread_pointer: JFieldId::new(std::ptr::without_provenance_mut(8)).unwrap(),
            env_offset: size_of::<usize>(),
            os_thread_offset: 0,
            thread_id_offset: 4,
            stack_base_offset: None,
            stack_size_offset: None,
            anchor_offset: None,
        }
    }

    #[test]
    fn a_thread_that_the_vm_makes_or_ends_has_no_kernel_id() {
        let os_thread = [0_i32, 4711];
        let mut vm_thread = [0_usize; 2];
        let mut tid = |os_thread: usize| {
            vm_thread[0] = os_thread;
            let env: *mut JNIEnv = (&raw mut vm_thread[1]).cast();
            // SAFETY: the environment is not used, but for its address.
            layout().current_tid(&unsafe { Jni::new(env) })
        };
        assert_eq!(tid(os_thread.as_ptr() as usize), Some(4711));
        assert_eq!(tid(0), None);
    }
}
