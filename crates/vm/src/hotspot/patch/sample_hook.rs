//! A way past the VM's event of sampled allocations, for objects that need none.
//!
//! The event is dear: the VM puts each object into a list of its own, makes references to object, class and
//! thread, and changes the thread's state, about 170 ns. All of that begins in one function,
//! `JvmtiExport::record_sampled_internal_object_allocation(oop)`, in JDK 11 to 25. [`SampleHook::install`] puts a
//! jump to `entry` at its start. That asks the [`Decide`] first, on the thread that allocates, in the state
//! `_thread_in_vm`, with the new object as an address. If it answers false, the VM's function continues.
//!
//! The jump is written while no thread can be in the function: the VM calls it only while an environment has the
//! event enabled, and one environment at a time can, since the capability is for one alone. It stays for the life of
//! the process. Where anything is not as known here (no symbol, another beginning of the function, memory
//! that may not be written to), nothing changes, and every object has its event.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::hotspot::releases::layout::HANDLE_KIND;
use crate::{VmLibrary, WeakRef, pin_library};

/// Told of an object that the VM is about to record; true if there is to be no event.
///
/// The thread is in the VM: nothing may be called that could wait for a safepoint, and the object moves when it does. It must
/// not unwind.
pub type Decide = extern "C" fn(object: NewObject) -> bool;

/// The address of an object that has just been made, valid until the function that has it returns.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct NewObject(*mut c_void);

/// Symbols of the VM's own functions, as its library has them for debuggers.
pub const SYMBOLS: [&str; 2] = [
    "_ZN11JvmtiExport41record_sampled_internal_object_allocationEP7oopDesc",
    "_ZN10JNIHandles16make_weak_globalE6HandleN17AllocFailStrategy13AllocFailEnumE",
];

/// The first bytes of a function.
pub type Code = [u8; 32];

/// `AllocFailStrategy::RETURN_NULL` (`allocation.hpp`).
const RETURN_NULL: i32 = 1;

/// The VM's functions behind the hook, which is installed.
#[derive(Clone, Copy)]
pub struct SampleHook {
    make_weak: unsafe extern "C" fn(*const *mut c_void, i32) -> jni_sys::jobject,
}

impl NewObject {
    /// The word of 8 bytes `offset` bytes from the object's start.
    ///
    /// # Safety
    /// The object is that large.
    #[inline]
    pub unsafe fn word(self, offset: usize) -> u64 {
        // SAFETY: by the caller's promise; objects are aligned to 8 bytes.
        unsafe { self.0.byte_add(offset).cast::<u64>().read_unaligned() }
    }

    /// The half word of 4 bytes there.
    ///
    /// # Safety
    /// As for [`Self::word`].
    #[inline]
    pub unsafe fn half(self, offset: usize) -> u32 {
        // SAFETY: by the caller's promise.
        unsafe { self.0.byte_add(offset).cast::<u32>().read_unaligned() }
    }
}

impl SampleHook {
    /// Installs the hook in the VM of `library`, whose functions named in [`SYMBOLS`] its file has at these addresses, beginning with
    /// these bytes.
    ///
    /// # Errors
    /// Why that cannot be done; nothing has changed then.
    ///
    /// # Safety
    /// The caller has the capability for the event of sampled allocations, and has not enabled the event.
    pub unsafe fn install(
        library: VmLibrary,
        functions: [(u64, Code); 2],
        decide: Decide,
    ) -> Result<Self, &'static str> {
        for (address, code) in functions {
            let address = library.base().wrapping_add(address as usize);
            // SAFETY: an address in the library's code, which has more functions after these.
            let is_there =
                library.has(address) && unsafe { (address as *const Code).read() } == code;
            if !is_there {
                return Err("the JVM's code is not that of its file");
            }
        }
        // The jump stays, so this library has to.
        pin_library();
        let [record, make_weak] = functions.map(|it| library.base().wrapping_add(it.0 as usize));
        // SAFETY: the symbol is this function's: a static one of a handle (a pointer to an object's address) and an enum.
        let make_weak = unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn(*const *mut c_void, i32) -> _>(
                make_weak,
            )
        };
        // SAFETY: by the caller's promise, the VM does not call the function now.
        unsafe { code::redirect(record, &functions[0].1, decide)? };
        Ok(Self { make_weak })
    }

    /// A weak reference to a new object; `None` without memory.
    ///
    /// # Safety
    /// This is a call of [`Decide`], with this object.
    #[inline]
    pub unsafe fn new_weak(self, object: NewObject) -> Option<WeakRef> {
        // SAFETY: a handle is the address of an object's address; the thread is in the VM, as this function of it wants.
        let weak = unsafe { (self.make_weak)(&raw const object.0, RETURN_NULL) };
        // SAFETY: the VM has made it for us.
        unsafe { WeakRef::from_raw(weak) }
    }

    /// Lets a weak reference refer to a new object.
    ///
    /// # Safety
    /// This is a call of [`Decide`], with this object; a collection in a pause has cleared the reference, and no
    /// collection of this VM runs outside of pauses.
    #[inline]
    pub unsafe fn refer(self, weak: &WeakRef, object: NewObject) {
        let word = (weak.as_raw() as usize & !HANDLE_KIND) as *const AtomicUsize;
        // SAFETY: a reference is the address of a word of the VM, with its kind in the low bits.
        unsafe { (*word).store(object.0 as usize, Ordering::Release) };
    }
}

#[cfg(target_arch = "x86_64")]
mod code {
    use std::arch::naked_asm;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Code, Decide, NewObject};

    static DECIDE: AtomicUsize = AtomicUsize::new(0);
    /// The first instructions of the VM's function, and a jump to those after them.
    static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

    /// Bytes of a jump by a distance of 32 bits.
    const JUMP: usize = 5;
    const PAGE: usize = 4096;

    /// Where the VM's function begins now.
    ///
    /// # Safety
    /// The VM calls it in place of the function, whose argument is an object.
    #[unsafe(naked)]
    unsafe extern "C" fn entry() {
        naked_asm!(
            "push rdi",
            "call {decide}",
            "pop rdi",
            "test al, al",
            "jne 2f",
            "mov rax, qword ptr [rip + {original}]",
            "jmp rax",
            "2:",
            "ret",
            decide = sym ask,
            original = sym ORIGINAL,
        )
    }

    extern "C" fn ask(object: NewObject) -> bool {
        let decide = DECIDE.load(Ordering::Relaxed);
        // SAFETY: `install` has stored such a function before it wrote the jump.
        let decide = unsafe { std::mem::transmute::<usize, Decide>(decide) };
        decide(object)
    }

    /// The length of an instruction that does the same at any address, of those with which functions begin.
    fn instruction(code: &[u8]) -> Option<usize> {
        Some(match *code {
            // endbr64
            [0xf3, 0x0f, 0x1e, 0xfa, ..] => 4,
            // push of a register
            [0x50..=0x57, ..] => 1,
            [0x41, 0x50..=0x57, ..] => 2,
            // mov between registers
            [0x48 | 0x49 | 0x4c | 0x4d, 0x89, 0xc0..=0xff, ..] => 3,
            // sub of a constant from rsp
            [0x48, 0x83, 0xec, _, ..] => 4,
            [0x48, 0x81, 0xec, _, _, _, _, ..] => 7,
            _ => return None,
        })
    }

    /// How many bytes of whole instructions have room for the jump.
    pub(super) fn movable(code: &[u8]) -> Option<usize> {
        let mut length = 0;
        while length < JUMP {
            length += instruction(code.get(length..)?)?;
        }
        Some(length)
    }

    /// The jump from an address to another one, if it is near enough.
    pub(super) fn jump(from: usize, to: usize) -> Option<[u8; JUMP]> {
        let distance = (to as isize).checked_sub(from.checked_add(JUMP)? as isize)?;
        let [a, b, c, d] = i32::try_from(distance).ok()?.to_le_bytes();
        Some([0xe9, a, b, c, d])
    }

    /// Lets the VM's function at an address begin with [`entry`].
    ///
    /// # Safety
    /// The address is a function's that begins with `code`, and no thread is in it or will be before this returns.
    pub(super) unsafe fn redirect(
        function: usize,
        code: &Code,
        decide: Decide,
    ) -> Result<(), &'static str> {
        let moved = movable(code).ok_or("the JVM's function begins in an unknown way")?;
        let jump = jump(function, entry as *const () as usize)
            .ok_or("the JVM's library is too far away")?;
        let original = trampoline(code.get(..moved).unwrap_or_default(), function + moved)
            .ok_or("the system gives no memory for code")?;
        DECIDE.store(decide as usize, Ordering::SeqCst);
        ORIGINAL.store(original, Ordering::SeqCst);
        let start = function & !(PAGE - 1);
        let length = (function + JUMP).next_multiple_of(PAGE) - start;
        let protect = |rights| {
            // SAFETY: pages of the VM's code, which stays readable and executable.
            unsafe { libc::mprotect(start as *mut _, length, rights) == 0 }
        };
        if !protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) {
            return Err("the system does not let the JVM's code be written to");
        }
        // SAFETY: writable now, and no thread runs it, by the caller's promise.
        unsafe { (function as *mut [u8; JUMP]).write(jump) };
        let _ = protect(libc::PROT_READ | libc::PROT_EXEC);
        Ok(())
    }

    /// Executable memory with these instructions and a jump to `next`.
    fn trampoline(instructions: &[u8], next: usize) -> Option<usize> {
        // SAFETY: a new mapping.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return None;
        }
        // jmp qword ptr [rip + 0], and the address.
        let mut code = instructions.to_vec();
        code.extend([0xff, 0x25, 0, 0, 0, 0]);
        code.extend(next.to_le_bytes());
        // SAFETY: the page is ours, writable, and larger than that.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), page.cast::<u8>(), code.len()) };
        // SAFETY: as above.
        let executable =
            unsafe { libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC) == 0 };
        if !executable {
            // SAFETY: as above; no other code has the address.
            unsafe { libc::munmap(page, PAGE) };
        }
        executable.then_some(page as usize)
    }
}

#[cfg(any(target_arch = "aarch64", test))]
mod branch;
#[cfg(target_arch = "aarch64")]
#[path = "sample_hook/aarch64.rs"]
mod code;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod code {
    /// # Safety
    /// None is needed.
    pub(super) unsafe fn redirect(
        _function: usize,
        _code: &super::Code,
        _decide: super::Decide,
    ) -> Result<(), &'static str> {
        Err("this kind of processor is not served")
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::code::{jump, movable};

    #[test]
    fn beginnings_of_functions_move_as_whole_instructions() {
        let known = [
            0x55, 0x48, 0x89, 0xe5, 0x41, 0x55, 0x41, 0x54, 0x53, 0x49, 0x89, 0xfc,
        ];
        assert_eq!(movable(&known), Some(6));
        let cet = [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5];
        assert_eq!(movable(&cet), Some(5));
        let without_frame = [0x41, 0x54, 0x48, 0x83, 0xec, 0x08, 0xe8];
        assert_eq!(movable(&without_frame), Some(6));
        // A jump, a load by a distance from here, and too few bytes.
        for code in [
            &[0x55, 0xe9, 0, 0, 0, 0][..],
            &[0x48, 0x8d, 0x3d, 0, 0, 0, 0],
            &[0x55, 0x48],
        ] {
            assert_eq!(movable(code), None, "{code:x?}");
        }
    }

    #[test]
    fn a_jump_leads_where_it_should_or_is_none() {
        assert_eq!(jump(0x1000, 0x1005), Some([0xe9, 0, 0, 0, 0]));
        assert_eq!(jump(0x1000, 0x1000), Some([0xe9, 0xfb, 0xff, 0xff, 0xff]));
        assert_eq!(jump(0x1000, 0x1_0000_1000), None);
        assert_eq!(jump(usize::MAX, 0), None);
    }
}
