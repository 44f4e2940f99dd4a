//! The JNI environment of a thread, its frames of local references, and references made there.

use std::cell::Cell;
use std::ops::Deref;

use jni_sys::{JNIEnv, jobject};

use super::refs::{Class, GlobalRef, LocalRef, Ref, WeakRef};
use super::thrown::Thrown;
use crate::{JvmtiError, Result};

/// The JNI environment of the current thread. Local references borrow it.
pub struct Jni {
    env: *mut JNIEnv,
    /// A frame lies above the one that this value makes references in.
    covered: Cell<bool>,
}

/// Calls a function of the JNI table.
///
/// The environment is the current thread's, by the contract of [`Jni::new`], so its table is valid. The caller owes the
/// arguments that the JNI specification requires for this function.
macro_rules! jni {
    ($jni:expr, $version:ident . $name:ident $(, $arg:expr)* $(,)?) => {{
        let env = $jni.as_raw();
        ((**env).$version.$name)(env $(, $arg)*)
    }};
}
pub(crate) use jni;

impl Jni {
    /// Wraps the environment of the current thread.
    ///
    /// # Safety
    /// `env` belongs to the current thread, which the VM knows as long as the value exists. No two values of
    /// one thread make references at the same time, but for those that [`Jni::local_frame`] makes.
    pub unsafe fn new(env: *mut JNIEnv) -> Self {
        Self {
            env,
            covered: Cell::new(false),
        }
    }

    /// The raw pointer.
    pub fn as_raw(&self) -> *mut JNIEnv {
        self.env
    }

    /// Panics if a frame lies above that of this value.
    #[inline]
    pub(crate) fn check_innermost(&self) {
        assert!(
            !self.covered.get(),
            "a reference is made in a frame that is not the innermost"
        );
    }

    /// `NewGlobalRef`.
    ///
    /// # Errors
    /// When the VM has no memory left.
    pub fn new_global<T>(
        &self,
        object: Ref<'_, T>,
    ) -> std::result::Result<GlobalRef<T>, Thrown<'_>> {
        let vm = self.java_vm()?;
        // SAFETY: the reference is live.
        let global = unsafe { jni!(self, v1_2.NewGlobalRef, object.as_raw()) };
        let global = self.outcome(std::ptr::NonNull::new(global))?;
        // SAFETY: the VM has just made this global reference to the same object.
        Ok(unsafe { GlobalRef::own(global, vm) })
    }

    /// `NewWeakGlobalRef`.
    ///
    /// # Errors
    /// `INTERNAL` when the VM has no memory left; the Java exception is cleared.
    #[inline]
    pub fn new_weak<T>(&self, object: Ref<'_, T>) -> Result<WeakRef> {
        // SAFETY: the reference is live, and no other code has the new one.
        let weak = unsafe { WeakRef::from_raw(jni!(self, v1_2.NewWeakGlobalRef, object.as_raw())) };
        weak.ok_or_else(|| {
            self.clear_exception();
            JvmtiError::INTERNAL
        })
    }

    /// `DeleteWeakGlobalRef`.
    #[inline]
    pub fn delete_weak(&self, weak: WeakRef) {
        // SAFETY: the reference exists, as only this call deletes it, and ends here.
        unsafe { jni!(self, v1_2.DeleteWeakGlobalRef, weak.as_raw()) };
    }

    /// Returns whether the referent of a weak reference was collected.
    #[inline]
    pub fn is_cleared(&self, weak: &WeakRef) -> bool {
        // SAFETY: the reference exists; null is allowed.
        unsafe { jni!(self, v1_2.IsSameObject, weak.as_raw(), std::ptr::null_mut()) }
    }

    /// `NewLocalRef` of a weak reference; `None` if the referent was collected.
    #[inline]
    pub fn upgrade(&self, weak: &WeakRef) -> Option<LocalRef<'_>> {
        // SAFETY: the reference exists; the result is a new local reference.
        unsafe { LocalRef::own(self, jni!(self, v1_2.NewLocalRef, weak.as_raw())) }
    }

    /// `NewLocalRef` of a weak reference to a class; `None` when the class was unloaded, or it is no class.
    pub fn upgrade_class(&self, weak: &WeakRef) -> Option<LocalRef<'_, Class>> {
        let object = self.upgrade(weak)?;
        let class_class = self.find_class(c"java/lang/Class").ok()?;
        let is_class = self.is_instance(object.get(), class_class.get());
        is_class.then(|| object.into_class())
    }

    /// A reference to a class that the caller has as an object; `None` when it is no class.
    pub fn as_class(&self, object: Ref<'_>) -> Option<LocalRef<'_, Class>> {
        let class_class = self.find_class(c"java/lang/Class").ok()?;
        if !self.is_instance(object, class_class.get()) {
            return None;
        }
        // SAFETY: the reference is live and of a class, and the result is a new local reference.
        unsafe { LocalRef::own(self, jni!(self, v1_2.NewLocalRef, object.as_raw())) }
    }

    /// `NewLocalRef` of a class; `None` when the VM has no room for it.
    pub fn local_class(&self, class: Ref<'_, Class>) -> Option<LocalRef<'_, Class>> {
        // SAFETY: the reference is live and of a class, and the result is a new local reference.
        unsafe { LocalRef::own(self, jni!(self, v1_2.NewLocalRef, class.as_raw())) }
    }

    /// `IsSameObject`, where a cleared reference is the same as no object.
    #[inline]
    pub fn is_weak_of<T>(&self, object: Ref<'_, T>, weak: &WeakRef) -> bool {
        // SAFETY: both references exist.
        unsafe { jni!(self, v1_2.IsSameObject, object.as_raw(), weak.as_raw()) }
    }

    /// `IsSameObject`.
    #[inline]
    pub fn is_same<T, U>(&self, one: Ref<'_, T>, other: Ref<'_, U>) -> bool {
        // SAFETY: both references are live.
        unsafe { jni!(self, v1_2.IsSameObject, one.as_raw(), other.as_raw()) }
    }

    /// `GetObjectClass`.
    pub fn object_class(&self, object: Ref<'_>) -> LocalRef<'_, Class> {
        // SAFETY: the reference is live, every object has a class, and the result is a new local reference.
        let class =
            unsafe { LocalRef::own(self, jni!(self, v1_2.GetObjectClass, object.as_raw())) };
        class.unwrap_or_else(|| unreachable!("an object without a class"))
    }

    /// `GetSuperclass`; `None` for `Object`, interfaces and primitive types.
    pub fn superclass(&self, class: Ref<'_, Class>) -> Option<LocalRef<'_, Class>> {
        // SAFETY: the reference is live and of a class, and the result is a new local reference.
        unsafe { LocalRef::own(self, jni!(self, v1_2.GetSuperclass, class.as_raw())) }
    }

    /// `IsInstanceOf`.
    pub fn is_instance(&self, object: Ref<'_>, class: Ref<'_, Class>) -> bool {
        // SAFETY: both references are live, the second is of a class.
        unsafe { jni!(self, v1_2.IsInstanceOf, object.as_raw(), class.as_raw()) }
    }

    /// Makes room for many local references, all of which end with the frame: a callback's own room is
    /// for 16. While the frame exists, references are made through it.
    ///
    /// # Panics
    /// If a frame lies above that of this value.
    pub fn local_frame(&self, capacity: u32) -> LocalFrame<'_> {
        self.check_innermost();
        let capacity = jni_sys::jint::try_from(capacity).unwrap_or(jni_sys::jint::MAX);
        // SAFETY: the call takes a number.
        let pushed = unsafe { jni!(self, v1_2.PushLocalFrame, capacity) } == jni_sys::JNI_OK;
        self.clear_exception();
        self.covered.set(true);
        LocalFrame {
            outer: self,
            // SAFETY: the environment of this thread, and `self` is covered.
            inner: unsafe { Jni::new(self.env) },
            pushed,
        }
    }

    /// A frame as [`Self::local_frame`] makes it, for lists of the VM: of all threads or all classes.
    ///
    /// Room costs nothing until it is used, so this is the most that the VM grants
    /// (`MaxJNILocalCapacity`). With less than there are references, `-Xcheck:jni` prints a warning.
    pub fn large_local_frame(&self) -> LocalFrame<'_> {
        self.local_frame(1 << 16)
    }

    /// Takes over local references that the VM has written into an array, without the nulls.
    ///
    /// # Safety
    /// As for [`LocalRef::own`], for each.
    pub(crate) unsafe fn own_all<'a, T>(&'a self, raw: &[jobject]) -> Vec<LocalRef<'a, T>> {
        let mut owned = Vec::with_capacity(raw.len());
        for &raw in raw {
            // SAFETY: by the caller's promise.
            owned.extend(unsafe { LocalRef::own(self, raw) });
        }
        owned
    }
}

/// A frame of local references; see [`Jni::local_frame`]. It is an environment itself.
pub struct LocalFrame<'a> {
    outer: &'a Jni,
    inner: Jni,
    pushed: bool,
}

impl Deref for LocalFrame<'_> {
    type Target = Jni;

    fn deref(&self) -> &Jni {
        &self.inner
    }
}

impl Drop for LocalFrame<'_> {
    fn drop(&mut self) {
        if self.pushed {
            // SAFETY: the frame is the innermost: those above borrow `inner`. So do all references in it.
            unsafe { jni!(self.outer, v1_2.PopLocalFrame, std::ptr::null_mut()) };
        }
        self.outer.covered.set(false);
    }
}
