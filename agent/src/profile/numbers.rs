//! The numbers that a heap dump needs.

use std::collections::HashMap;

use hprof_format::ids::{ThreadSerial, TraceSerial};

use super::Profile;
use super::collector::Tables;
use super::registry::Registry;
use crate::heap_dump::Numbers;
use crate::vm::Jni;

/// Gives out the profile's serials.
pub(super) struct ProfileNumbers<'a> {
    registry: &'a Registry,
    tables: &'a mut Tables,
    by_vm_thread: HashMap<u64, ThreadSerial>,
    /// The VM's pointer to the profile thread, which is no thread of the program.
    own: u64,
}

impl<'a> ProfileNumbers<'a> {
    /// For the threads that live now; called on the profile thread.
    pub(super) fn new(profile: &'a Profile, jni: &Jni, tables: &'a mut Tables) -> Self {
        let own = profile.java_threads.get();
        let own = own.map_or(0, |threads| threads.current(jni).vm_thread as u64);
        let mut by_vm_thread = HashMap::new();
        let registry = &profile.registry;
        for thread in registry.last_ended().into_iter().chain(registry.live()) {
            by_vm_thread.insert(thread.vm_thread as u64, thread.serial);
        }
        if let Some(serial) = tables.own_thread {
            by_vm_thread.insert(own, serial);
        }
        by_vm_thread.remove(&0);
        Self {
            registry,
            tables,
            by_vm_thread,
            own,
        }
    }
}

impl Numbers for ProfileNumbers<'_> {
    fn thread(&self, vm_thread: u64) -> Option<ThreadSerial> {
        self.by_vm_thread.get(&vm_thread).copied()
    }

    fn new_thread(&mut self, vm_thread: u64) -> (ThreadSerial, &'static str) {
        let serial = self.registry.new_serial();
        if vm_thread == 0 || vm_thread != self.own {
            return (serial, "(not seen before the heap dump)");
        }
        self.tables.own_thread = Some(serial);
        self.by_vm_thread.insert(vm_thread, serial);
        (
            serial,
            super::start::PROFILE_THREAD.to_str().unwrap_or_default(),
        )
    }

    fn new_trace(&mut self) -> TraceSerial {
        self.tables.traces.new_serial()
    }
}
