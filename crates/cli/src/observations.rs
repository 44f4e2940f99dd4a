//! Observations about a dump in words.

use hprof_analysis::direct_buffers::{DirectBuffers, DirectMemory, Holder};
use hprof_analysis::leaks::ClassShare;
use hprof_analysis::locks::{Deadlock, HeldLock, Lock, LockKind, Locks, ThreadName};
use hprof_analysis::observations::{FinalizerBacklog, NotReached, Observation, WeakEntries};
use hprof_analysis::out_of_memory::OutOfMemory;
use serde::Serialize;

use crate::render::screen::{bytes, count, plural};

/// An observation in words.
#[derive(Debug, Clone, Serialize)]
pub struct Said {
    /// The observation, in one sentence.
    pub headline: String,
    /// The facts known about it, in sentences.
    pub sentences: Vec<String>,
    /// The facts themselves.
    #[serde(flatten)]
    pub observation: Observation,
}

/// Threads of a lock that are named.
const NAMES: usize = 5;
/// Holders of direct memory that are named.
const HOLDERS: usize = 5;

/// Puts observations into words.
pub fn said(observations: Vec<Observation>) -> Vec<Said> {
    let say = |observation: Observation| {
        let (headline, sentences) = words(&observation);
        Said {
            headline,
            sentences,
            observation,
        }
    };
    observations.into_iter().map(say).collect()
}

/// An observation in one sentence, and the facts about it.
fn words(observation: &Observation) -> (String, Vec<String>) {
    match observation {
        Observation::OutOfMemory(it) => (out_of_memory(it), Vec::new()),
        Observation::Deadlock(it) => deadlock(it),
        Observation::LockHeld(it) => held_lock(it),
        Observation::FinalizersWait(it) => finalizers(it),
        Observation::NotReached(it) => not_reached(it),
        Observation::WeakEntriesStay(it) => weak_entries(it),
        Observation::DirectMemory(it) => direct_memory(it),
    }
}

/// Lines about locks and about the thread for which the dump was written, for lists of threads.
pub fn about_threads(error: Option<&OutOfMemory>, locks: &Locks) -> Vec<String> {
    let mut lines: Vec<String> = error.map(out_of_memory).into_iter().collect();
    let deadlocks = locks.deadlocks.iter().map(deadlock);
    for (headline, sentences) in deadlocks.chain(locks.held.iter().map(held_lock)) {
        lines.push(headline);
        lines.extend(sentences.into_iter().map(|it| format!("    {it}")));
    }
    lines
}

fn thread(thread: &ThreadName) -> String {
    match &thread.name {
        Some(name) => format!("\"{name}\""),
        None => format!("thread {:#x}", thread.object),
    }
}

fn lock(lock: &Lock) -> String {
    let of = match lock.kind {
        LockKind::Monitor => "the monitor of ",
        LockKind::Synchronizer => "the ",
    };
    format!("{of}{} {:#x}", lock.class, lock.object)
}

/// The word for the relation between a lock and its owner.
fn holds(lock: &Lock) -> &'static str {
    match lock.kind {
        LockKind::Monitor => "holds, as the stacks show",
        LockKind::Synchronizer => "holds",
    }
}

fn out_of_memory(it: &OutOfMemory) -> String {
    let name = it.thread.as_deref().unwrap_or("<name unknown>");
    let at = it
        .at
        .as_ref()
        .map_or(String::new(), |at| format!(" at {at}"));
    let program = it.program.as_ref();
    let program = program.map_or(String::new(), |frame| format!(", called by {frame}"));
    format!("This dump was written when thread \"{name}\" threw OutOfMemoryError{at}{program}.")
}

fn deadlock(it: &Deadlock) -> (String, Vec<String>) {
    let threads = plural(it.waits.len() as u64, "thread waits", "threads wait");
    let headline = format!("Deadlock: {threads} for each other and will never go on.");
    let mut sentences: Vec<String> = (it.waits.iter())
        .map(|wait| {
            let at = wait.thread.at.as_ref();
            format!(
                "{} waits for {}, which {} {}{}.",
                thread(&wait.thread),
                lock(&wait.lock),
                thread(&wait.owner),
                holds(&wait.lock),
                at.map_or(String::new(), |at| format!("; it is at {at}"))
            )
        })
        .collect();
    if it.behind > 0 {
        let threads = plural(it.behind, "more thread waits", "more threads wait");
        sentences.push(format!("{threads} behind them."));
    }
    (headline, sentences)
}

fn held_lock(it: &HeldLock) -> (String, Vec<String>) {
    let threads = plural(it.waiters.len() as u64, "thread waits", "threads wait");
    let headline = format!(
        "{threads} for {}, which {} {}.",
        lock(&it.lock),
        thread(&it.owner),
        holds(&it.lock)
    );
    let mut sentences = Vec::new();
    sentences.extend(
        it.owner
            .at
            .as_ref()
            .map(|top| format!("The owner is at {top}.")),
    );
    let mut names: Vec<String> = it.waiters.iter().take(NAMES).map(thread).collect();
    let more = it.waiters.len().saturating_sub(NAMES) as u64;
    if more > 0 {
        names.push(format!("{} more", count(more)));
    }
    sentences.push(format!("Waiting: {}.", list(&names)));
    (headline, sentences)
}

fn finalizers(it: &FinalizerBacklog) -> (String, Vec<String>) {
    let objects = plural(it.waiting, "object waits", "objects wait");
    let headline = format!(
        "{objects} for the finalizer and keep {} from being freed.",
        bytes(it.held_bytes)
    );
    let mut sentences = Vec::new();
    let classes = shares(&it.classes);
    sentences.extend(classes.map(|classes| format!("They are of {classes}.")));
    if let Some(thread) = &it.thread {
        let name = thread.name.as_deref().unwrap_or("Finalizer");
        let state = thread
            .state
            .map_or(String::new(), |state| format!(" is {state}"));
        let top = thread.stack.first();
        let top = top.map_or(String::new(), |top| format!(" at {top}"));
        sentences.push(match &thread.in_method {
            Some(method) => format!(
                "The thread \"{name}\"{state}{top}, in {method}: all others wait until that method returns."
            ),
            None => format!("The thread \"{name}\"{state}{top}."),
        });
    }
    sentences.push(
        "Next: see `hprof-rs finalizers`, and replace finalize() by java.lang.ref.Cleaner or close().".to_owned(),
    );
    (headline, sentences)
}

fn not_reached(it: &NotReached) -> (String, Vec<String>) {
    let headline = format!(
        "{:.1}% of the heap is not reached from roots: {} in {}.",
        100.0 * it.share,
        bytes(it.bytes),
        plural(it.objects, "object", "objects"),
    );
    let mut sentences = Vec::new();
    let classes = shares(&it.classes);
    sentences.extend(classes.map(|classes| format!("Most of it is in {classes}.")));
    if it.finalizable_bytes > 0 {
        let held = bytes(it.finalizable_bytes);
        sentences.push(format!(
            "{held} of it is held by objects that wait for the finalizer."
        ));
    }
    if it.class_value_bytes > it.bytes / 100 {
        let class = it.class_value_class.as_ref();
        let class = class.map_or(String::new(), |it| format!(", most of class {it}"));
        sentences.push(format!(
            "{} of it is held by values of ClassValues{class}. Class objects keep these alive by a field that dumps \
             lack, so they are no garbage.",
            bytes(it.class_value_bytes)
        ));
    }
    if it.threads_without_frames > 0 {
        let threads = plural(
            it.threads_without_frames,
            "parked virtual thread",
            "parked virtual threads",
        );
        sentences.push(format!(
            "The dump lacks the frames of {threads} (JDK-8299426), so what only these frames hold counts as \
             not reached. A JDK with that fix writes them."
        ));
    }
    if it.filler_bytes > it.bytes / 10 {
        sentences.push(format!(
            "{} of it is in int[] that no object refers to. HotSpot covers dead regions with such arrays, so they may \
             be filler and no garbage of the program.",
            bytes(it.filler_bytes)
        ));
    }
    let explained = it.finalizable_bytes + it.class_value_bytes + it.filler_bytes;
    let rest = it.bytes.saturating_sub(explained);
    if rest > it.bytes / 10 {
        let rest = match explained {
            0 => "It".to_owned(),
            _ => format!("The other {}", bytes(rest)),
        };
        sentences.push(match (it.threads_without_frames, it.is_of_serviceability_agent) {
            (0, true) => format!(
                "{rest} is garbage: jhsdb writes all objects and collects nothing before. \
                 `jcmd PID GC.heap_dump FILE` collects first."
            ),
            (0, false) => format!(
                "{rest} is garbage that no collection had freed, as the dump was taken without one. \
                 `jcmd PID GC.heap_dump FILE` collects first."
            ),
            _ => "Garbage is part of it too if the dump was taken without a collection.".to_owned(),
        });
    }
    (headline, sentences)
}

fn weak_entries(it: &WeakEntries) -> (String, Vec<String>) {
    let entries = plural(it.entries, "entry", "entries");
    let map = match (&it.map, &it.map_id) {
        (Some(map), Some(id)) => format!("{map} {id}"),
        _ => it.class.clone(),
    };
    let headline = format!(
        "{entries} of {map} can never go, as their values refer to their weak keys: {} kept alive.",
        bytes(it.bytes)
    );
    let mut sentences = Vec::new();
    let held_by = it.held_by.as_ref();
    sentences.extend(held_by.map(|field| format!("The map is held by the field {field}.")));
    if let Some(value) = &it.value_class {
        let way = match it.way.as_slice() {
            [] => " is the key itself".to_owned(),
            way => format!(
                " leads to its key of class {} through {}",
                it.key_class,
                way.join(", ")
            ),
        };
        sentences.push(format!("A value of class {value}{way}."));
    }
    sentences.push("Next: hold the key weakly in the value as well.".to_owned());
    (headline, sentences)
}

fn direct_memory(it: &DirectMemory) -> (String, Vec<String>) {
    let buffers = |of: DirectBuffers, one: &str, many: &str| {
        format!("{} {}", plural(of.buffers, one, many), bytes(of.capacity))
    };
    let headline = match it.buffers.buffers {
        0 => format!(
            "{} of mapped files in memory.",
            buffers(it.mapped, "buffer holds", "buffers hold")
        ),
        _ => format!(
            "{} outside of the heap.",
            buffers(it.buffers, "direct buffer holds", "direct buffers hold")
        ),
    };
    let mut sentences = Vec::new();
    for holder in it.holders.iter().take(HOLDERS) {
        sentences.push(format!("{}.", holder_in_words(holder)));
    }
    if it.without_cleaner.buffers > 0 {
        sentences.push(format!(
            "{} without a Cleaner: only the code that made them can free them.",
            buffers(it.without_cleaner, "buffer has", "buffers have")
        ));
    }
    if it.mapped.buffers > 0 && it.buffers.buffers > 0 {
        let mapped = buffers(it.mapped, "buffer maps", "buffers map");
        sentences.push(format!("Besides, {mapped} of files into memory."));
    }
    (headline, sentences)
}

/// A holder with its largest part, and the largest part of that.
fn holder_in_words(holder: &Holder) -> String {
    let one = |holder: &Holder| {
        let buffers = plural(holder.buffers.buffers, "buffer", "buffers");
        format!(
            "{} holds {} in {buffers}",
            holder.name,
            bytes(holder.buffers.capacity)
        )
    };
    let mut text = one(holder);
    let mut at = holder;
    while let Some(part) = at.parts.first().filter(|part| part.name != at.name) {
        let most = if part.buffers == at.buffers {
            "by"
        } else {
            "most by"
        };
        text.push_str(&format!(", {most} {}", part.name));
        if part.buffers != at.buffers {
            text.push_str(&format!(" ({})", bytes(part.buffers.capacity)));
        }
        at = part;
    }
    text
}

/// Classes with their bytes.
fn shares(shares: &[ClassShare]) -> Option<String> {
    let words: Vec<String> = (shares.iter().take(3))
        .map(|share| format!("{} ({})", share.name, bytes(share.bytes)))
        .collect();
    (!words.is_empty()).then(|| list(&words))
}

fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
