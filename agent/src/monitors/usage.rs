//! Which locks are in use at a moment, by whom, and what all threads do.
//!
//! The VM is asked thread by thread and lock by lock while the program continues, so
//! what is found need not all have been so at one time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Monitors;
use super::kinds::public_class;
use super::rows::Source;
use crate::vm::{GlobalRef, Jni, LocalRef, Ref, StackFrame, ThreadState};
use hprof_format::ids::ThreadSerial;
use hprof_native_headers as raw;

/// A thread and its stack.
pub struct UsedBy {
    pub serial: ThreadSerial,
    pub name: String,
    pub state: ThreadState,
    pub frames: Vec<StackFrame>,
}

/// A lock that a thread has or wants.
#[derive(Debug)]
pub struct LockUsage {
    /// Its class, as programs know it.
    pub class: String,
    /// Its identity hash.
    pub hash: i32,
    /// The owner, and how often it has entered.
    pub owner: Option<(ThreadSerial, u32)>,
    /// Threads that wait to own it.
    pub entering: Vec<ThreadSerial>,
    /// Threads that wait to be notified or signalled.
    pub waiting: Vec<ThreadSerial>,
    /// It is a monitor, not an object of `java.util.concurrent`.
    is_monitor: bool,
}

/// All threads and locks.
#[derive(Default)]
pub struct Usage {
    pub threads: Vec<UsedBy>,
    pub locks: Vec<LockUsage>,
    /// Locks that were not looked at because there are too many.
    pub left_out: usize,
    /// Waits whose objects were not looked at because there are too many.
    pub waits_left_out: usize,
    /// Threads that are blocked since before the agent came, at monitors that nothing tells it of.
    pub blocked_before: usize,
}

/// How many locks a dump looks at; the VM is stopped for each monitor.
const MAX_LOCKS: usize = 4096;
/// How many threads a dump shows. There may be a million virtual ones.
const MAX_THREADS: usize = 10_000;
/// Bits of a `ReentrantReadWriteLock`'s state that count its writer's entries.
const WRITE_ENTRIES: u32 = 0xffff;

/// The objects found, by identity.
#[derive(Default)]
struct Objects<'a> {
    by_hash: HashMap<i32, Vec<usize>>,
    found: Vec<(LocalRef<'a>, LockUsage)>,
    left_out: usize,
    waits_left_out: usize,
}

impl Monitors {
    /// Looks at all threads but `own`. `serial` gives a thread its number.
    pub fn usage(&self, jni: &Jni, own: &[Arc<GlobalRef>], depth: u32) -> Usage {
        let jni = &*jni.large_local_frame();
        let threads = self.threads(jni, own);
        let borrowed: Vec<Ref<'_>> = threads.iter().map(LocalRef::get).collect();
        let stacks = self.stacks(&borrowed, depth);
        let mut objects = Objects::default();
        let mut used_by = Vec::new();
        let mut blocked_before = 0;
        for (thread, (state, frames)) in threads.iter().zip(stacks) {
            let serial = match (self.host.serial)(jni, thread.get()) {
                // A thread that ends the VM has ended for the profile.
                0 if state.has(raw::JVMTI_THREAD_STATE_RUNNABLE) && frames.is_empty() => continue,
                0 => ThreadSerial::UNKNOWN,
                serial => ThreadSerial::new(serial),
            };
            let name = self.jvmti.thread_name(jni, thread.get());
            used_by.push(UsedBy {
                serial,
                name: name.unwrap_or_default(),
                state,
                frames,
            });
            if self.locks.java {
                let is_blocked = state.has(raw::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER);
                let is_unknown = is_blocked && self.keeps_objects;
                blocked_before += usize::from(is_unknown && self.was_blocked_before(thread.get()));
                self.note_monitors(jni, thread, serial, state, &mut objects);
            }
            if self.locks.juc {
                self.note_blocker(jni, thread, serial, &mut objects);
            }
        }
        if self.keeps_objects {
            self.note_kept(jni, &mut objects);
        }
        let (left_out, waits_left_out) = (objects.left_out, objects.waits_left_out);
        let mut locks = Vec::new();
        for (object, mut lock) in objects.found {
            if lock.is_monitor {
                self.ask_monitor(jni, &object, &mut lock);
            } else {
                self.read_owner(jni, &object, &mut lock);
            }
            locks.push(lock);
        }
        Usage {
            threads: used_by,
            locks,
            left_out,
            waits_left_out,
            blocked_before,
        }
    }

    /// The monitors that waits have kept. The VM tells their threads, but for virtual ones.
    fn note_kept<'a>(&self, jni: &'a Jni, objects: &mut Objects<'a>) {
        let mut kept = Vec::new();
        let mut left_out = 0;
        self.slots.each(|wait| {
            let Some(weak) = &wait.object else {
                return;
            };
            if kept.len() >= MAX_THREADS {
                left_out += 1;
                return;
            }
            if let Some(object) = jni.upgrade(weak) {
                let thread = wait.virtual_thread.as_ref();
                let thread = thread.and_then(|weak| jni.upgrade(weak));
                kept.push((object, thread, wait.source));
            }
        });
        objects.waits_left_out = left_out;
        let mut seen = HashSet::new();
        for (object, thread, source) in kept {
            let Some(lock) = objects.add(self, jni, object, true) else {
                continue;
            };
            let Some(thread) = thread else {
                continue;
            };
            let serial = ThreadSerial::new((self.host.serial)(jni, thread.get()));
            // A thread waits for one object at a time.
            if !seen.insert(serial) {
                continue;
            }
            match source {
                Source::ObjectWait => lock.waiting.push(serial),
                _ => lock.entering.push(serial),
            }
        }
    }

    /// All platform threads, and the virtual threads that wait for a lock.
    fn threads<'a>(&self, jni: &'a Jni, own: &[Arc<GlobalRef>]) -> Vec<LocalRef<'a>> {
        let mut threads = self.jvmti.all_threads(jni).unwrap_or_default();
        threads.retain(|thread| !own.iter().any(|own| jni.is_same(thread.get(), own.get())));
        for slot in self.slots.all() {
            let Some(weak) = slot.borrow_thread() else {
                continue;
            };
            if threads.len() < MAX_THREADS
                && let Some(thread) = jni.upgrade(&weak)
            {
                threads.push(thread);
            }
            if let Some(weak) = slot.return_thread(weak) {
                jni.delete_weak(weak);
            }
        }
        threads
    }

    fn stacks(&self, threads: &[Ref<'_>], depth: u32) -> Vec<(ThreadState, Vec<StackFrame>)> {
        if let Ok(stacks) = self.jvmti.thread_stacks(threads, depth) {
            return stacks
                .into_iter()
                .map(|stack| (stack.state, stack.frames))
                .collect();
        }
        threads
            .iter()
            .map(|&thread| {
                let state = self.jvmti.thread_state(thread).unwrap_or_default();
                (state, Vec::new())
            })
            .collect()
    }

    /// The monitors that a thread has, wants, or waits at.
    fn note_monitors<'a>(
        &self,
        jni: &'a Jni,
        thread: &LocalRef<'a>,
        serial: ThreadSerial,
        state: ThreadState,
        objects: &mut Objects<'a>,
    ) {
        let enters = state.has(raw::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER);
        let waits = state.has(raw::JVMTI_THREAD_STATE_IN_OBJECT_WAIT);
        if enters || waits {
            let wanted = self.jvmti.contended_monitor(jni, thread.get());
            if let Ok(Some(object)) = wanted
                && let Some(lock) = objects.add(self, jni, object, true)
            {
                let list = if waits {
                    &mut lock.waiting
                } else {
                    &mut lock.entering
                };
                list.push(serial);
            }
        }
        if !self.owned_monitors {
            return;
        }
        for object in self
            .jvmti
            .owned_monitors(jni, thread.get())
            .unwrap_or_default()
        {
            if let Some(lock) = objects.add(self, jni, object, true) {
                lock.owner.get_or_insert((serial, 1));
            }
        }
    }

    /// The object for which a thread is parked.
    fn note_blocker<'a>(
        &self,
        jni: &'a Jni,
        thread: &LocalRef<'a>,
        serial: ThreadSerial,
        objects: &mut Objects<'a>,
    ) {
        let Some(fields) = self.fields.get() else {
            return;
        };
        // SAFETY: a field of `Thread` that holds a reference.
        let Some(blocker) = (unsafe { jni.object_field(thread.get(), fields.locks.blocker) })
        else {
            return;
        };
        // The waiters of a condition belong to its lock, as those of a monitor do.
        let outer = fields
            .outer
            .filter(|_| jni.is_instance(blocker.get(), fields.condition.get()))
            // SAFETY: a field of `ConditionObject` that holds a reference.
            .and_then(|outer| unsafe { jni.object_field(blocker.get(), outer) });
        let class = self.classes.of(&self.jvmti, jni, blocker.get());
        let is_lock = jni.is_instance(blocker.get(), fields.locks.ownable.get())
            || class.name == "java.util.concurrent.locks.StampedLock";
        let waits =
            outer.is_some() || !is_lock || class.acquisition(&self.jvmti, jni).is_event(None);
        let Some(lock) = objects.add(self, jni, outer.unwrap_or(blocker), false) else {
            return;
        };
        let list = if waits {
            &mut lock.waiting
        } else {
            &mut lock.entering
        };
        list.push(serial);
    }

    /// Completes what the threads have told of a monitor by what the VM says.
    fn ask_monitor(&self, jni: &Jni, object: &LocalRef<'_>, lock: &mut LockUsage) {
        let Ok(usage) = self.jvmti.monitor_usage(jni, object.get()) else {
            return;
        };
        let serial =
            |thread: &LocalRef<'_>| ThreadSerial::new((self.host.serial)(jni, thread.get()));
        if let Some(owner) = &usage.owner {
            lock.owner = Some((serial(owner), usage.entries));
        }
        let union = |known: &mut Vec<ThreadSerial>, told: &[LocalRef<'_>], but: &[ThreadSerial]| {
            let mut seen: HashSet<ThreadSerial> = known.iter().chain(but).copied().collect();
            known.extend(
                told.iter()
                    .map(serial)
                    .filter(|&thread| seen.insert(thread)),
            );
        };
        union(&mut lock.waiting, &usage.waiting, &[]);
        let owner: Vec<_> = lock.owner.iter().map(|owner| owner.0).collect();
        let waiting = [lock.waiting.as_slice(), &owner].concat();
        union(&mut lock.entering, &usage.entering, &waiting);
    }

    /// The owner of a lock of `java.util.concurrent`, if it has one.
    fn read_owner(&self, jni: &Jni, object: &LocalRef<'_>, lock: &mut LockUsage) {
        let Some(fields) = self.fields.get() else {
            return;
        };
        let object = object.get();
        if !jni.is_instance(object, fields.locks.ownable.get()) {
            return;
        }
        // SAFETY: a field of `AbstractOwnableSynchronizer` that holds a reference.
        let Some(owner) = (unsafe { jni.object_field(object, fields.locks.owner) }) else {
            return;
        };
        let mut entries = 1;
        if jni.is_instance(object, fields.synchronizer.get()) {
            // SAFETY: a field of `AbstractQueuedSynchronizer` of type int.
            let state = unsafe { jni.int_field(object, fields.state) };
            entries = u32::try_from(state).unwrap_or(1);
            let is_read_write = fields
                .read_write
                .as_ref()
                .is_some_and(|class| jni.is_instance(object, class.get()));
            if is_read_write {
                entries &= WRITE_ENTRIES;
            }
        }
        let serial = (self.host.serial)(jni, owner.get());
        lock.owner = Some((ThreadSerial::new(serial), entries.max(1)));
    }
}

impl<'a> Objects<'a> {
    /// The entry of an object, new or known; `None` when there are too many.
    fn add(
        &mut self,
        monitors: &Monitors,
        jni: &Jni,
        object: LocalRef<'a>,
        is_monitor: bool,
    ) -> Option<&mut LockUsage> {
        let hash = monitors.jvmti.object_hash(object.get()).ok()?;
        let same_hash = self.by_hash.entry(hash).or_default();
        let known = same_hash.iter().copied().find(|&place| {
            self.found.get(place).is_some_and(|(other, lock)| {
                lock.is_monitor == is_monitor && jni.is_same(object.get(), other.get())
            })
        });
        if let Some(place) = known {
            return self.found.get_mut(place).map(|(_, lock)| lock);
        }
        if self.found.len() >= MAX_LOCKS {
            self.left_out += 1;
            return None;
        }
        same_hash.push(self.found.len());
        let class = monitors.classes.of(&monitors.jvmti, jni, object.get());
        let class = if is_monitor {
            &class.name
        } else {
            public_class(&class.name)
        };
        let lock = LockUsage {
            class: class.to_owned(),
            hash,
            owner: None,
            entering: Vec::new(),
            waiting: Vec::new(),
            is_monitor,
        };
        self.found.push((object, lock));
        self.found.last_mut().map(|(_, lock)| lock)
    }
}
