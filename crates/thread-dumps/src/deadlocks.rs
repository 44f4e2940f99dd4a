//! Threads that wait for each other: as the JVM reports them, and as the locks of a dump show.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::frames::Frames;
use crate::model::{Dump, WaitKind, dotted};

/// A thread of a deadlock.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Step {
    /// Its name.
    pub thread: String,
    /// The class of the object that it waits for.
    pub lock: String,
    /// The name of the thread that holds that.
    pub owner: String,
    /// The address of that object, or its hash in JSON dumps; empty if the dump does not have it.
    pub lock_id: String,
    /// The frames of the thread, innermost first.
    pub frames: Vec<String>,
}

impl Step {
    /// A step that the dump's list of threads completes.
    pub(crate) fn new(thread: String, lock: String, owner: String) -> Self {
        Self {
            thread,
            lock,
            owner,
            lock_id: String::new(),
            frames: Vec::new(),
        }
    }
}

/// Threads that wait for each other in a circle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deadlock {
    /// The threads, in the order of the circle.
    pub steps: Vec<Step>,
    /// True if the JVM has found it; otherwise it was inferred from the locks in the dump.
    pub is_reported: bool,
}

impl Deadlock {
    /// Names of its threads in order, which tell it from others.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.steps.iter().map(|step| &*step.thread).collect();
        names.sort_unstable();
        names
    }

    /// Leaves threads out that wait for one of the circle, and for which none waits: HotSpot's report has those from which its
    /// search has come to the circle (`ThreadService::find_deadlocks_at_safepoint`).
    fn without_ways_to_it(mut self) -> Self {
        let mut owners: FxHashMap<&str, &str> = FxHashMap::default();
        for step in &self.steps {
            if owners.insert(&step.thread, &step.owner).is_some() {
                // Names do not tell which of them is meant.
                return self;
            }
        }
        let Some(mut at) = self.steps.first().map(|step| &*step.thread) else {
            return self;
        };
        // As many steps away from any thread of the chain, the circle is reached.
        for _ in 0..self.steps.len() {
            match owners.get(at) {
                Some(owner) => at = owner,
                None => return self,
            }
        }
        let mut circle = vec![at.to_owned()];
        while let Some(&owner) = owners.get(at).filter(|owner| **owner != circle[0]) {
            circle.push(owner.to_owned());
            at = owner;
        }
        self.steps.retain(|step| circle.contains(&step.thread));
        self
    }
}

/// The part of a dump on deadlocks, whose lines are coming:
///
/// ```text
/// Found one Java-level deadlock:
/// =============================
/// "monitor-1":
///   waiting to lock monitor 0x00007f (object 0x00007f, a java.lang.StringBuilder),
///   which is held by "monitor-2"
/// ```
#[derive(Debug, Default)]
pub(crate) struct Reported {
    found: Vec<Deadlock>,
    is_open: bool,
    steps: Vec<Step>,
    thread: Option<String>,
    lock: String,
}

impl Reported {
    /// Takes a line; false if it belongs to no such part.
    pub fn take(&mut self, line: &str) -> bool {
        let text = line.trim();
        if line.starts_with("Found ") && text.ends_with("Java-level deadlock:") {
            self.end();
            self.is_open = true;
            return true;
        }
        if !self.is_open {
            return false;
        }
        if text.starts_with("====") {
            return true;
        }
        if text.starts_with("Java stack information") || text.starts_with("Found ") {
            // The list of threads has their stacks.
            self.end();
            self.is_open = text.starts_with("Java stack");
            return true;
        }
        let quoted = |text: &str| Some(text.strip_prefix('"')?.rsplit_once('"')?.0.to_owned());
        if let Some(name) = text.strip_suffix(':').and_then(quoted) {
            self.thread = Some(name);
            self.lock.clear();
        } else if text.starts_with("waiting ") {
            let class = text.rsplit_once("(a ").or_else(|| text.rsplit_once(", a "));
            let class = class.map(|(_, class)| class.trim_end_matches([',', ')']));
            self.lock = dotted(class.unwrap_or_default());
        } else if let Some((_, owner)) = text.split_once("which is held by ")
            && let (Some(owner), Some(thread)) = (quoted(owner), self.thread.take())
        {
            let lock = std::mem::take(&mut self.lock);
            self.steps.push(Step::new(thread, lock, owner));
        }
        true
    }

    /// The part ends.
    pub fn end(&mut self) {
        self.is_open = false;
        let steps = std::mem::take(&mut self.steps);
        self.thread = None;
        if !steps.is_empty() {
            self.found.push(Deadlock {
                steps,
                is_reported: true,
            });
        }
    }

    /// The deadlocks.
    pub fn finish(mut self) -> Vec<Deadlock> {
        self.end();
        self.found
    }
}

/// All deadlocks of a dump: those that it reports, and circles of threads that wait for what others hold.
pub(crate) fn all(dump: &Dump, frames: &Frames) -> Vec<Deadlock> {
    let reported = dump.deadlocks.iter().cloned();
    let mut found: Vec<Deadlock> = reported.map(Deadlock::without_ways_to_it).collect();
    for circle in circles(dump) {
        if !found.iter().any(|known| known.names() == circle.names()) {
            found.push(circle);
        }
    }
    if found.is_empty() {
        return found;
    }
    let threads = dump.threads.iter().map(|thread| (&*thread.name, thread));
    let threads: FxHashMap<&str, &crate::Thread> = threads.collect();
    for step in found.iter_mut().flat_map(|deadlock| &mut deadlock.steps) {
        if let Some(thread) = threads.get(&*step.thread) {
            let wait = thread.wait.as_ref();
            step.lock_id = wait.map(|wait| wait.lock.id.clone()).unwrap_or_default();
            step.frames = frames.of(thread.stack).map(str::to_owned).collect();
        }
    }
    found
}

/// For each thread, which one holds what it waits for. Where the dump does not list the locks of
/// `java.util.concurrent` (without `-l`), its report on deadlocks may name who holds one.
pub(crate) fn owners(dump: &Dump) -> Vec<Option<usize>> {
    let mut names: FxHashMap<&str, usize> = FxHashMap::default();
    if !dump.deadlocks.is_empty() {
        let threads = dump.threads.iter().enumerate();
        names.extend(threads.map(|(index, thread)| (&*thread.name, index)));
    }
    let steps = dump.deadlocks.iter().flat_map(|deadlock| &deadlock.steps);
    let reported: FxHashMap<&str, &str> = steps.map(|step| (&*step.thread, &*step.owner)).collect();
    let mut holders: FxHashMap<&str, usize> = FxHashMap::default();
    let mut numbers: FxHashMap<u64, usize> = FxHashMap::default();
    for (index, thread) in dump.threads.iter().enumerate() {
        for lock in &thread.holds {
            holders.insert(&lock.id, index);
        }
        if let Some(id) = thread.id {
            numbers.insert(id, index);
        }
    }
    let owner = |(index, thread): (usize, &crate::Thread)| {
        let wait = thread.wait.as_ref()?;
        // Who waits to be notified waits for no owner.
        if wait.kind == WaitKind::Notify {
            return None;
        }
        let stated = wait.owner.and_then(|id| numbers.get(&id));
        let reported = || names.get(reported.get(&*thread.name)?);
        let owner = stated.or_else(|| holders.get(&*wait.lock.id));
        let owner = *owner.or_else(reported)?;
        (owner != index).then_some(owner)
    };
    dump.threads.iter().enumerate().map(owner).collect()
}

fn circles(dump: &Dump) -> Vec<Deadlock> {
    let owners = owners(dump);
    // 0: not seen; otherwise the number of the walk that has come here.
    let mut seen = vec![0usize; owners.len()];
    let mut found = Vec::new();
    for start in 0..owners.len() {
        let mut at = start;
        while seen[at] == 0 {
            seen[at] = start + 1;
            match owners[at] {
                Some(next) => at = next,
                None => break,
            }
        }
        if seen[at] != start + 1 || owners[at].is_none() {
            continue;
        }
        let mut steps = Vec::new();
        let first = at;
        while let Some(next) = owners[at] {
            let thread = &dump.threads[at];
            let lock = thread.wait.as_ref().map(|wait| wait.lock.class.clone());
            steps.push(Step::new(
                thread.name.clone(),
                lock.unwrap_or_default(),
                dump.threads[next].name.clone(),
            ));
            at = next;
            if at == first {
                break;
            }
        }
        found.push(Deadlock {
            steps,
            is_reported: false,
        });
    }
    found
}
