//! A wait's begin and end, on the thread that waits, and the row it is counted in.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::classes::LockClass;
use super::rows::{Row, RowKey, Source};
use super::slots::{Slot, Wait, nanos};
use super::{INNER_FRAMES, Monitors};
use crate::hash::mix;
use crate::vm::{CodePlaces, Jni, Ref, StackFrame, Vm};

/// A wait that is no contention gets a stack if it lasts this long.
const LONG_WAIT: Duration = Duration::from_micros(100);

/// A thread's memory of its stacks.
#[derive(Default)]
struct OwnStacks {
    /// The code that was on its stack.
    places: CodePlaces,
    /// Where stacks are written to. No state: it is used within one call only.
    frames: RefCell<Vec<StackFrame>>,
}

thread_local! {
    /// Gone when a native thread leaves the VM in the destructor of a variable of its own, which may wait for locks.
    static OWN: OwnStacks = OwnStacks::default();
}

/// The current thread may wait.
#[derive(Clone, Copy)]
pub(super) struct FreeSlot {
    /// An empty slot that it has.
    pub(super) slot: Option<&'static Slot>,
}

impl Monitors {
    /// The slot of the current thread, if it has one.
    #[inline]
    pub(super) fn current(&self) -> Option<&'static Slot> {
        let address = self.jvmti.thread_local(None).ok()?;
        // SAFETY: 0, or the address of a slot; slots are never freed.
        unsafe { (address as *const Slot).as_ref() }
    }

    /// The current thread, `thread`, begins to wait.
    pub(super) fn begin(&self, jni: &Jni, thread: Ref<'_>, free: FreeSlot, wait: Wait) {
        let Some(slot) = free.slot.or_else(|| self.slots.take()) else {
            self.lost.waits.fetch_add(1, Ordering::Relaxed);
            wait.forget(jni);
            return;
        };
        slot.blocked_before.store(false, Ordering::Relaxed);
        // Dumps have to find virtual threads, which no list has.
        let virtual_thread = self
            .is_virtual(jni, thread)
            .then(|| jni.new_weak(thread).ok())
            .flatten();
        let wait = Wait {
            is_virtual: virtual_thread.is_some(),
            virtual_thread,
            ..wait
        };
        if wait.is_virtual && !self.virtual_threads.load(Ordering::Relaxed) {
            self.virtual_threads.store(true, Ordering::Relaxed);
        }
        *slot.wait.lock() = Some(wait);
        if free.slot.is_some() {
            return;
        }
        let address = std::ptr::from_ref(slot) as usize;
        if self.jvmti.set_thread_local(None, address).is_err() {
            self.take_out(jni, slot);
            self.slots.give_back(slot);
            self.lost.waits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The current thread continues, and its slot is empty.
    pub(super) fn release(&self, jni: &Jni, slot: &'static Slot) -> Option<Wait> {
        let wait = self.take_out(jni, slot);
        // A carrier that runs its own code may have a slot that belongs to its virtual thread,
        // whose end is not reported.
        if self.virtual_threads.load(Ordering::Relaxed) {
            self.leave(slot);
        }
        wait
    }

    fn take_out(&self, jni: &Jni, slot: &Slot) -> Option<Wait> {
        let mut wait = slot.wait.lock().take()?;
        for weak in [wait.virtual_thread.take(), wait.object.take()]
            .into_iter()
            .flatten()
        {
            jni.delete_weak(weak);
        }
        Some(wait)
    }

    /// The current thread gives its slot, which is empty, to others.
    pub(super) fn leave(&self, slot: &'static Slot) {
        let _ = self.jvmti.set_thread_local(None, 0);
        self.slots.give_back(slot);
    }

    /// Books a wait that has ended, of the current thread, whose `skipped`
    /// innermost frames are the agent's.
    #[inline]
    pub(super) fn book(&self, jni: &Jni, thread: Ref<'_>, wait: &Wait, end: Instant, skipped: i32) {
        let time = end.saturating_duration_since(wait.start);
        let row = match wait.row {
            Some(row) => row,
            None if wait.source.may_be_contention() && time < self.threshold => return,
            None => {
                let with_stack = wait.source.may_be_contention() || time >= LONG_WAIT;
                let depth = if with_stack { Some(skipped) } else { None };
                self.row(jni, thread, wait.source, wait.class, depth)
            }
        };
        row.add(u64::from(!wait.counted), nanos(time));
    }

    /// The row for the current thread and its stack, but for the innermost
    /// `skipped` frames.
    pub(super) fn row(
        &self,
        jni: &Jni,
        thread: Ref<'_>,
        source: Source,
        class: &'static LockClass,
        skipped: Option<i32>,
    ) -> &'static Row {
        let serial = match skipped {
            Some(_) if self.per_thread => (self.host.serial)(jni, thread),
            _ => 0,
        };
        let key = skipped.and_then(|skipped| {
            let frames = self.frames(source) + usize::try_from(skipped).ok()?;
            let start = mix(u64::from(serial) << 2 | source as u64, u64::from(class.id));
            let keys = self.stack_keys.get()?;
            let key = |places: Option<&CodePlaces>| keys.key(jni, places, frames, start);
            let known = OWN.try_with(|own| key(Some(&own.places)));
            known.unwrap_or_else(|_| key(None))
        });
        let take = || self.row_by_stack(jni, source, class, skipped, serial);
        match key {
            Some(key) => self.recent.row(key, take),
            None => {
                if skipped.is_some() {
                    self.recent.count_taken();
                }
                take()
            }
        }
    }

    /// Finds the row from the stack itself.
    #[cold]
    fn row_by_stack(
        &self,
        jni: &Jni,
        source: Source,
        class: &'static LockClass,
        skipped: Option<i32>,
        serial: u32,
    ) -> &'static Row {
        let row = |buffer: &mut Vec<StackFrame>| {
            let frames = match skipped {
                Some(skipped) => self.stack(jni, source, skipped, buffer),
                None => &[],
            };
            self.rows.intern(RowKey {
                source,
                thread: serial,
                class,
                frames,
            })
        };
        // Nothing in here comes back to this place, so the buffer is free.
        let known = OWN.try_with(|own| own.frames.try_borrow_mut().ok().map(|mut it| row(&mut it)));
        let known = known.ok().flatten();
        known.unwrap_or_else(|| row(&mut Vec::new()))
    }

    fn stack<'a>(
        &self,
        jni: &Jni,
        source: Source,
        skipped: i32,
        buffer: &'a mut Vec<StackFrame>,
    ) -> &'a [StackFrame] {
        let frames = self.frames(source);
        if frames == 0 {
            return &[];
        }
        buffer.resize(frames, StackFrame::NONE);
        match self.jvmti.current_stack_below(skipped, buffer) {
            Ok(count) => {
                let frames = buffer.get_mut(..count).unwrap_or_default();
                let vm = Vm {
                    jvmti: &self.jvmti,
                    jni,
                };
                vm.without_obsolete(frames);
                frames
            }
            Err(_) => {
                self.lost.stacks.fetch_add(1, Ordering::Relaxed);
                &[]
            }
        }
    }

    /// How many frames are taken.
    fn frames(&self, source: Source) -> usize {
        self.depth
            + match source {
                Source::Monitor | Source::ObjectWait => 0,
                Source::Synchronizer | Source::Park => INNER_FRAMES,
            }
    }

    pub(super) fn is_virtual(&self, jni: &Jni, thread: Ref<'_>) -> bool {
        jni.is_virtual_thread(self.release, thread)
    }

    /// The current thread is about to wait. `None` if it waits already: it takes its
    /// monitor again in `Object.wait`, say, or runs code of its carrier.
    pub(super) fn free_slot(&self, jni: &Jni, thread: Ref<'_>) -> Option<FreeSlot> {
        let Some(slot) = self.current() else {
            return Some(FreeSlot { slot: None });
        };
        let state = slot.wait.lock().as_ref().map(|wait| wait.ran.is_some());
        match state {
            Some(false) => None,
            Some(true) => Some(self.interrupt(jni, thread, slot)),
            None => Some(FreeSlot { slot: Some(slot) }),
        }
    }

    /// Books what the current thread has waited for in vain, as its exception or its
    /// end shows.
    pub(super) fn interrupt(&self, jni: &Jni, thread: Ref<'_>, slot: &'static Slot) -> FreeSlot {
        if let Some(wait) = self.release(jni, slot)
            && let Some(end) = wait.ran
        {
            self.book(jni, thread, &wait, end, 0);
        }
        FreeSlot {
            slot: self.current(),
        }
    }
}
