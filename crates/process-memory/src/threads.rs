//! The threads of a process and their stacks: `/proc/PID/task`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::smaps::Mapping;

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its name, which the kernel cuts at 15 bytes. HotSpot gives native threads the names of Java's.
    pub name: String,
    /// Its stack pointer; `None` while it runs, and for those who may not trace the process.
    pub stack_pointer: Option<u64>,
}

/// Reads the threads in a folder such as `/proc/42/task`. Threads that end meanwhile are left out.
pub fn read(folder: &Path) -> Vec<Thread> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let threads = entries.filter_map(|entry| {
        let name = fs::read(entry.path().join("comm")).ok()?;
        let call = fs::read_to_string(entry.path().join("syscall")).unwrap_or_default();
        Some(Thread {
            name: String::from_utf8_lossy(&name).trim_end().to_owned(),
            stack_pointer: stack_pointer(&call),
        })
    });
    threads.collect()
}

/// The last number but one in `/proc/PID/task/TID/syscall`: a waiting thread shows its system call, with stack pointer and
/// place in the program last.
fn stack_pointer(call: &str) -> Option<u64> {
    let word = call.split_whitespace().rev().nth(1)?;
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

/// The name of the group of a thread: digits, which number the threads of a pool, read `*`.
pub fn group(name: &str) -> String {
    let mut group = String::new();
    for c in name.trim().chars() {
        match c.is_ascii_digit() {
            true if group.ends_with('*') => {}
            true => group.push('*'),
            false => group.push(c),
        }
    }
    if group.is_empty() {
        group.push('?');
    }
    group
}

/// For each mapping that is the stack of a thread, by its place, the group of that thread.
///
/// A stack is the mapping that a stack pointer leads into. A thread that runs shows none: mappings of no file with a guard
/// before them, and with a size that is the one of a found stack and its guard, are taken for the stacks of such threads.
pub fn stacks(mappings: &[Mapping], threads: &[Thread]) -> BTreeMap<usize, String> {
    let mut found = BTreeMap::new();
    let mut running = 0;
    for thread in threads {
        let at = thread.stack_pointer.and_then(|pointer| {
            let at = mappings.partition_point(|mapping| mapping.end <= pointer);
            let mapping = mappings.get(at)?;
            (mapping.holds(pointer) && is_stack(mapping)).then_some(at)
        });
        match at {
            Some(at) => {
                found.insert(at, group(&thread.name));
            }
            None => running += 1,
        }
    }
    let sizes: Vec<u64> = found.keys().map(|&at| guarded_size(mappings, at)).collect();
    let others = (0..mappings.len()).filter(|at| {
        let mapping = &mappings[*at];
        mapping.is_anonymous()
            && is_stack(mapping)
            && at
                .checked_sub(1)
                .is_some_and(|guard| is_guard(mappings, guard))
            && sizes.contains(&guarded_size(mappings, *at))
    });
    let others: Vec<usize> = others
        .filter(|at| !found.contains_key(at))
        .take(running)
        .collect();
    for at in others {
        found.insert(at, "(running)".to_owned());
    }
    found
}

fn is_stack(mapping: &Mapping) -> bool {
    mapping.writes && !mapping.is_shared && mapping.inode == 0 && mapping.name != "[heap]"
}

/// A short mapping without rights that ends where the next one begins.
fn is_guard(mappings: &[Mapping], at: usize) -> bool {
    let mapping = &mappings[at];
    let next = mappings.get(at + 1);
    mapping.is_reserved()
        && mapping.inode == 0
        && mapping.size().0 <= 256 << 10
        && next.is_some_and(|next| next.start == mapping.end)
}

/// The size of a mapping with the guards before it.
fn guarded_size(mappings: &[Mapping], at: usize) -> u64 {
    let mut first = at;
    while let Some(guard) = first
        .checked_sub(1)
        .filter(|&guard| is_guard(mappings, guard))
    {
        first = guard;
    }
    mappings[at].end - mappings[first].start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smaps;
    use proptest::prelude::*;

    const MAPS: &str = "\
1000-2000 ---p 00000000 00:00 0 \n2000-12000 rw-p 00000000 00:00 0 \nRss: 8 kB\n\
20000-21000 ---p 00000000 00:00 0 \n21000-31000 rw-p 00000000 00:00 0 \nRss: 4 kB\n\
40000-50000 rw-p 00000000 00:00 0 \n";

    fn thread(name: &str, stack_pointer: Option<u64>) -> Thread {
        Thread {
            name: name.to_owned(),
            stack_pointer,
        }
    }

    #[test]
    fn stacks_are_found_by_pointers_and_by_their_shape() {
        let mappings = smaps::parse(MAPS);
        let threads = [
            thread("pool-1-thread-7", Some(0x11ff0)),
            thread("main", None),
        ];
        let stacks = stacks(&mappings, &threads);
        assert_eq!(stacks[&1], "pool-*-thread-*");
        assert_eq!(stacks[&3], "(running)");
        assert_eq!(stacks.len(), 2);
    }

    #[test]
    fn a_waiting_thread_shows_its_stack_pointer() {
        let call = "202 0x7f 0x189 0x0 0x0 0x0 0xffffffff 0x7f0011aabbc0 0x7f0022334455\n";
        assert_eq!(stack_pointer(call), Some(0x7f00_11aa_bbc0));
        assert_eq!(stack_pointer("running\n"), None);
        assert_eq!(
            stack_pointer("-1 0x7ffd1000 0x7f001000\n"),
            Some(0x7ffd_1000)
        );
    }

    #[test]
    fn this_process_has_threads() {
        let threads = read(Path::new("/proc/self/task"));
        assert!(!threads.is_empty() && threads.iter().all(|thread| !thread.name.is_empty()));
    }

    #[test]
    fn groups_have_no_numbers() {
        assert_eq!(group("GC Thread#12"), "GC Thread#*");
        assert_eq!(group(""), "?");
    }

    proptest! {
        #[test]
        fn no_text_does_harm(call in "(running|0x|[0-9a-f]{1,20}| )*", name in "\\PC{0,20}") {
            let _ = stack_pointer(&call);
            prop_assert!(!group(&name).is_empty());
        }
    }
}
