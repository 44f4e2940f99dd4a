//! A process that is gone: what its `hs_err` file or a line of the kernel's log has left.

use serde::Serialize;

use crate::Bytes;
use crate::bytes::parse_size;
use crate::heap::Heap;
use crate::nmt::Account;

/// The known facts on the end of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Remains {
    /// Why the JVM ended, in its own words.
    pub reason: Option<String>,
    /// The kernel killed a process.
    pub kill: Option<Kill>,
    /// The heap at the end.
    pub heap: Option<Heap>,
    /// The most that the heap might take.
    pub max_heap: Option<Bytes>,
    /// The JVM's account, if it kept one.
    pub tracking: Option<Account>,
    /// The resident set at the end.
    pub resident: Option<Bytes>,
    /// The most that was ever resident.
    pub peak: Option<Bytes>,
    /// The limit of its container.
    pub limit: Option<Bytes>,
    /// The sum that counted against that limit.
    pub in_group: Option<Bytes>,
    /// The memory of the machine.
    pub machine: Option<Bytes>,
    /// And what of it was free.
    pub free: Option<Bytes>,
    /// The number of Java threads.
    pub threads: u64,
}

/// A line such as `Killed process 42 (java) total-vm:1kB, anon-rss:2kB, file-rss:3kB, shmem-rss:4kB`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Kill {
    /// The process.
    pub pid: u64,
    /// Its name.
    pub name: String,
    /// True if its cgroup was short of memory, and not the machine.
    pub by_group: bool,
    /// The size of its address space.
    pub address_space: Bytes,
    /// Resident pages of no file.
    pub anonymous: Bytes,
    /// Resident pages of files.
    pub of_files: Bytes,
    /// Resident shared memory.
    pub shared: Bytes,
    /// Page tables.
    pub page_tables: Bytes,
}

impl Kill {
    /// The resident set.
    pub fn resident(&self) -> Bytes {
        self.anonymous + self.of_files + self.shared
    }
}

/// Reads an `hs_err` file, lines of the kernel's log, or a text with both; `None` if neither is in it.
pub fn read(text: &str) -> Option<Remains> {
    let kill = text.lines().filter_map(killed).next_back();
    let is_report = text.lines().any(is_first_line);
    if kill.is_none() && !is_report {
        return None;
    }
    let mut remains = Remains {
        kill,
        ..Remains::default()
    };
    if is_report {
        remains.read_report(text);
    }
    Some(remains)
}

impl Remains {
    /// A sentence on the likely cause with the next step.
    pub fn conclusion(&self) -> String {
        let most = self
            .max_heap
            .or_else(|| self.heap.as_ref().map(|heap| heap.committed));
        if let Some(kill) = &self.kill {
            let resident = kill.resident();
            let whose = match kill.by_group {
                true => "its cgroup had reached its limit",
                false => "the machine had no memory left",
            };
            let shared = match kill.shared.share_of(resident) >= 0.25 {
                true => " Much of it is shared memory or tmpfs.",
                false => "",
            };
            return format!(
                "The kernel killed process {} ({}), as {whose}, with {resident} resident.{shared} Compare that with -Xmx: if the heap may \
                 be as large, lower it; if it is much smaller, look at a running process with `hprof-rs memory PID --watch 5s`.",
                kill.pid, kill.name
            );
        }
        let bound = self.limit.or(self.machine);
        if let (Some(most), Some(bound)) = (most, bound)
            && most.share_of(bound) > 0.9
        {
            return format!(
                "The heap may grow to {most} of {bound}: that leaves too little for the rest of the process. Lower -Xmx, or raise the limit."
            );
        }
        if self.threads >= 1000 {
            return format!(
                "{} Java threads were alive: bound the pools, or raise the limit for processes (ulimit -u, pids.max).",
                self.threads
            );
        }
        if let (Some(free), Some(machine)) = (self.free, self.machine)
            && free.share_of(machine) < 0.02
        {
            return format!(
                "The machine had {free} of {machine} free: other processes may have taken it."
            );
        }
        match &self.reason {
            Some(reason) => format!("The JVM ended by itself: {reason}"),
            None => "Nothing in it says why the process ended.".to_owned(),
        }
    }
}

/// The head of an `hs_err` file.
fn is_first_line(line: &str) -> bool {
    line.starts_with("# A fatal error has been detected by the Java Runtime Environment")
        || line.starts_with("# There is insufficient memory for the Java Runtime Environment")
}

impl Remains {
    fn read_report(&mut self, text: &str) {
        self.reason = reason(text);
        self.heap = section(text, "Heap:").and_then(Heap::parse);
        self.max_heap = number_of_flag(text, "MaxHeapSize");
        self.tracking = section_at(text, "Native Memory Tracking:").and_then(Account::parse);
        let status = |names: [&str; 2]| {
            let mut lines = text.lines();
            lines.find_map(|line| {
                let rest = names
                    .iter()
                    .find_map(|name| line.trim().strip_prefix(name))?;
                let end = rest.find(['(', ',']).unwrap_or(rest.len());
                parse_size(rest[..end].trim().trim_start_matches(':').trim())
            })
        };
        self.resident = status(["Resident Set Size:", "VmRSS:"]);
        self.peak = resident_peak(text).or_else(|| status(["VmHWM:", "VmHWM\t"]));
        self.limit = status(["memory_limit_in_bytes:", "memory_max:"]);
        self.in_group = status(["memory_usage_in_bytes:", "memory_current:"]);
        (self.machine, self.free) = machine(text);
        let threads = section(text, "Java Threads:");
        let is_thread = |line: &&str| line.contains("JavaThread \"");
        self.threads = threads.map_or(0, |text| text.lines().filter(is_thread).count() as u64);
    }
}

/// The lines that say what happened: those behind the first line that begin with `#`, as far as they have words.
fn reason(text: &str) -> Option<String> {
    let lines = text.lines().skip_while(|line| !is_first_line(line));
    let words = lines
        .take_while(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches('#').trim())
        .filter(|line| !line.is_empty());
    let first: Vec<&str> = words.take(2).collect();
    (!first.is_empty()).then(|| first.join(" "))
}

/// A section up to an empty line that is followed by another head.
fn section<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let rest = section_at(text, head)?;
    let end = rest.find("\n\n").unwrap_or(rest.len());
    Some(&rest[..end])
}

/// All behind the line that begins with these words.
fn section_at<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let start = text
        .match_indices(head)
        .map(|(at, _)| at)
        .find(|&at| at == 0 || text.as_bytes()[at - 1] == b'\n')?;
    let rest = &text[start..];
    let line = rest.find('\n')?;
    Some(&rest[line + 1..])
}

/// `Resident Set Size: 1K (peak: 2K) (anon: 3K, file: 4K, shmem: 5K)`.
fn resident_peak(text: &str) -> Option<Bytes> {
    let line = text
        .lines()
        .find(|line| line.starts_with("Resident Set Size:"))?;
    let (_, rest) = line.split_once("peak: ")?;
    parse_size(rest.split(')').next()?)
}

/// A flag on its line in the list of global flags, or on the command line of the JVM.
fn number_of_flag(text: &str, name: &str) -> Option<Bytes> {
    let line = text
        .lines()
        .find(|line| line.contains(name) && line.contains('='))?;
    let (_, rest) = line.split_once(name)?;
    parse_size(rest.trim_start_matches([' ', ':', '=']).split(' ').next()?)
}

/// `Memory: 4k page, physical 24689416k(14345344k free), swap 0k(0k free)`.
fn machine(text: &str) -> (Option<Bytes>, Option<Bytes>) {
    let find = || {
        let line = text.lines().find(|line| line.starts_with("Memory:"))?;
        let (_, rest) = line.split_once("physical ")?;
        let (all, rest) = rest.split_once('(')?;
        let free = rest.split(' ').next()?;
        Some((parse_size(all)?, parse_size(free)?))
    };
    find().unzip()
}

fn killed(line: &str) -> Option<Kill> {
    let (before, rest) = line.split_once("Killed process ")?;
    let number = |name: &str| {
        let (_, rest) = line.split_once(name)?;
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        parse_size(&rest[..end])
    };
    let pid = rest.split([' ', ',']).next()?.parse().ok()?;
    let name = rest
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'));
    Some(Kill {
        pid,
        name: name.map_or("", |(name, _)| name).to_owned(),
        by_group: before.contains("Memory cgroup"),
        address_space: number("total-vm:").unwrap_or_default(),
        anonymous: number("anon-rss:")?,
        of_files: number("file-rss:").unwrap_or_default(),
        shared: number("shmem-rss:").unwrap_or_default(),
        page_tables: number("pgtables:").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KILL: &str = "Mar 01 12:00:00 host kernel: Memory cgroup out of memory: Killed process 4242 (java) total-vm:8123456kB, \
anon-rss:2011111kB, file-rss:1234kB, shmem-rss:10kB, UID:1000 pgtables:5000kB oom_score_adj:0";

    #[test]
    fn a_line_of_the_kernel_is_read() {
        let kill = read(KILL).unwrap().kill.unwrap();
        assert_eq!(
            (kill.pid, kill.name.as_str(), kill.by_group),
            (4242, "java", true)
        );
        assert_eq!(kill.resident(), Bytes::kib(2_012_355));
        assert_eq!(kill.page_tables, Bytes::kib(5000));
        assert_eq!(read("nothing of the kind"), None);
    }

    #[test]
    fn a_report_of_the_jvm_is_read() {
        let text = "#\n# There is insufficient memory for the Java Runtime Environment to continue.\n# Native memory allocation (mmap) \
failed to map 65536 bytes. Error detail: committing reserved memory.\n# Possible reasons:\n\n\
Java Threads: ( => current thread )\n  0x1 JavaThread \"main\" [_thread_in_vm, id=1]\n  0x2 JavaThread \"a\" [_thread_blocked, id=2]\n\n\
Heap:\n garbage-first heap   total 258048K, used 1024K [0x0000000707e00000, 0x0000000800000000)\n  region size 2048K\n\n\
[Global flags]\n   size_t MaxHeapSize    = 4206886912   {product} {ergonomic}\n\n\
Memory: 4k page, physical 24689416k(14345344k free), swap 0k(0k free)\n\
Resident Set Size: 41512K (peak: 41600K) (anon: 20K, file: 20K, shmem: 0K)\n\
memory_limit_in_bytes: 2097152 k\nmemory_usage_in_bytes: 2097100 k\n";
        let remains = read(text).unwrap();
        assert!(
            remains
                .reason
                .unwrap()
                .contains("failed to map 65536 bytes")
        );
        assert_eq!(remains.heap.unwrap().committed, Bytes::kib(258_048));
        assert_eq!(remains.max_heap, Some(Bytes(4_206_886_912)));
        assert_eq!(
            (remains.resident, remains.peak),
            (Some(Bytes::kib(41_512)), Some(Bytes::kib(41_600)))
        );
        assert_eq!(remains.limit, Some(Bytes::kib(2_097_152)));
        assert_eq!(remains.free, Some(Bytes::kib(14_345_344)));
        assert_eq!(remains.threads, 2);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "(# A fatal error has been detected by the Java Runtime Environment|Killed process |\\(|\\)|anon-rss:|Heap:|Memory: physical |memory_max:|[0-9]{1,25}|kB|k|\n| )*") {
            let _ = read(&text);
        }
    }
}
