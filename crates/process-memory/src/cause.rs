//! The likely cause of the memory's size, and the next step.

use serde::Serialize;

use crate::Bytes;
use crate::evidence::Evidence;
use crate::row::Kind;
use crate::table::Table;

/// A row counts as large from this part of the resident set on.
const LARGE: f64 = 0.25;
/// And from this size on: less does not kill a container.
const LEAST: Bytes = Bytes::mib(64);
/// The part of a limit that counts as full.
const FULL: f64 = 0.9;
/// Fewer threads with buffers of their own do not matter.
const MANY_CACHES: u64 = 8;
/// Names of files of allocators whose structures are not known here, and of the library of C that has one.
const ALLOCATORS: [&str; 5] = [
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libmi-malloc",
    "ld-musl",
];
/// Libraries that are named at most.
const MAX_LIBRARIES: usize = 3;
/// Each `Deflater` holds about this much (zlib: 2^(15+2) + 2^(8+9) bytes and its state).
const DEFLATER: Bytes = Bytes::kib(262);
/// Each `Inflater` holds about this much once it is used (a window of 32 KB and its state).
const INFLATER: Bytes = Bytes::kib(40);

/// A likely reason for the size of the resident set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// The heap may grow beyond what the limit leaves.
    HeapTooLarge {
        /// The limit of the cgroup.
        limit: Bytes,
        /// The most that the heap may take.
        most: Bytes,
        /// The rest of the process now.
        rest: Bytes,
    },
    /// The heap is full of objects.
    HeapFull {
        /// Objects.
        used: Bytes,
        /// The most that the heap may take.
        most: Bytes,
    },
    /// The heap takes most of the memory, and much of that has no objects.
    HeapKeepsEmpty {
        /// Resident pages of the heap.
        resident: Bytes,
        /// Objects.
        used: Bytes,
    },
    /// The heap takes most of the memory.
    Heap {
        /// Resident pages of the heap.
        resident: Bytes,
        /// Objects.
        used: Option<Bytes>,
        /// The most that the heap may take.
        most: Option<Bytes>,
    },
    /// Stacks of threads.
    Threads {
        /// The number of threads.
        threads: u64,
        /// Resident pages of their stacks.
        resident: Bytes,
        /// The largest group.
        group: String,
        /// The number of threads in it.
        of_group: u64,
    },
    /// Direct buffers, or memory of `Unsafe`, that is in use.
    DirectBuffers {
        /// Its size.
        resident: Bytes,
        /// The number of buffers, where objects were counted.
        buffers: Option<u64>,
    },
    /// Direct buffers that no object refers to: they wait for a collection of the heap.
    DirectBuffersWait {
        /// The number of unreachable buffers.
        unreachable: u64,
        /// And of all.
        all: u64,
    },
    /// Direct buffers that threads keep for themselves: each thread that writes or reads an array of the heap to a socket or a
    /// file has one of the size of the largest.
    ThreadBuffers {
        /// The threads that keep some.
        threads: u64,
        /// The number of all direct buffers.
        buffers: u64,
        /// Their size; with native memory tracking off that of all memory from `malloc`.
        resident: Bytes,
    },
    /// Files that are mapped.
    MappedFiles {
        /// Resident pages of files.
        resident: Bytes,
        /// The file with most of them.
        largest: String,
    },
    /// Metadata of classes.
    Metaspace {
        /// Resident pages of metaspace and class space.
        resident: Bytes,
        /// The class of loaders with most of it, where it is known.
        loader: Option<String>,
        /// How many of these loaders there are.
        loaders: u64,
    },
    /// The code cache is full.
    CodeCacheFull {
        /// Compiled code.
        used: Bytes,
        /// Its limit.
        size: Bytes,
    },
    /// `Deflater` and `Inflater` objects that hold memory until they are closed.
    Compressors {
        /// `Deflater` objects.
        deflaters: u64,
        /// `Inflater` objects.
        inflaters: u64,
        /// About how much they hold.
        about: Bytes,
    },
    /// `malloc` keeps memory that was freed.
    ArenasKeepFree {
        /// Free and resident.
        free: Bytes,
        /// The number of arenas.
        arenas: u64,
        /// True if `MALLOC_ARENA_MAX` is set already.
        is_limited: bool,
    },
    /// Memory that libraries have from `malloc`, and that the JVM knows nothing of.
    NativeMemory {
        /// Its size.
        resident: Bytes,
        /// Files of libraries that come neither from the JDK nor from the system, some of them.
        libraries: Vec<String>,
    },
    /// Memory from `malloc`; without native memory tracking buffers, JVM and libraries are one sum.
    Malloc {
        /// Its size.
        resident: Bytes,
    },
    /// Mappings that neither the JVM nor glibc accounts for.
    Unexplained {
        /// Their resident pages.
        resident: Bytes,
        /// The file of another allocator, if one is loaded.
        allocator: Option<String>,
        /// Files of libraries that come neither from the JDK nor from the system, some of them.
        libraries: Vec<String>,
    },
    /// Huge pages hold more than was asked for.
    HugePages {
        /// Huge pages of rows other than the heap.
        huge: Bytes,
    },
    /// Files in memory (tmpfs) or shared memory count against the limit.
    Tmpfs {
        /// Its size.
        shared: Bytes,
        /// The sum that counts against the limit.
        current: Bytes,
    },
    /// Other processes of the cgroup take the memory.
    OtherProcesses {
        /// Memory of the cgroup that is no file's.
        group: Bytes,
        /// The resident set of this process.
        resident: Bytes,
    },
    /// Most of the cgroup's memory is page cache.
    PageCache {
        /// Its size.
        cache: Bytes,
        /// The sum that counts against the limit.
        current: Bytes,
    },
    /// Nothing stands out.
    Healthy {
        /// The resident set.
        resident: Bytes,
        /// The limit, if there is one.
        limit: Option<Bytes>,
    },
}

impl Cause {
    /// All causes that hold, the likeliest first; [`Cause::Healthy`] or [`Cause::PageCache`] if there is no other.
    pub fn all(evidence: &Evidence, table: &Table) -> Vec<Self> {
        let mut found = Vec::new();
        found.extend(full_code_cache(evidence));
        found.extend(heap_limit(evidence, table));
        let mut rows: Vec<(Bytes, Self)> = Vec::new();
        rows.extend(heap(evidence, table));
        rows.extend(threads(table));
        rows.extend(buffers(evidence, table));
        rows.extend(compressors(evidence, table));
        rows.extend(files(table));
        rows.extend(metaspace(evidence, table));
        rows.extend(malloc(evidence, table));
        rows.extend(unexplained(evidence, table));
        rows.extend(huge(table));
        rows.extend(group(evidence, table));
        rows.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        found.extend(rows.into_iter().map(|(_, cause)| cause));
        if found.is_empty() {
            found.push(Self::none(evidence, table));
        }
        found
    }

    fn none(evidence: &Evidence, table: &Table) -> Self {
        if let Some(group) = &evidence.group {
            let (cache, current) = (group.parts.cache(), group.current);
            // Without a limit it matters to no one.
            if group.limit.is_some() && cache > LEAST && cache.share_of(current) >= 0.5 {
                return Self::PageCache { cache, current };
            }
        }
        Self::Healthy {
            resident: table.resident,
            limit: limit(evidence),
        }
    }
}

fn limit(evidence: &Evidence) -> Option<Bytes> {
    evidence.group.as_ref().and_then(|group| group.limit)
}

/// True if a size matters beside the resident set.
fn is_large(size: Bytes, table: &Table) -> bool {
    size >= LEAST && size.share_of(table.resident) >= LARGE
}

fn full_code_cache(evidence: &Evidence) -> Option<Cause> {
    let cache = evidence.code_cache.as_ref()?;
    let (used, size) = (cache.used(), cache.size());
    (cache.is_full || used.share_of(size) >= 0.95).then_some(Cause::CodeCacheFull { used, size })
}

fn heap_limit(evidence: &Evidence, table: &Table) -> Option<Cause> {
    let limit = limit(evidence)?;
    let most = evidence.flags.bytes("MaxHeapSize")?;
    let rest = table.outside_of_heap();
    (most + rest > limit).then_some(Cause::HeapTooLarge { limit, most, rest })
}

fn heap(evidence: &Evidence, table: &Table) -> Option<(Bytes, Cause)> {
    let resident = table.resident(Kind::JavaHeap);
    let used = evidence.heap.as_ref().map(|heap| heap.used);
    let most = evidence.flags.bytes("MaxHeapSize");
    if let (Some(used), Some(most)) = (used, most)
        && used.share_of(most) >= FULL
    {
        return Some((resident, Cause::HeapFull { used, most }));
    }
    if !is_large(resident, table) || resident.share_of(table.resident) < 0.5 {
        return None;
    }
    let cause = match used {
        Some(used) if used.share_of(resident) < 0.4 => Cause::HeapKeepsEmpty { resident, used },
        used => Cause::Heap {
            resident,
            used,
            most,
        },
    };
    Some((resident, cause))
}

fn threads(table: &Table) -> Option<(Bytes, Cause)> {
    let row = table.row(Kind::ThreadStacks)?;
    let is_many = row.count >= 500 && row.resident.share_of(table.resident) >= 0.1;
    let is_cause = is_large(row.resident, table) || is_many;
    let group = row.parts.iter().max_by_key(|part| part.count)?;
    is_cause.then(|| {
        let cause = Cause::Threads {
            threads: row.count,
            resident: row.resident,
            group: group.name.clone(),
            of_group: group.count,
        };
        (row.resident, cause)
    })
}

fn buffers(evidence: &Evidence, table: &Table) -> Option<(Bytes, Cause)> {
    let resident = match table.has_tracking {
        true => table.resident(Kind::DirectBuffers),
        false => table.resident(Kind::NativeMalloc),
    };
    if !is_large(resident, table) {
        return None;
    }
    if let (Some(all), Some(live)) = (evidence.objects, evidence.live_objects) {
        let objects = (all - live).buffer_objects;
        if objects > 0 && objects.saturating_mul(2) > all.buffer_objects {
            let unreachable = objects.min(all.direct_buffers);
            let cause = Cause::DirectBuffersWait {
                unreachable,
                all: all.direct_buffers,
            };
            return Some((resident, cause));
        }
    }
    if let Some(objects) = evidence.objects
        && objects.buffer_caches >= MANY_CACHES
        && objects.direct_buffers <= objects.buffer_caches.saturating_mul(2)
    {
        let cause = Cause::ThreadBuffers {
            threads: objects.buffer_caches,
            buffers: objects.direct_buffers,
            resident,
        };
        return Some((resident + Bytes(1), cause));
    }
    let buffers = evidence.objects.map(|objects| objects.direct_buffers);
    let cause = Cause::DirectBuffers { resident, buffers };
    table.has_tracking.then_some((resident, cause))
}

fn compressors(evidence: &Evidence, table: &Table) -> Option<(Bytes, Cause)> {
    let objects = evidence.objects?;
    let (deflaters, inflaters) = (objects.deflaters, objects.inflaters);
    let about = Bytes(
        (DEFLATER.0.saturating_mul(deflaters)).saturating_add(INFLATER.0.saturating_mul(inflaters)),
    );
    let there = table.resident(Kind::NativeMalloc);
    // Before they have done anything they hold less.
    let is_cause = about >= LEAST && about.share_of(there) >= 0.3;
    let cause = Cause::Compressors {
        deflaters,
        inflaters,
        about,
    };
    // It says more than the row that it is a part of.
    is_cause.then(|| (there + Bytes(1), cause))
}

fn files(table: &Table) -> Option<(Bytes, Cause)> {
    let row = table.row(Kind::MappedFiles)?;
    let largest = row.parts.first()?.name.clone();
    let resident = row.resident;
    is_large(resident, table).then_some((resident, Cause::MappedFiles { resident, largest }))
}

fn metaspace(evidence: &Evidence, table: &Table) -> Option<(Bytes, Cause)> {
    let resident = table.resident(Kind::Metaspace) + table.resident(Kind::ClassSpace);
    let most = evidence.loaders.iter().max_by_key(|row| row.loaders);
    let most = most.filter(|row| row.loaders > 1);
    let cause = Cause::Metaspace {
        resident,
        loader: most.map(|row| row.class.clone()),
        loaders: most.map_or(0, |row| row.loaders),
    };
    is_large(resident, table).then_some((resident, cause))
}

fn malloc(evidence: &Evidence, table: &Table) -> Vec<(Bytes, Cause)> {
    let mut found = Vec::new();
    let free = table.resident(Kind::MallocFree);
    if is_large(free, table) {
        let cause = Cause::ArenasKeepFree {
            free,
            arenas: table.arenas,
            is_limited: evidence.limits_arenas,
        };
        found.push((free, cause));
    }
    let resident = table.resident(Kind::NativeMalloc);
    if is_large(resident, table) {
        let cause = match table.has_tracking {
            true => Cause::NativeMemory {
                resident,
                libraries: libraries(evidence),
            },
            false => Cause::Malloc { resident },
        };
        found.push((resident, cause));
    }
    found
}

/// The names of libraries that come neither from the JDK nor from the system.
fn libraries(evidence: &Evidence) -> Vec<String> {
    let code = || {
        let mappings = evidence.mappings.iter();
        mappings.filter(|mapping| mapping.executes && mapping.inode != 0)
    };
    // `lib/server/libjvm.so`, or `lib/amd64/server/libjvm.so`.
    let jdk = code().find_map(|mapping| mapping.name.strip_suffix("server/libjvm.so"));
    // A program may have a library of C of its own, with others beside it.
    let libc = code().find_map(|mapping| mapping.name.strip_suffix("libc.so.6"));
    let is_known = |name: &str| {
        let known = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"];
        let mut known = known.into_iter().chain(jdk).chain(libc);
        known.any(|folder| folder.len() > 1 && name.starts_with(folder))
            || name.ends_with("/libhprof_rs.so")
    };
    let files = code().filter(|mapping| !is_known(&mapping.name));
    let names = files.filter_map(|mapping| mapping.name.rsplit('/').next());
    let mut names: Vec<String> = names
        .filter(|name| name.contains(".so"))
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_LIBRARIES);
    names
}

fn unexplained(evidence: &Evidence, table: &Table) -> Option<(Bytes, Cause)> {
    let resident = table.resident(Kind::Unexplained);
    // Where malloc could not be looked into, a note says so.
    if !table.sees_malloc || !is_large(resident, table) {
        return None;
    }
    let mut names = evidence
        .mappings
        .iter()
        .filter_map(|mapping| mapping.name.rsplit('/').next());
    let allocator = names.find(|name| ALLOCATORS.iter().any(|known| name.starts_with(known)));
    let cause = Cause::Unexplained {
        resident,
        allocator: allocator.map(str::to_owned),
        libraries: libraries(evidence),
    };
    // Huge pages say more about their part of it.
    let huge = table.row(Kind::Unexplained).map(|row| row.huge);
    Some((resident - huge.unwrap_or_default(), cause))
}

fn huge(table: &Table) -> Option<(Bytes, Cause)> {
    let rows = table.rows.iter().filter(|row| row.kind != Kind::JavaHeap);
    let huge: Bytes = rows.map(|row| row.huge).sum();
    is_large(huge, table).then_some((huge, Cause::HugePages { huge }))
}

fn group(evidence: &Evidence, table: &Table) -> Option<(Bytes, Cause)> {
    let group = evidence.group.as_ref()?;
    // A limit makes the rest of the group matter to this process.
    let limit = group.limit?;
    let (shared, current) = (group.parts.shared, group.current);
    let own = table.resident(Kind::SharedMemory) + table.resident(Kind::JavaHeap);
    if shared > LEAST && shared.share_of(limit) >= LARGE && shared > own {
        return Some((shared, Cause::Tmpfs { shared, current }));
    }
    let (anonymous, resident) = (group.parts.anonymous, table.resident);
    let is_other = anonymous.share_of(limit) >= 0.5 && resident.share_of(anonymous) < 0.5;
    is_other.then_some((
        anonymous,
        Cause::OtherProcesses {
            group: anonymous,
            resident,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::{Events, Group, Parts, Version};
    use crate::smaps::Mapping;

    /// A process with one mapping of this size, a quarter of it in huge pages.
    fn evidence(resident: u64) -> Evidence {
        Evidence {
            mappings: vec![Mapping {
                start: 1 << 30,
                end: 2 << 30,
                reads: true,
                writes: true,
                resident: Bytes::mib(resident),
                huge: Bytes::mib(resident / 4),
                ..Mapping::default()
            }],
            ..Evidence::default()
        }
    }

    fn first(evidence: &Evidence) -> Cause {
        let table = Table::of(evidence);
        Cause::all(evidence, &table).swap_remove(0)
    }

    #[test]
    fn huge_pages_count_where_they_are_large() {
        let cause = first(&evidence(400));
        let huge = Bytes::mib(100);
        assert_eq!(cause, Cause::HugePages { huge });
        assert!(cause.to_string().contains("104.9 MB"), "{cause}");
        assert!(matches!(first(&evidence(200)), Cause::Healthy { .. }));
    }

    #[test]
    fn libraries_of_others_are_named() {
        let mut evidence = evidence(10);
        for name in [
            "/opt/jdk/lib/server/libjvm.so",
            "/opt/jdk/lib/libnio.so",
            "/opt/glibc/libc.so.6",
            "/opt/glibc/libm.so.6",
            "/usr/lib/libgcc_s.so.1",
            "/opt/app/libleak.so",
            "/opt/jdk/bin/java",
        ] {
            evidence.mappings.push(Mapping {
                executes: true,
                inode: 1,
                name: name.to_owned(),
                ..Mapping::default()
            });
        }
        assert_eq!(libraries(&evidence), ["libleak.so"]);
    }

    #[test]
    fn page_cache_counts_where_there_is_a_limit() {
        let mut evidence = evidence(100);
        let mut group = Group {
            version: Version::V2,
            path: String::new(),
            limit: Some(Bytes::mib(2000)),
            high: None,
            current: Bytes::mib(1000),
            peak: None,
            parts: Parts {
                file: Bytes::mib(900),
                ..Parts::default()
            },
            events: Events::default(),
        };
        evidence.group = Some(group.clone());
        assert!(matches!(first(&evidence), Cause::PageCache { .. }));
        group.parts.shared = Bytes::mib(600);
        evidence.group = Some(group.clone());
        assert!(matches!(first(&evidence), Cause::Tmpfs { .. }));
        group.limit = None;
        evidence.group = Some(group);
        assert!(matches!(
            first(&evidence),
            Cause::Healthy { limit: None, .. }
        ));
    }
}
