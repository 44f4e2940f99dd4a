//! Monitors, and the objects that threads wait for.

use std::ptr;

use hprof_native_headers as raw;
use jni_sys::{jfieldID, jobject};

use super::env::call;
use super::jni::{Jni, LocalRef, jni};
use super::memory::VmMemory;
use super::{Jvmti, Release, Result};

/// Who has to do with a monitor. The references are local ones.
pub struct MonitorUsage<'a> {
    /// The thread that owns it, if one does. The VM does not tell of virtual threads.
    pub owner: Option<LocalRef<'a>>,
    /// How often the owner has entered it.
    pub entries: u32,
    /// The threads that wait to own it. Before JDK 23 those that wait to be notified
    /// are among them (JDK-8324677).
    pub entering: Vec<LocalRef<'a>>,
    /// The threads that wait to be notified.
    pub waiting: Vec<LocalRef<'a>>,
}

impl Jvmti {
    /// Who owns the monitor of an object, and who waits for it.
    ///
    /// # Errors
    /// What `GetObjectMonitorUsage` says; the capability is needed.
    pub fn monitor_usage<'a>(&self, jni: &'a Jni, object: jobject) -> Result<MonitorUsage<'a>> {
        let mut usage = raw::jvmtiMonitorUsage {
            owner: ptr::null_mut(),
            entry_count: 0,
            waiter_count: 0,
            waiters: ptr::null_mut(),
            notify_waiter_count: 0,
            notify_waiters: ptr::null_mut(),
        };
        call!(self, GetObjectMonitorUsage, object, &mut usage)?;
        let owner = (!usage.owner.is_null()).then(|| jni.own(usage.owner));
        let own = |threads: *mut jobject, count: i32| -> Vec<LocalRef<'a>> {
            let count = usize::try_from(count).unwrap_or(0);
            // SAFETY: the VM allocated `count` references for us.
            let threads = unsafe { VmMemory::new(self, threads, count) };
            let some = threads.iter().filter(|thread| !thread.is_null());
            some.map(|&thread| jni.own(thread)).collect()
        };
        Ok(MonitorUsage {
            owner,
            entries: u32::try_from(usage.entry_count).unwrap_or(0),
            entering: own(usage.waiters, usage.waiter_count),
            waiting: own(usage.notify_waiters, usage.notify_waiter_count),
        })
    }

    /// The object whose monitor a thread waits to enter or to be notified at, if any.
    ///
    /// # Errors
    /// What `GetCurrentContendedMonitor` says; the capability is needed.
    pub fn contended_monitor<'a>(
        &self,
        jni: &'a Jni,
        thread: jobject,
    ) -> Result<Option<LocalRef<'a>>> {
        let mut object = ptr::null_mut();
        call!(self, GetCurrentContendedMonitor, thread, &mut object)?;
        Ok((!object.is_null()).then(|| jni.own(object)))
    }

    /// The objects whose monitors a thread owns.
    ///
    /// # Errors
    /// What `GetOwnedMonitorInfo` says; the capability is needed.
    pub fn owned_monitors<'a>(&self, jni: &'a Jni, thread: jobject) -> Result<Vec<LocalRef<'a>>> {
        let mut count = 0;
        let mut objects = ptr::null_mut();
        call!(self, GetOwnedMonitorInfo, thread, &mut count, &mut objects)?;
        // SAFETY: the VM allocated `count` references for us.
        let objects = unsafe { VmMemory::new(self, objects, usize::try_from(count).unwrap_or(0)) };
        Ok(objects.iter().map(|&object| jni.own(object)).collect())
    }
}

impl Jni {
    /// `GetObjectClass`.
    pub fn object_class(&self, object: jobject) -> LocalRef<'_> {
        self.own(jni!(self, v1_2.GetObjectClass, object))
    }

    /// `GetObjectField`; `None` for null.
    pub fn object_field(&self, object: jobject, field: jfieldID) -> Option<LocalRef<'_>> {
        let value = jni!(self, v1_2.GetObjectField, object, field);
        (!value.is_null()).then(|| self.own(value))
    }

    /// `GetIntField`.
    pub fn int_field(&self, object: jobject, field: jfieldID) -> i32 {
        jni!(self, v1_2.GetIntField, object, field)
    }

    /// `NewLocalRef` of a weak reference; `None` when its object is gone.
    pub fn upgrade(&self, weak: super::WeakRef) -> Option<LocalRef<'_>> {
        let object = jni!(self, v1_2.NewLocalRef, weak.as_raw());
        (!object.is_null()).then(|| self.own(object))
    }

    /// `IsSameObject` of two references of any kind.
    pub fn is_same_object(&self, one: jobject, other: jobject) -> bool {
        jni!(self, v1_2.IsSameObject, one, other)
    }

    /// `IsVirtualThread`; false where `release`, the VM's own, has no virtual threads.
    pub fn is_virtual_thread(&self, release: Release, thread: jobject) -> bool {
        release.has_virtual_threads() && jni!(self, v19.IsVirtualThread, thread)
    }
}
