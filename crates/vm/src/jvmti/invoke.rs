//! The VM itself: how a thread of the agent's own becomes one of Java.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use jni_sys::{JNI_OK, JNI_VERSION_1_8, JNIEnv, JavaVM, JavaVMAttachArgs, jint};

use crate::Jni;

/// A process has one VM at most. `JNI_GetCreatedJavaVMs` does not name it before it is complete.
static KNOWN: AtomicPtr<JavaVM> = AtomicPtr::new(ptr::null_mut());

/// Notes the process's VM for [`VmHandle::known`].
pub(crate) fn remember(vm: *mut JavaVM) {
    KNOWN.store(vm, Ordering::Release);
}

/// The VM that has loaded the agent.
#[derive(Clone, Copy)]
pub struct VmHandle(*mut JavaVM);

// SAFETY: the functions of the invocation interface may be called by any thread.
unsafe impl Send for VmHandle {}
// SAFETY: as above.
unsafe impl Sync for VmHandle {}

impl VmHandle {
    /// Wraps the VM.
    ///
    /// # Safety
    /// `vm` is the pointer that the VM passed to the agent's entry point.
    pub unsafe fn new(vm: *mut JavaVM) -> Self {
        Self(vm)
    }

    /// The VM that this process has asked for an environment ([`crate::Jvmti::from_vm`]); `None` before.
    pub fn known() -> Option<Self> {
        let vm = KNOWN.load(Ordering::Acquire);
        (!vm.is_null()).then_some(Self(vm))
    }

    /// Returns whether `env` is the environment of the current thread. A signal handler may ask: HotSpot looks at
    /// a thread-local variable of its own, which it clears before it frees the thread's data.
    #[inline]
    pub fn is_current(self, env: *mut JNIEnv) -> bool {
        self.env() == Some(env)
    }

    /// The raw pointer.
    pub fn as_raw(self) -> *mut JavaVM {
        self.0
    }

    /// The environment of the current thread, `None` when the VM does not know the thread.
    fn env(self) -> Option<*mut JNIEnv> {
        let mut env: *mut c_void = ptr::null_mut();
        // SAFETY: the VM is valid for the life of the process, `env` is a local.
        let code = unsafe { ((**self.0).v1_2.GetEnv)(self.0, &mut env, JNI_VERSION_1_8) };
        (code == JNI_OK && !env.is_null()).then_some(env.cast())
    }

    /// Runs `body` if the VM knows the current thread.
    ///
    /// # Safety
    /// No other [`Jni`] of this thread is used meanwhile.
    pub unsafe fn with_current<T>(self, body: impl FnOnce(&Jni) -> T) -> Option<T> {
        // SAFETY: GetEnv has given the environment of this very thread. The VM knows it until `body` returns:
        // `attached` takes no thread from the VM that it knew before.
        self.env().map(|env| body(&unsafe { Jni::new(env) }))
    }

    /// Runs `body` with the current thread known to the VM: as a daemon, unless it was known before.
    ///
    /// # Errors
    /// The VM's code when it takes no more threads.
    ///
    /// # Safety
    /// No other [`Jni`] of this thread is used meanwhile.
    pub unsafe fn attached<T>(self, body: impl FnOnce(&Jni) -> T) -> Result<T, jint> {
        if let Some(env) = self.env() {
            // SAFETY: the environment of this very thread.
            return Ok(body(&unsafe { Jni::new(env) }));
        }
        const NAME: &CStr = c"HPROF control";
        let mut arguments = JavaVMAttachArgs {
            version: JNI_VERSION_1_8,
            name: NAME.as_ptr().cast_mut(),
            group: ptr::null_mut(),
        };
        let mut env: *mut c_void = ptr::null_mut();
        // SAFETY: as above; the arguments live until the call returns.
        let code = unsafe {
            ((**self.0).v1_4.AttachCurrentThreadAsDaemon)(
                self.0,
                &mut env,
                (&raw mut arguments).cast(),
            )
        };
        if code != JNI_OK || env.is_null() {
            return Err(code);
        }
        // SAFETY: the VM has given the environment of this very thread.
        let result = body(&unsafe { Jni::new(env.cast()) });
        // SAFETY: this thread was attached above, and runs no Java code.
        unsafe { ((**self.0).v1_2.DetachCurrentThread)(self.0) };
        Ok(result)
    }
}
