//! The JVMTI environment: capabilities, events, callbacks, memory.

use std::os::raw::c_void;
use std::ptr;

use hprof_native_headers as raw;
use jni_sys::JavaVM;

use super::memory::take_string;
use super::{JvmtiError, Result};

pub use raw::jvmtiCapabilities as Capabilities;

/// Calls a function of the JVMTI table; a slot this VM leaves empty is
/// `NOT_AVAILABLE`.
macro_rules! call {
    ($jvmti:expr, $name:ident $(, $arg:expr)* $(,)?) => {{
        let env = $jvmti.as_raw();
        // SAFETY: `Jvmti` holds an environment that GetEnv returned and that is
        // disposed of only when nothing uses it any more, so the table is valid; the arguments are what the
        // JVMTI specification asks for in this function.
        unsafe {
            match (**env).$name {
                Some(function) => $crate::JvmtiError::check(function(env $(, $arg)*)),
                None => Err($crate::JvmtiError::NOT_AVAILABLE),
            }
        }
    }};
}
pub(crate) use call;

/// A JVMTI environment. It stays valid until the VM is gone, so it may be copied
/// and sent freely; the JVMTI specification lets every attached thread use it.
#[derive(Clone, Copy)]
pub struct Jvmti {
    env: *mut raw::jvmtiEnv,
}

// SAFETY: a JVMTI environment may be used from any thread (JVMTI specification,
// "Environments"); the pointer itself is never written through.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

impl Jvmti {
    /// Asks the VM for an environment of JDK 11's interface, the oldest that we
    /// serve; every later VM offers it too.
    ///
    /// # Errors
    /// The code of `GetEnv` when the VM is older or has no JVMTI.
    ///
    /// # Safety
    /// `vm` is the pointer that the VM passed to the agent's entry point.
    pub unsafe fn from_vm(vm: *mut JavaVM) -> std::result::Result<Self, i32> {
        let mut env: *mut c_void = ptr::null_mut();
        // SAFETY: `vm` is valid by the caller's promise, `env` is a local.
        let code =
            unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, raw::JVMTI_VERSION_11 as jni_sys::jint) };
        if code == jni_sys::JNI_OK && !env.is_null() {
            Ok(Self { env: env.cast() })
        } else {
            Err(code)
        }
    }

    /// The environment that the VM passes to a callback.
    pub(super) fn from_callback(env: *mut raw::jvmtiEnv) -> Self {
        Self { env }
    }

    /// The feature release of the VM's JVMTI, such as 17.
    ///
    /// # Errors
    /// What `GetVersionNumber` says.
    pub fn version(self) -> Result<u32> {
        let mut version = 0;
        call!(self, GetVersionNumber, &mut version)?;
        let version = u32::try_from(version).unwrap_or(0);
        let major = raw::JVMTI_VERSION_MASK_MAJOR >> raw::JVMTI_VERSION_SHIFT_MAJOR;
        Ok((version >> raw::JVMTI_VERSION_SHIFT_MAJOR) & major)
    }

    /// A system property that the VM itself knows; `None` when it is not set.
    pub fn system_property(self, name: &std::ffi::CStr) -> Option<String> {
        let mut value = ptr::null_mut();
        call!(self, GetSystemProperty, name.as_ptr(), &mut value).ok()?;
        // SAFETY: the VM allocated the value for us.
        unsafe { take_string(self, value) }
    }

    /// The raw pointer, for a call through the table.
    pub fn as_raw(self) -> *mut raw::jvmtiEnv {
        self.env
    }

    /// Adds the capabilities that `wanted` sets and the VM can give now.
    /// Returns those it could not give.
    ///
    /// # Errors
    /// What `AddCapabilities` says.
    pub fn add_capabilities(self, wanted: &Capabilities) -> Result<Capabilities> {
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
    /// What `SetEventCallbacks` says.
    pub fn set_callbacks(self, callbacks: &raw::jvmtiEventCallbacks) -> Result<()> {
        let size = size_of::<raw::jvmtiEventCallbacks>() as jni_sys::jint;
        call!(self, SetEventCallbacks, callbacks, size)
    }

    /// Switches an event on or off for all threads.
    ///
    /// # Errors
    /// What `SetEventNotificationMode` says.
    pub fn set_event(self, event: raw::jvmtiEvent, on: bool) -> Result<()> {
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
    pub fn set_extension_event(self, id: &str, callback: raw::jvmtiExtensionEvent) -> Result<()> {
        let mut count = 0;
        let mut events: *mut raw::jvmtiExtensionEventInfo = ptr::null_mut();
        call!(self, GetExtensionEvents, &mut count, &mut events)?;
        // SAFETY: GetExtensionEvents allocated an array of `count` entries.
        let events = unsafe { super::VmMemory::new(self, events, count.max(0) as usize) };
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

    pub(super) fn deallocate(self, memory: *mut u8) {
        // A failure can only mean a bad pointer, and nothing could be done about it.
        let _ = call!(self, Deallocate, memory);
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
