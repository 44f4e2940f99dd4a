//! The JVMTI environment: capabilities, events, callbacks, memory.

use std::os::raw::c_void;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hprof_native_headers as raw;
use jni_sys::JavaVM;

use super::gate::{Gate, Inside, StillInside};
use super::invoke::remember;
use super::memory::take_string;
use crate::guard::guard;
use crate::{Fault, JvmtiError, Result};

pub use raw::jvmtiCapabilities as Capabilities;

/// Calls a function of the JVMTI table. A function that this VM lacks is `NOT_AVAILABLE`, an environment
/// that was closed `INVALID_ENVIRONMENT`.
///
/// The wrapper around it owes the arguments: out parameters are places of its own, counts are those of the
/// arrays they belong to, references and ids come from types that keep them alive.
macro_rules! call {
    ($jvmti:expr, $name:ident $(, $arg:expr)* $(,)?) => {{
        let jvmti: &$crate::Jvmti = $jvmti;
        match jvmti.enter() {
            None => Err($crate::JvmtiError::INVALID_ENVIRONMENT),
            Some(_inside) => {
                let env = jvmti.as_raw();
                // SAFETY: the gate was open, and its end waits for `_inside`: so the environment has not been
                // disposed of, and its table is valid. The arguments are the wrapper's duty, see above.
                unsafe {
                    match (**env).$name {
                        Some(function) => $crate::JvmtiError::check(function(env $(, $arg)*)),
                        None => Err($crate::JvmtiError::NOT_AVAILABLE),
                    }
                }
            }
        }
    }};
}
pub(crate) use call;

/// A JVMTI environment and its only owner: dropping it disposes of the environment.
///
/// Any attached thread may use it (JVMTI specification, "Environments"). Threads share a reference;
/// [`Jvmti::close`] ends it while others still have theirs, whose calls are refused from then on.
pub struct Jvmti {
    env: *mut raw::jvmtiEnv,
    gate: Gate,
    /// Nothing is left to dispose of.
    disposed: AtomicBool,
}

// SAFETY: a JVMTI environment may be used from any thread (JVMTI specification,
// "Environments"); the pointer itself is never written through.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

impl Drop for Jvmti {
    fn drop(&mut self) {
        // No other reference exists, so only callbacks without one can be inside, and those do nothing.
        let _ = self.close(Duration::ZERO);
    }
}

/// Keeps one environment in the VM until the process ends, so that others can be disposed of.
///
/// HotSpot cleans up after a thread that ends only while it has an environment (`JavaThread::exit` asks
/// `JvmtiEnv::environments_might_exist`). Without this one, threads that end after the last
/// `DisposeEnvironment` leave their `JvmtiThreadState` in the VM's list, and the next environment makes the
/// VM write into the freed `JavaThread` (`recompute_thread_enabled`). The environment asks for no event and no
/// capability.
///
/// # Safety
/// `vm` is the pointer that the VM passed to the agent's entry point.
pub unsafe fn keep_environment(vm: *mut JavaVM) {
    static KEPT: Once = Once::new();
    KEPT.call_once(|| {
        // SAFETY: by the caller's promise.
        if let Ok(kept) = unsafe { Jvmti::from_vm(vm) } {
            std::mem::forget(kept);
        }
    });
}

impl Jvmti {
    /// Asks the VM for an environment of JDK 11's interface, which every later VM offers too, and then for
    /// that of JDK 8. The table of functions of JDK 8 ends before what is newer: see [`Release`].
    ///
    /// # Errors
    /// The code of `GetEnv` when the VM is older than JDK 8 or has no JVMTI.
    ///
    /// [`Release`]: crate::Release
    ///
    /// # Safety
    /// `vm` is the pointer that the VM passed to the agent's entry point.
    pub unsafe fn from_vm(vm: *mut JavaVM) -> std::result::Result<Self, i32> {
        let mut env: *mut c_void = ptr::null_mut();
        let mut ask = |version: u32| {
            // SAFETY: `vm` is valid by the caller's promise, `env` is a local.
            unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, version as jni_sys::jint) }
        };
        let mut code = ask(raw::JVMTI_VERSION_11);
        if code == jni_sys::JNI_EVERSION {
            code = ask(raw::JVMTI_VERSION_1_2);
        }
        if code != jni_sys::JNI_OK || env.is_null() {
            return Err(code);
        }
        // SAFETY: the VM has made this environment for the caller.
        let jvmti = unsafe { Self::from_raw(env.cast()) };
        if jvmti.version().is_ok_and(|version| version < OLDEST) {
            return Err(jni_sys::JNI_EVERSION);
        }
        remember(vm);
        Ok(jvmti)
    }

    /// # Safety
    /// `env` is an environment that no other code disposes of.
    pub(crate) unsafe fn from_raw(env: *mut raw::jvmtiEnv) -> Self {
        Self {
            env,
            gate: Gate::default(),
            disposed: AtomicBool::new(false),
        }
    }

    /// Keeps the environment from its end while the result lives; `None` once it was closed.
    #[inline]
    pub(crate) fn enter(&self) -> Option<Inside<'_>> {
        self.gate.enter()
    }

    /// Runs the body of one of this environment's callbacks: [`Jvmti::close`] waits for it, and a panic
    /// becomes `otherwise` ([`guard()`]). Does nothing but return `otherwise` once the environment was closed.
    #[inline]
    pub fn callback<T>(&self, otherwise: T, body: impl FnOnce() -> T) -> T {
        match self.enter() {
            Some(_inside) => guard(otherwise, body),
            None => otherwise,
        }
    }

    /// Ends the environment: lets no callback and no call in, waits until all have left, then disposes of
    /// it. Calls after that are refused with `INVALID_ENVIRONMENT`. The current thread must not be in a
    /// callback of it.
    ///
    /// # Errors
    /// If a thread is still inside after `limit`. Then the environment stays, without effect.
    pub fn close(&self, limit: Duration) -> std::result::Result<(), StillInside> {
        self.gate.close(limit)?;
        if self.disposed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // SAFETY: `from_vm` got the environment from the VM, it is disposed of once, and no thread is inside the closed
        // gate.
        unsafe {
            if let Some(dispose) = (**self.env).DisposeEnvironment {
                // It can only fail for a disposed environment.
                let _ = dispose(self.env);
            }
        }
        Ok(())
    }

    /// The feature release of the VM's JVMTI, such as 17.
    ///
    /// # Errors
    /// The error of `GetVersionNumber`.
    pub fn version(&self) -> Result<u32> {
        let mut version = 0;
        call!(self, GetVersionNumber, &mut version)?;
        Ok(feature_release(u32::try_from(version).unwrap_or(0)))
    }

    /// A system property that the VM itself knows; `None` when it is not set.
    pub fn system_property(&self, name: &std::ffi::CStr) -> Option<String> {
        let mut value = ptr::null_mut();
        call!(self, GetSystemProperty, name.as_ptr(), &mut value).ok()?;
        // SAFETY: the VM allocated the value for us.
        unsafe { take_string(self, value) }
    }

    /// The raw pointer, for a call through the table of an entered environment.
    pub(crate) fn as_raw(&self) -> *mut raw::jvmtiEnv {
        self.env
    }

    /// Adds the capabilities that `wanted` sets and the VM can give now.
    /// Returns those it could not give.
    ///
    /// # Errors
    /// The error of `AddCapabilities`.
    pub fn add_capabilities(&self, wanted: &Capabilities) -> Result<Capabilities> {
        let has_events = wanted.can_generate_sampled_object_alloc_events() != 0
            || wanted.can_generate_monitor_events() != 0;
        if has_events && Fault::NoEvents.is_wanted() {
            return Err(JvmtiError::NOT_AVAILABLE);
        }
        let mut possible = Capabilities::default();
        call!(self, GetPotentialCapabilities, &mut possible)?;
        let (wanted_bytes, possible_bytes) = (bytes(wanted), bytes(&possible));
        let mut granted = [0u8; size_of::<Capabilities>()];
        let mut refused = [0u8; size_of::<Capabilities>()];
        for (index, (w, p)) in wanted_bytes.iter().zip(possible_bytes).enumerate() {
            granted[index] = w & p;
            refused[index] = w & !p;
        }
        let granted = capabilities(granted);
        call!(self, AddCapabilities, &granted)?;
        Ok(capabilities(refused))
    }

    /// Installs the table of callbacks.
    ///
    /// # Errors
    /// The error of `SetEventCallbacks`.
    pub fn set_callbacks(&self, callbacks: &raw::jvmtiEventCallbacks) -> Result<()> {
        let size = size_of::<raw::jvmtiEventCallbacks>() as jni_sys::jint;
        call!(self, SetEventCallbacks, callbacks, size)
    }

    /// Switches an event on or off for all threads.
    ///
    /// # Errors
    /// The error of `SetEventNotificationMode`.
    pub fn set_event(&self, event: raw::jvmtiEvent, on: bool) -> Result<()> {
        let mode = if on {
            raw::JVMTI_ENABLE
        } else {
            raw::JVMTI_DISABLE
        };
        call!(self, SetEventNotificationMode, mode, event, ptr::null_mut())
    }

    /// Finds HotSpot's extension event `id`, sets its callback and enables it.
    ///
    /// # Errors
    /// `NOT_AVAILABLE` when this VM has no such event; else what
    /// `SetExtensionEventCallback` says.
    pub fn set_extension_event(&self, id: &str, callback: raw::jvmtiExtensionEvent) -> Result<()> {
        let mut count = 0;
        let mut events: *mut raw::jvmtiExtensionEventInfo = ptr::null_mut();
        call!(self, GetExtensionEvents, &mut count, &mut events)?;
        // SAFETY: GetExtensionEvents allocated an array of `count` entries.
        let events = unsafe { crate::VmMemory::new(self, events, count.max(0) as usize) };
        let mut found = None;
        for event in events.iter() {
            // SAFETY: each entry's strings and parameter array are allocated by
            // the VM for us, and each is taken here exactly once.
            let event_id = unsafe { take_string(self, event.id) };
            // SAFETY: as above.
            unsafe { take_string(self, event.short_description) };
            for parameter in 0..event.param_count.max(0) as usize {
                // SAFETY: the VM wrote `param_count` entries.
                let name = unsafe { (*event.params.add(parameter)).name };
                // SAFETY: as above; taken once.
                unsafe { take_string(self, name) };
            }
            if !event.params.is_null() {
                self.deallocate(event.params.cast());
            }
            if event_id.as_deref() == Some(id) {
                found = Some(event.extension_event_index);
            }
        }
        let index = found.ok_or(JvmtiError::NOT_AVAILABLE)?;
        call!(self, SetExtensionEventCallback, index, callback)?;
        // HotSpot takes the index for an event number, and wants these events
        // enabled like any other.
        self.set_event(index as raw::jvmtiEvent, true)
    }

    pub(super) fn deallocate(&self, memory: *mut u8) {
        // A failure can only mean a bad pointer, and nothing could be done about it.
        let _ = call!(self, Deallocate, memory);
    }
}

/// The oldest release that is served.
const OLDEST: u32 = 8;

/// The feature release of a VM by the version of its JVMTI, which is 1.2.3 in JDK 8 and 1.2.1 in JDK 7 (`jvmti.xml`),
/// and has the release's number since JDK 9.
fn feature_release(version: u32) -> u32 {
    let part = |mask: u32, shift: u32| (version & mask) >> shift;
    let major = part(
        raw::JVMTI_VERSION_MASK_MAJOR,
        raw::JVMTI_VERSION_SHIFT_MAJOR,
    );
    let minor = part(
        raw::JVMTI_VERSION_MASK_MINOR,
        raw::JVMTI_VERSION_SHIFT_MINOR,
    );
    let micro = part(
        raw::JVMTI_VERSION_MASK_MICRO,
        raw::JVMTI_VERSION_SHIFT_MICRO,
    );
    match (major, minor, micro) {
        (1, 2, 3..) => 8,
        (1, 2, _) => 7,
        (major, ..) => major,
    }
}

fn bytes(capabilities: &Capabilities) -> [u8; size_of::<Capabilities>()] {
    // SAFETY: both types are plain bytes of the same size.
    unsafe { std::mem::transmute_copy(capabilities) }
}

fn capabilities(bytes: [u8; size_of::<Capabilities>()]) -> Capabilities {
    // SAFETY: every bit pattern is a valid set of capability bits.
    unsafe { std::mem::transmute(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{self, with_state};

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn a_closed_environment_takes_neither_calls_nor_callbacks() {
        let jvmti = fake::jvmti();
        assert_eq!(jvmti.force_garbage_collection(), Ok(()));
        assert_eq!(jvmti.callback(1, || 2), 2);
        assert_eq!(jvmti.close(LIMIT), Ok(()));
        let refused = Err(JvmtiError::INVALID_ENVIRONMENT);
        assert_eq!(jvmti.force_garbage_collection(), refused);
        assert_eq!(jvmti.callback(1, || 2), 1);
        assert_eq!(jvmti.close(LIMIT), Ok(()), "closed twice");
        drop(jvmti);
        assert_eq!(with_state(|state| state.disposed), 1);
    }

    #[test]
    fn versions_of_the_interface_tell_the_release() {
        for (version, release) in [
            (0x3001_0203, 8),
            (0x3001_0201, 7),
            (0x3009_0000, 9),
            (0x300b_0000, 11),
            (0x301b_0000, 27),
        ] {
            assert_eq!(feature_release(version), release, "{version:x}");
        }
    }

    #[test]
    fn an_environment_ends_with_its_owner() {
        drop(fake::jvmti());
        assert_eq!(with_state(|state| state.disposed), 1);
    }

    #[test]
    fn an_environment_is_not_disposed_of_while_a_callback_is_under_way() {
        let jvmti = fake::jvmti();
        let closed = jvmti.callback(Ok(()), || jvmti.close(Duration::from_millis(5)));
        assert_eq!(closed, Err(StillInside));
        assert_eq!(with_state(|state| state.disposed), 0);
        assert_eq!(jvmti.close(LIMIT), Ok(()));
        assert_eq!(with_state(|state| state.disposed), 1);
    }

    #[test]
    fn a_callback_that_panics_leaves() {
        let jvmti = fake::jvmti();
        assert_eq!(jvmti.callback(1, || panic!("in a callback")), 1);
        assert_eq!(jvmti.close(LIMIT), Ok(()));
    }
}
