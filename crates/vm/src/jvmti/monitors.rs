//! Monitors, and the objects that threads wait for.

use std::ptr;

use hprof_native_headers as raw;
use jni_sys::jobject;

use super::env::call;
use super::jni::Jni;
use super::memory::VmMemory;
use super::refs::{LocalRef, Ref};
use crate::{Jvmti, Result};

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
    /// The error of `GetObjectMonitorUsage`; the capability is needed.
    pub fn monitor_usage<'a>(&self, jni: &'a Jni, object: Ref<'_>) -> Result<MonitorUsage<'a>> {
        let mut usage = raw::jvmtiMonitorUsage {
            owner: ptr::null_mut(),
            entry_count: 0,
            waiter_count: 0,
            waiters: ptr::null_mut(),
            notify_waiter_count: 0,
            notify_waiters: ptr::null_mut(),
        };
        call!(self, GetObjectMonitorUsage, object.as_raw(), &mut usage)?;
        // SAFETY: the VM made a local reference, or none.
        let owner = unsafe { LocalRef::own(jni, usage.owner) };
        let own = |threads: *mut jobject, count: i32| -> Vec<LocalRef<'a>> {
            let count = usize::try_from(count).unwrap_or(0);
            // SAFETY: the VM allocated `count` references for us.
            let threads = unsafe { VmMemory::new(self, threads, count) };
            // SAFETY: the VM made them for us, as local references.
            unsafe { jni.own_all(&threads) }
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
    /// The error of `GetCurrentContendedMonitor`; the capability is needed.
    pub fn contended_monitor<'a>(
        &self,
        jni: &'a Jni,
        thread: Ref<'_>,
    ) -> Result<Option<LocalRef<'a>>> {
        let mut object = ptr::null_mut();
        call!(
            self,
            GetCurrentContendedMonitor,
            thread.as_raw(),
            &mut object
        )?;
        // SAFETY: the VM made a local reference, or none.
        Ok(unsafe { LocalRef::own(jni, object) })
    }

    /// The objects whose monitors a thread owns.
    ///
    /// # Errors
    /// The error of `GetOwnedMonitorInfo`; the capability is needed.
    pub fn owned_monitors<'a>(&self, jni: &'a Jni, thread: Ref<'_>) -> Result<Vec<LocalRef<'a>>> {
        let mut count = 0;
        let mut objects = ptr::null_mut();
        call!(
            self,
            GetOwnedMonitorInfo,
            thread.as_raw(),
            &mut count,
            &mut objects
        )?;
        // SAFETY: the VM allocated `count` references for us.
        let objects = unsafe { VmMemory::new(self, objects, usize::try_from(count).unwrap_or(0)) };
        // SAFETY: the VM made them for us, as local references.
        Ok(unsafe { jni.own_all(&objects) })
    }
}
