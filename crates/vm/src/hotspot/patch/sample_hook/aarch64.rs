//! The jump on AArch64.
//!
//! The first instruction of the VM's function becomes a branch, whose distance has 28 bits. So it leads to a page near the
//! VM's library, and from there to any address:
//!
//! ```text
//! function  b page                    page     ldr x17, 8; br x17; address of entry
//!           second instruction ◄─┐    page+16  first instruction of the function
//!           ...                  └─────────────b function + 4
//! ```

use std::arch::{asm, naked_asm};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::branch::{INSTRUCTION, branch, is_movable};
use super::{Code, Decide, NewObject};

static DECIDE: AtomicUsize = AtomicUsize::new(0);
/// The first instruction of the VM's function, and a jump to the second.
static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

/// Where in the page the first instruction lies.
const MOVED: usize = 16;
/// `ldr x17, 8` and `br x17`.
const FAR_JUMP: [u32; 2] = [0x5800_0051, 0xd61f_0220];
/// Places that are tried for the page, and their distance: less than branches reach.
const TRIES: usize = 100;
const BETWEEN_TRIES: usize = 1 << 20;

/// Where the VM's function begins now.
///
/// # Safety
/// The VM calls it in place of the function, whose argument is an object.
#[unsafe(naked)]
unsafe extern "C" fn entry() {
    naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "mov x29, sp",
        "str x0, [sp, #16]",
        "bl {decide}",
        "mov w1, w0",
        "ldr x0, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "tbnz w1, #0, 2f",
        "adrp x16, {original}",
        "ldr x16, [x16, :lo12:{original}]",
        "br x16",
        "2:",
        "ret",
        decide = sym ask,
        original = sym ORIGINAL,
    )
}

extern "C" fn ask(object: NewObject) -> bool {
    let decide = DECIDE.load(Ordering::Relaxed);
    // SAFETY: `redirect` has stored such a function before it wrote the branch.
    let decide = unsafe { std::mem::transmute::<usize, Decide>(decide) };
    decide(object)
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
    let [a, b, c, d, ..] = *code;
    let first = u32::from_le_bytes([a, b, c, d]);
    if !is_movable(first) || !function.is_multiple_of(INSTRUCTION) {
        return Err("the JVM's function begins in an unknown way");
    }
    // SAFETY: this call has no requirements.
    let page_size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let page_size = usize::try_from(page_size)
        .ok()
        .filter(|size| size.is_power_of_two())
        .ok_or("the system does not tell the size of its pages")?;
    let page = near(function, page_size).ok_or("the system gives no memory near the JVM's code")?;
    let write = || {
        let back = branch(page + MOVED + INSTRUCTION, function + INSTRUCTION)?;
        let to_page = branch(function, page)?;
        // SAFETY: the page is ours, writable, and larger than that.
        unsafe {
            (page as *mut [u32; 2]).write(FAR_JUMP);
            ((page + 8) as *mut usize).write(entry as *const () as usize);
            ((page + MOVED) as *mut [u32; 2]).write([first, back]);
        }
        protect(page, page_size, libc::PROT_READ | libc::PROT_EXEC).then_some(to_page)
    };
    let Some(to_page) = write() else {
        // SAFETY: as above; no other code has the address.
        unsafe { libc::munmap(page as *mut _, page_size) };
        return Err("the system gives no memory for code near the JVM's");
    };
    refresh(page, MOVED + 2 * INSTRUCTION);
    DECIDE.store(decide as usize, Ordering::SeqCst);
    ORIGINAL.store(page + MOVED, Ordering::SeqCst);
    let start = function & !(page_size - 1);
    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    if !protect(start, page_size, all) {
        return Err("the system does not let the JVM's code be written to");
    }
    // SAFETY: writable now, aligned, and no thread runs it, by the caller's promise.
    unsafe { (*(function as *const AtomicU32)).store(to_page, Ordering::SeqCst) };
    // This also ends the page's guard of jumps (BTI), which the way back to the second instruction needs.
    let _ = protect(start, page_size, libc::PROT_READ | libc::PROT_EXEC);
    refresh(function, INSTRUCTION);
    Ok(())
}

fn protect(start: usize, length: usize, rights: i32) -> bool {
    // SAFETY: pages of ours, or of the VM's code, which stays readable and executable.
    unsafe { libc::mprotect(start as *mut _, length, rights) == 0 }
}

/// A new page that branches reach from an address.
fn near(address: usize, size: usize) -> Option<usize> {
    let start = address & !(size - 1);
    (1..=TRIES).find_map(|step| {
        let distance = step.checked_mul(BETWEEN_TRIES)?.next_multiple_of(size);
        [start.checked_sub(distance)?, start.checked_add(distance)?]
            .into_iter()
            .find_map(|wanted| map(wanted, size))
    })
}

/// A new page at an address; `None` where there is something.
fn map(wanted: usize, size: usize) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping, which replaces none.
    let page = unsafe { libc::mmap(wanted as *mut _, size, rights, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    if page as usize != wanted {
        // An old kernel takes the address as advice.
        // SAFETY: the mapping is ours.
        unsafe { libc::munmap(page, size) };
        return None;
    }
    Some(wanted)
}

/// Lets the processors read instructions that have been written.
fn refresh(start: usize, length: usize) {
    for at in (start..start.saturating_add(length)).step_by(INSTRUCTION) {
        // SAFETY: the address is mapped; the instructions change no memory.
        unsafe {
            asm!(
                "dc cvau, {at}",
                "dsb ish",
                "ic ivau, {at}",
                "dsb ish",
                "isb",
                at = in(reg) at,
                options(nostack, preserves_flags),
            );
        }
    }
}
