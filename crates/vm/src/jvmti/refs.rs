//! References to Java objects: who owns each, and how long it may be used.
//!
//! | Type | Owner | Ends |
//! |---|---|---|
//! | [`Ref`] | none: it is borrowed | with the borrow |
//! | [`LocalRef`] | the current thread's frame of references | on drop, before its frame |
//! | [`GlobalRef`] | the value | on drop |
//! | [`WeakRef`] | the value | [`Jni::delete_weak`] |
//!
//! None of the owning types is `Copy`. The first two stay on their thread.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use jni_sys::{JavaVM, jobject};

use super::invoke::VmHandle;
use super::jni::{Jni, jni};

/// Marks references to objects of any class.
#[derive(Debug)]
pub enum Object {}

/// Marks references to objects of `java.lang.Class`.
#[derive(Debug)]
pub enum Class {}

type Raw = NonNull<jni_sys::_jobject>;

/// A borrowed reference, never null: of a callback's parameter, or of one of the owning types.
#[repr(transparent)]
pub struct Ref<'a, T = Object> {
    raw: Raw,
    /// Neither `Send` nor `Sync`: a local reference is one thread's.
    life: PhantomData<(&'a (), *mut T)>,
}

impl<T> Clone for Ref<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<'_, T> {}

impl<T> Ref<'_, T> {
    /// Borrows a reference that other code owns; `None` for null.
    ///
    /// # Safety
    /// `raw` is null, or a reference to a `T` that the current thread may use during the lifetime of the
    /// result: a parameter of the callback or native method that is running, say.
    pub unsafe fn from_raw(raw: jobject) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self {
            raw,
            life: PhantomData,
        })
    }

    /// The raw reference, valid as long as this one.
    pub fn as_raw(self) -> jobject {
        self.raw.as_ptr()
    }
}

impl<'a> Ref<'a, Class> {
    /// The class as an object.
    pub fn as_object(self) -> Ref<'a> {
        Ref {
            raw: self.raw,
            life: PhantomData,
        }
    }
}

/// A local reference, deleted on drop. It cannot outlive the frame of its environment.
pub struct LocalRef<'a, T = Object> {
    jni: &'a Jni,
    raw: Raw,
    of: PhantomData<*mut T>,
}

impl<'a, T> LocalRef<'a, T> {
    /// Takes over a local reference; `None` for null.
    ///
    /// # Panics
    /// If a frame lies above that of `jni`: the reference would end with that one.
    ///
    /// # Safety
    /// `raw` is null, or a local reference to a `T` that the VM has just made for the current thread, and that no other
    /// code deletes.
    pub(crate) unsafe fn own(jni: &'a Jni, raw: jobject) -> Option<Self> {
        jni.check_innermost();
        NonNull::new(raw).map(|raw| Self {
            jni,
            raw,
            of: PhantomData,
        })
    }

    /// Borrows the reference.
    #[inline]
    pub fn get(&self) -> Ref<'_, T> {
        Ref {
            raw: self.raw,
            life: PhantomData,
        }
    }
}

impl<'a> LocalRef<'a> {
    /// Converts a reference that is known to be of a class.
    pub(crate) fn into_class(self) -> LocalRef<'a, Class> {
        let this = ManuallyDrop::new(self);
        LocalRef {
            jni: this.jni,
            raw: this.raw,
            of: PhantomData,
        }
    }
}

impl<T> Drop for LocalRef<'_, T> {
    fn drop(&mut self) {
        // SAFETY: `own` was promised that the reference is this thread's and only deleted here. It outlives
        // no frame: those inside have ended, as they borrow `jni` or end before it.
        unsafe { jni!(self.jni, v1_2.DeleteLocalRef, self.raw.as_ptr()) };
    }
}

/// A global reference, deleted on drop, if the VM knows the thread that drops it; else it stays. The agent
/// pins its own few objects with it.
pub struct GlobalRef<T = Object> {
    raw: Raw,
    vm: VmHandle,
    of: PhantomData<fn() -> T>,
}

// SAFETY: JNI global references are valid on every thread.
unsafe impl<T> Send for GlobalRef<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for GlobalRef<T> {}

impl<T> GlobalRef<T> {
    /// # Safety
    /// `raw` is a global reference to a `T` of the VM `vm`, and no other code deletes it.
    pub(crate) unsafe fn own(raw: Raw, vm: *mut JavaVM) -> Self {
        Self {
            raw,
            // SAFETY: the caller has the VM.
            vm: unsafe { VmHandle::new(vm) },
            of: PhantomData,
        }
    }

    /// Borrows the reference.
    pub fn get(&self) -> Ref<'_, T> {
        Ref {
            raw: self.raw,
            life: PhantomData,
        }
    }
}

impl<T> Drop for GlobalRef<T> {
    fn drop(&mut self) {
        // SAFETY: the environment is used for this call only, which makes no references. `own` was promised a
        // global reference that is only deleted here.
        unsafe {
            self.vm
                .with_current(|jni| jni!(jni, v1_2.DeleteGlobalRef, self.raw.as_ptr()));
        }
    }
}

/// A weak global reference, one word wide. It exists until [`Jni::delete_weak`], as millions of them end in
/// a loop that has the environment; one that is dropped stays in the VM.
#[derive(Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct WeakRef(Raw);

// SAFETY: JNI weak references are valid on every thread.
unsafe impl Send for WeakRef {}
// SAFETY: as above.
unsafe impl Sync for WeakRef {}

impl WeakRef {
    /// Takes over a weak reference; `None` for null.
    ///
    /// # Safety
    /// `raw` is null or a weak global reference, which is not used after [`Jni::delete_weak`] has taken this
    /// value or a copy of it that was made in this way.
    pub unsafe fn from_raw(raw: jobject) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// The raw reference, valid until it is deleted.
    pub fn as_raw(&self) -> jobject {
        self.0.as_ptr()
    }
}

impl WeakRef {
    /// Keeps the reference for good: it is never deleted, and may be copied.
    pub fn keep(self) -> KeptWeakRef {
        KeptWeakRef(self.0)
    }
}

/// A weak global reference that is never deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct KeptWeakRef(Raw);

// SAFETY: JNI weak references are valid on every thread.
unsafe impl Send for KeptWeakRef {}
// SAFETY: as above.
unsafe impl Sync for KeptWeakRef {}

impl KeptWeakRef {
    /// Copies a reference from its number.
    ///
    /// # Safety
    /// [`Self::as_word`] returned the number.
    pub unsafe fn from_word(word: usize) -> Option<Self> {
        NonNull::new(word as jobject).map(Self)
    }

    /// The reference as a number, never 0.
    #[inline]
    pub fn as_word(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// Borrows the reference.
    #[inline]
    pub fn get(&self) -> &WeakRef {
        // SAFETY: both are laid out as the raw reference.
        unsafe { &*std::ptr::from_ref(self).cast::<WeakRef>() }
    }
}

#[cfg(test)]
mod tests {
    use crate::fake::{self, Kind, with_state};

    fn live() -> Vec<Kind> {
        with_state(|state| state.live.values().copied().collect())
    }

    #[test]
    fn each_reference_ends_once_and_as_its_kind() {
        let jni = fake::jni();
        let class = jni.find_class(c"java/lang/Object").unwrap();
        let global = jni.new_global(class.get()).unwrap();
        let weak = jni.new_weak(class.get()).unwrap();
        assert_eq!(live(), [Kind::Local, Kind::Global, Kind::Weak]);
        drop(class);
        assert_eq!(live(), [Kind::Global, Kind::Weak]);
        drop(global);
        jni.delete_weak(weak);
        assert_eq!(live(), []);
    }

    #[test]
    fn references_end_before_their_frame() {
        let jni = fake::jni();
        {
            let frame = jni.local_frame(16);
            let inner = frame.local_frame(16);
            let _first = inner.find_class(c"java/lang/Object");
            drop(inner.find_class(c"java/lang/Object"));
        }
        assert_eq!(live(), []);
        assert!(
            jni.find_class(c"java/lang/Object").is_ok(),
            "innermost again"
        );
    }

    #[test]
    #[should_panic(expected = "not the innermost")]
    fn no_reference_is_made_below_the_innermost_frame() {
        let jni = fake::jni();
        let _frame = jni.local_frame(16);
        let _ = jni.find_class(c"java/lang/Object");
    }
}
