//! Who has the locks that long calls wait for.
//!
//! Nothing of a wait says who has the lock, so the profile thread looks at threads in long calls from time to time: what they are
//! blocked at or parked for, which thread owns that, and where the owner is. What it sees waits here for the end of the call.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use hprof_native_headers as raw;
use hprof_stacks::slow::LockOwner;
use hprof_stacks::{Frame, Own};
use parking_lot::Mutex;

use super::SlowCalls;
use crate::names::{Location, Names, java_class_name};
use crate::os::timer::monotonic_nanos;
use crate::recording::Context;
use crate::vm::{Jni, LocalRef, Ref, Vm};

/// Time between looks, which see calls that have run as long.
const EACH: Duration = Duration::from_millis(50);
/// Looks take at most a hundredth of the time: the VM stops the program to find the owner of a monitor.
const MOST_SHARE: u32 = 100;
/// The last looks, the shortest of which says what a look takes: a busy machine takes the processor from single ones.
const LAST: usize = 4;
/// Threads that a look sees at most.
const MOST_THREADS: usize = 16;
/// Owners that wait for the ends of calls, at most.
const MOST_SEEN: usize = 4096;
/// Owners that a call lists at most.
const MOST_OWNERS: usize = 20;
/// The innermost frames of an owner, among which one of the program is searched.
const DEPTH: u32 = 64;

/// A thread waited for a lock at a moment of the monotonic clock.
#[derive(Debug)]
struct Seen {
    tid: u64,
    at: u64,
    owner: LockOwner,
}

/// Owners that looks have seen, for calls that have not ended.
#[derive(Debug, Default)]
pub(super) struct Owners {
    seen: Mutex<VecDeque<Seen>>,
}

impl Owners {
    fn add(&self, seen: Seen) {
        let mut all = self.seen.lock();
        if all.len() == MOST_SEEN {
            all.pop_front();
        }
        all.push_back(seen);
    }

    /// The owners of the locks that a thread waited for in a call, in the order of time; those that are seen again count up.
    pub(super) fn of_call(&self, tid: u64, began: u64, wall: u64) -> Vec<LockOwner> {
        let ended = began.saturating_add(wall);
        let all = self.seen.lock();
        let within = all
            .iter()
            .filter(|it| it.tid == tid && it.at >= began && it.at <= ended);
        let mut owners: Vec<LockOwner> = Vec::new();
        for seen in within {
            if let Some(last) = owners.last_mut()
                && (&last.lock, &last.thread, &last.place)
                    == (&seen.owner.lock, &seen.owner.thread, &seen.owner.place)
            {
                last.seen += 1;
                continue;
            }
            if owners.len() == MOST_OWNERS {
                break;
            }
            owners.push(LockOwner {
                at: seen.at - began,
                seen: 1,
                ..seen.owner.clone()
            });
        }
        owners
    }
}

/// When the profile thread looks.
#[derive(Debug)]
pub(super) struct Watch {
    looked: Instant,
    looks: usize,
    took: [Duration; LAST],
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            looked: Instant::now(),
            looks: 0,
            took: [Duration::ZERO; LAST],
        }
    }
}

impl Watch {
    /// Looks, if it is time.
    pub(super) fn look(&mut self, slow: &SlowCalls, cx: &mut Context<'_>) {
        if self.looked.elapsed() < self.pause() {
            return;
        }
        self.looked = Instant::now();
        if slow.see_owners(cx) {
            self.add(self.looked.elapsed());
        }
    }

    fn add(&mut self, took: Duration) {
        self.took[self.looks % LAST] = took;
        self.looks += 1;
    }

    /// The time from one look to the next.
    fn pause(&self) -> Duration {
        // After a first look that took long, the next one is late: that may be the machine, or a VM of very many threads.
        let looks = self.took.iter().take(self.looks);
        let took = looks.min().copied().unwrap_or_default();
        EACH.max(took * MOST_SHARE)
    }
}

impl SlowCalls {
    /// Sees who has the locks of long calls; false if there is no such call.
    fn see_owners(&self, cx: &mut Context<'_>) -> bool {
        let now = monotonic_nanos();
        let is_long = |began: u64| u128::from(now.saturating_sub(began)) >= EACH.as_nanos();
        let running = self.memory.running();
        let long: HashSet<u64> = running
            .iter()
            .filter(|call| is_long(call.began))
            .map(|call| call.tid)
            .collect();
        if long.is_empty() {
            return false;
        }
        let jni = &*cx.vm.jni.large_local_frame();
        // References are made in the innermost frame only.
        let vm = Vm {
            jvmti: cx.vm.jvmti,
            jni,
        };
        let threads = self.jvmti.all_threads(jni).unwrap_or_default();
        let threads = threads.iter().filter_map(|thread| {
            let tid = self.thread_id(jni, thread.get());
            long.contains(&tid).then_some((tid, thread))
        });
        for (tid, thread) in threads.take(MOST_THREADS) {
            let Some((lock, owner)) = self.wanted_lock(jni, thread.get()) else {
                continue;
            };
            let owner = LockOwner {
                lock: self.lock_class(jni, lock.get()),
                thread: self.jvmti.thread_name(jni, owner.get()).unwrap_or_default(),
                place: self.place_of(cx.names, vm, owner.get()),
                ..LockOwner::default()
            };
            let at = monotonic_nanos();
            self.owners.add(Seen { tid, at, owner });
        }
        true
    }

    /// The lock that a thread waits for, and the thread that has it, if both are known.
    fn wanted_lock<'a>(
        &self,
        jni: &'a Jni,
        thread: Ref<'_>,
    ) -> Option<(LocalRef<'a>, LocalRef<'a>)> {
        let state = self.jvmti.thread_state(thread).ok()?;
        if state.has(raw::JVMTI_THREAD_STATE_BLOCKED_ON_MONITOR_ENTER) {
            let lock = self.jvmti.contended_monitor(jni, thread).ok()??;
            let owner = self.jvmti.monitor_usage(jni, lock.get()).ok()?.owner?;
            return Some((lock, owner));
        }
        if !state.has(raw::JVMTI_THREAD_STATE_PARKED) {
            return None;
        }
        let fields = self.lock_fields.get()?.as_ref()?;
        // SAFETY: `LockFields::find` got the id for this field of `Thread`, whose type is an object.
        let lock = unsafe { jni.object_field(thread, fields.blocker) }?;
        if !jni.is_instance(lock.get(), fields.ownable.get()) {
            return None;
        }
        // SAFETY: `LockFields::find` got the id for this field of `AbstractOwnableSynchronizer`, of which the lock is an instance.
        let owner = unsafe { jni.object_field(lock.get(), fields.owner) }?;
        Some((lock, owner))
    }

    /// The class of a lock, as programs know it: that of `java.util.concurrent` has another one inside.
    fn lock_class(&self, jni: &Jni, lock: Ref<'_>) -> String {
        let class = jni.object_class(lock);
        let signature = self.jvmti.class_signature(class.get()).unwrap_or_default();
        let name = java_class_name(&signature);
        match name.split_once('$') {
            Some((outer, _)) if outer.starts_with("java.util.concurrent.") => outer.to_owned(),
            _ => name,
        }
    }

    /// The innermost frame of the program in a thread; empty if none is found.
    fn place_of(&self, names: &mut Names, vm: Vm<'_>, thread: Ref<'_>) -> String {
        let stacks = self
            .jvmti
            .thread_stacks(&[thread], DEPTH)
            .unwrap_or_default();
        let frames = stacks.first().map_or(&[][..], |stack| &stack.frames);
        let own = Own::Inferred;
        for frame in frames {
            let found = names.resolve(vm, std::iter::once(Location::from(frame)));
            let Some(&id) = found.first() else {
                continue;
            };
            let frame = names.methods.describe(id);
            let frame = Frame {
                class_name: frame.class_name.into(),
                method: frame.method.into(),
                source_file: None,
                line: frame.line,
            };
            if own.is_own(&frame) {
                return match frame.line {
                    hprof_format::model::Line::Number(line) => format!("{}:{line}", frame.name()),
                    _ => frame.name(),
                };
            }
        }
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_from_which_the_processor_was_taken_delays_none() {
        let mut watch = Watch::default();
        let [short, long] = [1, 40].map(Duration::from_millis);
        for took in [short, short, long, short, long, long, long] {
            watch.add(took);
            assert!(watch.pause() <= short * MOST_SHARE);
        }
        watch.add(long);
        assert_eq!(watch.pause(), long * MOST_SHARE);
    }

    #[test]
    fn owners_of_a_call_count_up_while_they_stay() {
        let owners = Owners::default();
        for (tid, at, thread) in [
            (7, 90, "before"),
            (7, 150, "one"),
            (8, 160, "of another thread"),
            (7, 200, "one"),
            (7, 250, "two"),
            (7, 301, "after"),
        ] {
            let owner = LockOwner {
                thread: thread.to_owned(),
                ..LockOwner::default()
            };
            owners.add(Seen { tid, at, owner });
        }
        let found: Vec<_> = owners
            .of_call(7, 100, 200)
            .into_iter()
            .map(|it| (it.at, it.seen, it.thread))
            .collect();
        let expected = [(50, 2, "one".to_owned()), (150, 1, "two".to_owned())];
        assert_eq!(found, expected);
    }
}
