//! Monitors that threads hold when the heap is dumped.
//!
//! The VM's dumper does not tell them. An object may move up to the dump's pause, so its address is known only there: each such
//! object gets a global reference, which the dump shows as a root, with the place of the reference and the object's address.
//! That root becomes MONITOR USED.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::vm::{GlobalRef, Vm, handle_place};

/// The VM interrupts each thread that it is asked about.
const MOST_TIME: Duration = Duration::from_millis(500);
/// How many monitors are shown.
const MOST: usize = 4096;

/// References to the objects whose monitors are held.
#[derive(Default)]
pub struct HeldMonitors {
    references: Vec<GlobalRef>,
    places: HashSet<u64>,
    /// Not all threads could be asked.
    pub is_cut_off: bool,
}

impl HeldMonitors {
    /// Asks all platform threads but `own`. Without the capability for it, none are found.
    pub fn find(vm: Vm<'_>, own: &[Arc<GlobalRef>]) -> Self {
        let mut held = Self::default();
        let until = Instant::now() + MOST_TIME;
        let jni = &*vm.jni.large_local_frame();
        for thread in vm.jvmti.all_threads(jni).unwrap_or_default() {
            if own.iter().any(|own| jni.is_same(thread.get(), own.get())) {
                continue;
            }
            if Instant::now() > until || held.references.len() >= MOST {
                held.is_cut_off = true;
                break;
            }
            let Ok(monitors) = vm.jvmti.owned_monitors(jni, thread.get()) else {
                continue;
            };
            for monitor in monitors {
                if let Ok(reference) = jni.new_global(monitor.get()) {
                    held.places.insert(handle_place(reference.get()));
                    held.references.push(reference);
                }
            }
        }
        held
    }

    /// Returns true if a root of this reference stands for a monitor.
    pub fn has(&self, reference: u64) -> bool {
        self.places.contains(&reference)
    }
}
