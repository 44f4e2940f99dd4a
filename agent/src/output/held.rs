//! Threads whose records wait for a heap dump, which has the ids of their objects.

use std::collections::{BTreeMap, VecDeque};

use hprof_format::ids::ThreadSerial;

use crate::vm::ThreadInfo;

/// How many threads that have ended wait. Of those before, no heap dump shows whether their objects are left.
const MOST_ENDED: usize = 64;

/// A thread whose start is not in the profile yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldThread {
    /// Its names.
    pub info: ThreadInfo,
    /// Its end is not in the profile either.
    pub has_ended: bool,
}

/// All such threads: those that live, and a few that have ended.
#[derive(Default)]
pub struct HeldThreads {
    threads: BTreeMap<ThreadSerial, HeldThread>,
    /// Threads that have ended, in this order; a heap dump may have taken some.
    ended: VecDeque<ThreadSerial>,
}

/// The consequence of a thread's end for the profile.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The profile has its start.
    Shown,
    /// It waits with its start.
    Held,
    /// It waits, and this one has waited for long enough.
    Instead(ThreadSerial, HeldThread),
}

impl HeldThreads {
    /// A thread has started.
    pub(super) fn start(&mut self, serial: ThreadSerial, info: ThreadInfo) {
        let has_ended = false;
        self.threads.insert(serial, HeldThread { info, has_ended });
    }

    /// A thread has ended.
    pub(super) fn end(&mut self, serial: ThreadSerial) -> Ended {
        let Some(thread) = self.threads.get_mut(&serial) else {
            return Ended::Shown;
        };
        thread.has_ended = true;
        self.ended.push_back(serial);
        while self.ended.len() > MOST_ENDED {
            let oldest = self.ended.pop_front();
            if let Some((serial, thread)) = oldest.and_then(|it| self.threads.remove_entry(&it)) {
                return Ended::Instead(serial, thread);
            }
        }
        Ended::Held
    }

    /// The thread, which waits no more.
    pub fn take(&mut self, serial: ThreadSerial) -> Option<HeldThread> {
        self.threads.remove(&serial)
    }

    /// All threads in the order of their serials, which wait no more.
    pub(super) fn take_all(&mut self) -> BTreeMap<ThreadSerial, HeldThread> {
        self.ended.clear();
        std::mem::take(&mut self.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serial(number: u32) -> ThreadSerial {
        ThreadSerial::new(ThreadSerial::BASE + number)
    }

    #[test]
    fn few_threads_that_have_ended_wait_and_all_that_live_do() {
        let mut held = HeldThreads::default();
        (1..=1000).for_each(|number| held.start(serial(number), ThreadInfo::default()));
        assert_eq!(held.end(serial(2000)), Ended::Shown);
        let most = u32::try_from(MOST_ENDED).unwrap();
        (1..=most).for_each(|number| assert_eq!(held.end(serial(number)), Ended::Held));
        assert!(held.take(serial(1)).is_some_and(|thread| thread.has_ended));
        assert_eq!(held.take(serial(1)), None);
        assert_eq!(held.end(serial(500)), Ended::Held, "a dump took the oldest");
        assert!(matches!(held.end(serial(501)), Ended::Instead(it, _) if it == serial(2)));
        let rest = held.take_all();
        assert_eq!(rest.len(), 998);
        let ended = rest.values().filter(|thread| thread.has_ended).count();
        assert_eq!(ended, MOST_ENDED);
        assert!(held.take_all().is_empty());
    }
}
