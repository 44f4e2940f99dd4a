//! The import tables whose entries lead to hooks: those of all libraries, also of those that are loaded later.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::os::imports::{Changed, Import, Lead, address_of, change};
use crate::os::signals::keep_errno;

/// A mode that has hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// `native=`.
    Memory,
    /// `nativelock=`.
    Locks,
}

/// The imports of each owner, which one thread at a time changes.
static IMPORTS: Mutex<[Vec<Import>; 2]> = Mutex::new([Vec::new(), Vec::new()]);
/// Entries of each owner that lead to hooks.
static ENTRIES: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// An owner has imports.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Has these imports lead to the hooks from the next change on; none ends that. `vm` is an address in the VM's library, or 0.
pub fn set(owner: Owner, mut imports: Vec<Import>, vm: usize) {
    if vm != 0 && !imports.is_empty() {
        // The linker looks for libraries where its caller wants that, so only the VM's calls, which have whole paths,
        // lead through the agent.
        imports.push(Import {
            name: c"dlopen",
            original: address_of(c"dlopen"),
            hook: dlopen as *const () as usize,
            not_in: 0,
            only_in: vm,
        });
    }
    let mut all = IMPORTS.lock();
    if let Some(own) = all.get_mut(owner as usize) {
        *own = imports;
    }
    let is_on = all.iter().any(|own| !own.is_empty());
    IS_ON.store(is_on, Ordering::Release);
    if let Some(entries) = ENTRIES.get(owner as usize) {
        entries.store(0, Ordering::Relaxed);
    }
}

/// Changes the owner's entries of all loaded objects.
pub fn lead(owner: Owner, lead: Lead) -> Changed {
    let all = IMPORTS.lock();
    let Some(own) = all.get(owner as usize) else {
        return Changed::default();
    };
    let changed = change(own, lead);
    count(owner as usize, changed);
    changed
}

/// Entries that lead to the owner's hooks.
pub fn entries(owner: Owner) -> usize {
    let entries = ENTRIES.get(owner as usize);
    entries.map_or(0, |entries| entries.load(Ordering::Relaxed))
}

/// The child of a fork changes nothing.
pub fn end_in_child() {
    IS_ON.store(false, Ordering::Release);
}

/// A library was loaded on this thread. If another thread changes entries now, it is left to the next time.
fn library_loaded() {
    if !IS_ON.load(Ordering::Acquire) {
        return;
    }
    if let Some(all) = IMPORTS.try_lock() {
        for (index, own) in all.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
            count(index, change(own, Lead::ToHooks));
        }
    }
}

fn count(index: usize, changed: Changed) {
    if let Some(entries) = ENTRIES.get(index) {
        entries.fetch_add(changed.entries, Ordering::Relaxed);
    }
}

/// Has the contract of the function that it calls, with the caller's arguments.
unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: by the caller's promise.
    let library = unsafe { libc::dlopen(name, flags) };
    if !library.is_null() {
        keep_errno(|| crate::vm::guard((), library_loaded));
    }
    library
}
