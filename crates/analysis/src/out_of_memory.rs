//! The thread whose `OutOfMemoryError` had the VM write a dump.

use serde::Serialize;

use crate::contents::{Contents, Thread};
use crate::leaks::is_of_the_jdk;
use crate::snapshot::Snapshot;
use crate::stacks::FrameIndex;

/// The class whose constructor HotSpot puts on top of the thread's stack.
const ERROR: &str = "java.lang.OutOfMemoryError";

/// The thread for which a dump was written, and what it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutOfMemory {
    /// The serial of the thread.
    pub serial: u32,
    /// Its name.
    pub thread: Option<String>,
    /// The frame that asked for memory; none if the thread had no Java frames.
    pub at: Option<String>,
    /// The innermost frame of a class that is none of the JDK, unless that is `at`.
    pub program: Option<String>,
}

/// The thread whose error had the VM write a heap dump (`-XX:+HeapDumpOnOutOfMemoryError`); `None` for
/// dumps with another reason.
///
/// HotSpot adds a frame of the error's constructor without arguments to the stack of the thread
/// (`heapDumper.cpp`). A program that creates such an error itself has frames of `Throwable` on top.
pub fn out_of_memory(contents: &Contents) -> Option<OutOfMemory> {
    let is_dump = !contents.dumps.is_empty();
    find(contents, contents.threads.iter().filter(|_| is_dump))
}

impl Snapshot {
    /// As [`out_of_memory`], with the name that the thread's object has.
    pub fn out_of_memory(&self) -> Option<OutOfMemory> {
        let threads = self.named_threads();
        let mut found = find(self.contents(), threads.iter().map(|(thread, _)| thread))?;
        if found.thread.is_none() {
            let mut all = threads.iter();
            let (_, object) = all.find(|(thread, _)| thread.serial.get() == found.serial)?;
            found.thread = object.and_then(|object| self.thread_name(object));
        }
        Some(found)
    }
}

fn find<'a>(contents: &Contents, threads: impl Iterator<Item = &'a Thread>) -> Option<OutOfMemory> {
    let stacks = &contents.stacks;
    let of_thread = |thread: &Thread| {
        let frames = stacks.frames_of(thread.trace?);
        let top = stacks.frame(*frames.first()?);
        let is_it = &*top.class_name == ERROR && &*top.method == "<init>";
        let asked = frames.get(1..).filter(|_| is_it)?;
        let in_words = |index| {
            let frame = stacks.frame(index);
            format!("{}({})", frame.name(), frame.place())
        };
        let of_program = |index: &FrameIndex| !is_of_the_jdk(&stacks.frame(*index).class_name);
        let program = asked.iter().position(of_program);
        Some(OutOfMemory {
            serial: thread.serial.get(),
            thread: thread.name.clone(),
            at: asked.first().map(|&index| in_words(index)),
            program: program
                .filter(|&position| position > 0)
                .map(|position| in_words(asked[position])),
        })
    };
    // What the agent writes has traces of other moments.
    let mut threads = threads.filter(|_| contents.settings.is_none());
    threads.find_map(of_thread)
}
