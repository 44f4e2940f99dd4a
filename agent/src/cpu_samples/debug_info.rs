//! Debug information between safepoints.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::engine::Engine;
use crate::vm::{BoolFlag, Jvmti, VmLibrary, VmStructs};

/// Returns true if the compilers keep what the engine needs, or will from now on.
pub fn has_debug_info(jvmti: &Jvmti, engine: Engine) -> bool {
    match engine {
        Engine::Signal(..) => debug_non_safepoints(jvmti),
        Engine::Safepoint | Engine::None => true,
    }
}

/// Makes the compilers keep debug information between safepoints, without which
/// a sample in compiled code is charged to the nearest safepoint. It is the
/// diagnostic flag -XX:+DebugNonSafepoints. Writing it costs nothing, while the
/// event that implies it makes the VM describe every compiled method to us, and
/// had races with method unloading (JDK-8173361). A value the user gave stays.
fn debug_non_safepoints(jvmti: &Jvmti) -> bool {
    let Some(structs) = VmLibrary::of(jvmti).and_then(VmStructs::of) else {
        return false;
    };
    let Some(flag) = structs.default_bool_flag(BoolFlag::DebugNonSafepoints) else {
        // Set by the user, or unknown here: in the latter case the event helps.
        return structs.lists_flags();
    };
    // SAFETY: the VM's own table says that a bool flag lies there: a byte, which compilers that run
    // already see whole, before or after.
    unsafe { std::ptr::write_volatile(flag, 1) };
    FLAG_SET.store(flag as usize, Ordering::Relaxed);
    true
}

/// Where the flag is that was written; 0 when it was not.
static FLAG_SET: AtomicUsize = AtomicUsize::new(0);

/// Gives the flag its old value back.
pub fn restore_debug_info() {
    let flag = FLAG_SET.swap(0, Ordering::Relaxed);
    if flag != 0 {
        // SAFETY: `debug_non_safepoints` has written it.
        unsafe { std::ptr::write_volatile(flag as *mut u8, 0) };
    }
}
