//! The serials and traces that a heap dump takes from the profile.

use std::collections::HashMap;
use std::io;

use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::writer::ProfileWriter;

use super::monitors::HeldMonitors;
use crate::heap_sites::Located;
use crate::names::Names;
use crate::output::{HeldThread, HeldThreads};
use crate::recording::{Run, Threads};
use crate::vm::Jni;

/// The profile thread as a heap dump shows it.
pub const PROFILE_THREAD: &str = "HPROF profile thread";

/// Gives out the profile's serials.
pub struct DumpIds<'a> {
    threads: &'a Threads,
    names: &'a mut Names,
    by_vm_thread: HashMap<u64, ThreadSerial>,
    /// The VM's pointer to the profile thread, which is no thread of the program.
    own: u64,
    own_serial: Option<ThreadSerial>,
    /// Where the dump's objects were allocated, with heap=all.
    located: Located,
    /// Threads that the profile shows with the ids of their objects.
    held: HeldThreads,
    /// Monitors that were held right before the dump.
    monitors: HeldMonitors,
}

impl<'a> DumpIds<'a> {
    /// For the threads that live now; called on the profile thread, whose serial is `own_serial` if
    /// the profile has shown it. The profile has not shown those that are `held`.
    pub fn new(
        run: &'a Run,
        jni: &Jni,
        names: &'a mut Names,
        own_serial: Option<ThreadSerial>,
        held: HeldThreads,
    ) -> Self {
        let own = run.java_threads.get();
        let own = own.map_or(0, |threads| threads.current(jni).vm_thread as u64);
        let mut by_vm_thread = HashMap::new();
        let threads = &run.threads;
        let known = threads.last_ended().into_iter().chain(threads.live());
        for thread in known.filter(|thread| thread.announced) {
            by_vm_thread.insert(thread.vm_thread as u64, thread.serial);
        }
        if let Some(serial) = own_serial {
            by_vm_thread.insert(own, serial);
        }
        by_vm_thread.remove(&0);
        Self {
            threads,
            names,
            by_vm_thread,
            own,
            own_serial,
            located: Located::default(),
            held,
            monitors: HeldMonitors::default(),
        }
    }

    /// The VM is about to dump its heap.
    pub fn set_monitors(&mut self, monitors: HeldMonitors) {
        self.monitors = monitors;
    }

    /// Returns true if a global reference is that of a monitor.
    pub fn is_monitor(&self, reference: u64) -> bool {
        self.monitors.has(reference)
    }

    /// The threads that the dump does not have.
    pub fn into_held(self) -> HeldThreads {
        self.held
    }

    /// The tables of names.
    pub fn names(&mut self) -> &mut Names {
        self.names
    }

    /// It is known now where the dump's objects were allocated.
    pub fn set_located(&mut self, located: Located) {
        self.located = located;
    }

    /// The serial of the profile thread, if the profile has shown it.
    pub fn own_serial(&self) -> Option<ThreadSerial> {
        self.own_serial
    }

    /// The serial of a thread by the VM's pointer to it, `None` for 0 or a thread that is not known.
    pub fn thread(&self, vm_thread: u64) -> Option<ThreadSerial> {
        self.by_vm_thread.get(&vm_thread).copied()
    }

    /// Takes the thread of a serial that the profile has yet to show; `None` if it has shown it.
    pub fn take_held(&mut self, serial: ThreadSerial) -> Option<HeldThread> {
        self.held.take(serial)
    }

    /// A serial and a name for such a thread.
    pub fn new_thread(&mut self, vm_thread: u64) -> (ThreadSerial, &'static str) {
        let serial = self.threads.new_serial();
        if vm_thread == 0 || vm_thread != self.own {
            return (serial, "(not seen before the heap dump)");
        }
        self.own_serial = Some(serial);
        self.by_vm_thread.insert(vm_thread, serial);
        (serial, PROFILE_THREAD)
    }

    /// A serial for the stack of a thread.
    pub fn new_trace(&mut self) -> TraceSerial {
        self.names.traces.new_serial()
    }

    /// Writes the traces that [`Self::trace`] returns.
    ///
    /// # Errors
    /// Errors of `writer`.
    pub fn write_traces(&self, writer: &mut dyn ProfileWriter) -> io::Result<()> {
        let traces = self.located.traces().iter();
        self.names.write_traces(writer, traces.copied())
    }

    /// Where an object of the dump was allocated; the system trace when that is not known.
    #[inline]
    pub fn trace(&self, object: ObjectId) -> TraceSerial {
        self.located.trace(object)
    }
}
