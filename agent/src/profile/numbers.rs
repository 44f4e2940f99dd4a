//! The numbers that a heap dump needs.

use std::collections::HashMap;
use std::io;

use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::writer::ProfileWriter;

use super::Profile;
use super::registry::Registry;
use super::sites::stack_location;
use super::tables::Tables;
use crate::heap_dump::Numbers;
use crate::heap_sites::{IsDumped, SitesProfile};
use crate::vm::{Jni, Jvmti};

/// Gives out the profile's serials.
pub(super) struct ProfileNumbers<'a> {
    registry: &'a Registry,
    tables: &'a mut Tables,
    /// With heap=all.
    sites: Option<&'a mut SitesProfile>,
    jvmti: &'a Jvmti,
    by_vm_thread: HashMap<u64, ThreadSerial>,
    /// The VM's pointer to the profile thread, which is no thread of the program.
    own: u64,
}

impl<'a> ProfileNumbers<'a> {
    /// For the threads that live now; called on the profile thread.
    pub(super) fn new(
        profile: &'a Profile,
        jni: &Jni,
        tables: &'a mut Tables,
        sites: Option<&'a mut SitesProfile>,
    ) -> Self {
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
            sites,
            jvmti: &profile.jvmti,
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
        (serial, super::start::PROFILE_THREAD)
    }

    fn new_trace(&mut self) -> TraceSerial {
        self.tables.traces.new_serial()
    }

    fn joins(&self) -> bool {
        self.sites.is_some()
    }

    fn locate(&mut self, jni: &Jni, is_dumped: IsDumped<'_>, dump: &mut dyn FnMut()) -> bool {
        let Some(sites) = &mut self.sites else {
            dump();
            return false;
        };
        let (tables, jvmti) = (&mut *self.tables, &self.jvmti);
        sites.locate(jni, is_dumped, dump, &mut |thread, stack| {
            tables.intern(jvmti, jni, thread, stack.iter().map(stack_location))
        })
    }

    fn write_traces(&self, writer: &mut dyn ProfileWriter) -> io::Result<()> {
        let traces = self.sites.iter().flat_map(|sites| sites.located().traces());
        self.tables.write_traces(writer, traces.copied())
    }

    fn trace(&self, object: ObjectId) -> TraceSerial {
        let sites = self.sites.as_ref();
        sites.map_or(TraceSerial::SYSTEM, |sites| sites.located().trace(object))
    }
}
