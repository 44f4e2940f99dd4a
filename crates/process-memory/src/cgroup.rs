//! The control group of a process: its memory, limits and events, of versions 1 and 2
//! (`Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/memory.rst` of Linux).
//!
//! The limit that counts is the least of a group and all those above it, as far as they can be seen.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::Bytes;

/// Version 1 has no word for "no limit": it shows the largest number of pages.
const NO_LIMIT: u64 = 1 << 62;

/// Which files a group has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// `memory.limit_in_bytes` and its like.
    V1,
    /// `memory.max` and its like.
    V2,
}

/// The memory of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The version of its files.
    pub version: Version,
    /// Its path in the hierarchy, as `/proc/PID/cgroup` has it.
    pub path: String,
    /// The least limit of it and of the groups above, from where on the kernel kills.
    pub limit: Option<Bytes>,
    /// The least `memory.high`, from where on the kernel slows the group down and takes pages back.
    pub high: Option<Bytes>,
    /// All that counts against the limit.
    pub current: Bytes,
    /// The most that ever did.
    pub peak: Option<Bytes>,
    /// Its parts.
    pub parts: Parts,
    /// How often something was near the limit.
    pub events: Events,
}

/// The parts of the memory that counts against the limit of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Parts {
    /// Memory of its processes that belongs to no file.
    pub anonymous: Bytes,
    /// The page cache with shared memory: what was read from and written to files.
    pub file: Bytes,
    /// Files in memory (tmpfs) and shared memory, which are in `file` too and cannot be dropped.
    pub shared: Bytes,
    /// Files that wait to be written.
    pub dirty: Bytes,
    /// Buffers of sockets.
    pub sockets: Bytes,
    /// Structures, stacks and page tables of the kernel.
    pub kernel: Bytes,
}

/// Counts since the group was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Events {
    /// How often `memory.high` was passed.
    pub high: u64,
    /// How often the limit was reached, so that pages had to be taken back.
    pub max: u64,
    /// Processes that the kernel killed.
    pub kills: u64,
}

impl Parts {
    /// Page cache that the kernel can take back when memory is short.
    pub fn cache(&self) -> Bytes {
        self.file - self.shared
    }
}

/// The group in these words of `/proc/PID/cgroup`, with the hierarchy mounted at `root`, such as `/sys/fs/cgroup`. `None`
/// if no group there has figures of memory, as for the root of version 2.
pub fn read(words: &str, root: &Path) -> Option<Group> {
    let mut unified = None;
    for line in words.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if controllers.split(',').any(|name| name == "memory") {
            return read_v1(path, &root.join("memory"));
        }
        if controllers.is_empty() {
            unified = Some(path);
        }
    }
    let path = unified?;
    read_v2(path, root).or_else(|| read_v2(path, &root.join("unified")))
}

/// The folder of a group and those above it, up to the mount point. In a container the path may be one of the host, of
/// which only the mount point can be seen.
fn folders(path: &str, mount: &Path, has: &str) -> Vec<PathBuf> {
    let names = Path::new(path).components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let inside: PathBuf = names.collect();
    // The part of the path below the group of the container is seen from inside of it.
    let mut rest = inside.as_path();
    loop {
        let folder = mount.join(rest);
        if folder.join(has).is_file() {
            let above = folder.ancestors().map(Path::to_owned);
            return above.take_while(|above| above.starts_with(mount)).collect();
        }
        let mut parts = rest.components();
        if parts.next().is_none() {
            return Vec::new();
        }
        rest = parts.as_path();
    }
}

fn read_v2(path: &str, mount: &Path) -> Option<Group> {
    let folders = folders(path, mount, "memory.current");
    let own = folders.first()?;
    let text = |name: &str| fs::read_to_string(own.join(name)).unwrap_or_default();
    let current = Bytes(text("memory.current").trim().parse().ok()?);
    let stat = text("memory.stat");
    let field = |name: &str| Bytes(parse_field(&stat, name).unwrap_or(0));
    let events = text("memory.events");
    let event = |name: &str| parse_field(&events, name).unwrap_or(0);
    let kernel = match parse_field(&stat, "kernel") {
        Some(all) => Bytes(all),
        // Linux before 5.18 has the parts only.
        None => ["kernel_stack", "pagetables", "percpu", "slab"]
            .into_iter()
            .map(field)
            .sum(),
    };
    Some(Group {
        version: Version::V2,
        path: path.to_owned(),
        limit: least(&folders, "memory.max"),
        high: least(&folders, "memory.high"),
        current,
        peak: text("memory.peak").trim().parse().ok().map(Bytes),
        parts: Parts {
            anonymous: field("anon"),
            file: field("file"),
            shared: field("shmem"),
            dirty: field("file_dirty"),
            sockets: field("sock"),
            kernel,
        },
        events: Events {
            high: event("high"),
            max: event("max"),
            kills: event("oom_kill"),
        },
    })
}

fn read_v1(path: &str, mount: &Path) -> Option<Group> {
    let folders = folders(path, mount, "memory.usage_in_bytes");
    let own = folders.first()?;
    let text = |name: &str| fs::read_to_string(own.join(name)).unwrap_or_default();
    let number = |name: &str| text(name).trim().parse::<u64>().ok().map(Bytes);
    let stat = text("memory.stat");
    // The sum has the groups below, too.
    let field = |name: &str| {
        let total = parse_field(&stat, &format!("total_{name}"));
        Bytes(total.or_else(|| parse_field(&stat, name)).unwrap_or(0))
    };
    let above = parse_field(&stat, "hierarchical_memory_limit").map(Bytes);
    let limit = least(&folders, "memory.limit_in_bytes");
    let limit = above.into_iter().chain(limit).min();
    let sockets = number("memory.kmem.tcp.usage_in_bytes").unwrap_or_default();
    Some(Group {
        version: Version::V1,
        path: path.to_owned(),
        limit: limit.filter(|limit| limit.0 < NO_LIMIT),
        high: number("memory.soft_limit_in_bytes").filter(|limit| limit.0 < NO_LIMIT),
        current: number("memory.usage_in_bytes")?,
        peak: number("memory.max_usage_in_bytes"),
        parts: Parts {
            anonymous: field("rss"),
            file: field("cache"),
            shared: field("shmem"),
            dirty: field("dirty"),
            sockets,
            kernel: number("memory.kmem.usage_in_bytes").unwrap_or_default() - sockets,
        },
        events: Events {
            high: 0,
            max: number("memory.failcnt").unwrap_or_default().0,
            kills: parse_field(&text("memory.oom_control"), "oom_kill").unwrap_or(0),
        },
    })
}

/// The least number in the files of this name; `max` is none.
fn least(folders: &[PathBuf], name: &str) -> Option<Bytes> {
    let texts = folders
        .iter()
        .filter_map(|folder| fs::read_to_string(folder.join(name)).ok());
    let numbers = texts.filter_map(|text| text.trim().parse::<u64>().ok());
    numbers.filter(|&number| number < NO_LIMIT).min().map(Bytes)
}

/// The number in a line such as `anon 4096`.
fn parse_field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    lines.find_map(|line| {
        line.strip_prefix(name)?
            .strip_prefix(' ')?
            .trim()
            .parse()
            .ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A hierarchy in a folder.
    fn hierarchy(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_least_limit_above_counts_in_version_2() {
        let root = hierarchy(&[
            ("kube/memory.max", "2147483648\n"),
            ("kube/pod/memory.max", "max\n"),
            ("kube/pod/memory.high", "1073741824\n"),
            ("kube/pod/memory.current", "500000000\n"),
            ("kube/pod/memory.peak", "600000000\n"),
            (
                "kube/pod/memory.stat",
                "anon 300\nfile 200\nkernel_stack 5\npagetables 6\nslab 7\nshmem 50\nsock 9\n",
            ),
            (
                "kube/pod/memory.events",
                "low 0\nhigh 3\nmax 4\noom 1\noom_kill 2\n",
            ),
        ]);
        let group = read("1:name=systemd:/x\n0::/kube/pod\n", root.path()).unwrap();
        assert_eq!(group.version, Version::V2);
        assert_eq!(group.limit, Some(Bytes(2 << 30)));
        assert_eq!(group.high, Some(Bytes(1 << 30)));
        assert_eq!(group.parts.kernel, Bytes(18));
        assert_eq!(group.parts.cache(), Bytes(150));
        assert_eq!(
            (group.events.high, group.events.max, group.events.kills),
            (3, 4, 2)
        );
        assert_eq!(
            (group.current, group.peak),
            (Bytes(500_000_000), Some(Bytes(600_000_000)))
        );
    }

    #[test]
    fn a_container_sees_its_group_at_the_mount_point() {
        let files = [
            ("memory.max", "1000"),
            ("memory.current", "10"),
            ("job/memory.current", "3"),
        ];
        let root = hierarchy(&files);
        let limit =
            |words: &str| read(words, root.path()).map(|group| (group.limit, group.current));
        assert_eq!(limit("0::/"), Some((Some(Bytes(1000)), Bytes(10))));
        assert_eq!(
            limit("0::/docker/0123"),
            Some((Some(Bytes(1000)), Bytes(10)))
        );
        assert_eq!(
            limit("0::/docker/0123/job"),
            Some((Some(Bytes(1000)), Bytes(3)))
        );
        assert_eq!(limit("0::/../../etc"), Some((Some(Bytes(1000)), Bytes(10))));
        assert_eq!(limit("nothing"), None);
    }

    #[test]
    fn version_1_has_other_files() {
        let root = hierarchy(&[
            ("memory/a/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/a/memory.usage_in_bytes", "700\n"),
            ("memory/a/memory.failcnt", "12\n"),
            (
                "memory/a/memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            ),
            ("memory/a/memory.kmem.usage_in_bytes", "90\n"),
            ("memory/a/memory.kmem.tcp.usage_in_bytes", "40\n"),
            (
                "memory/a/memory.stat",
                "cache 5\nrss 6\ntotal_cache 50\ntotal_rss 60\nhierarchical_memory_limit 4096\n",
            ),
        ]);
        let group = read("4:cpu,memory:/a\n0::/\n", root.path()).unwrap();
        assert_eq!(
            (group.version, group.limit),
            (Version::V1, Some(Bytes(4096)))
        );
        assert_eq!(
            (group.parts.anonymous, group.parts.file),
            (Bytes(60), Bytes(50))
        );
        assert_eq!(
            (group.parts.kernel, group.parts.sockets),
            (Bytes(50), Bytes(40))
        );
        assert_eq!((group.events.max, group.events.kills), (12, 1));
        let unlimited = root.path().join("memory/a/memory.stat");
        fs::write(unlimited, "hierarchical_memory_limit 9223372036854771712\n").unwrap();
        assert_eq!(read("4:memory:/a\n", root.path()).unwrap().limit, None);
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "(0:|:|memory|/|\\.\\.|a|\n)*", stat in "(anon|total_rss| |[0-9]{1,25}|\n)*") {
            let root = hierarchy(&[("memory.current", "1"), ("memory.stat", &stat)]);
            let _ = read(&text, root.path());
        }
    }
}
