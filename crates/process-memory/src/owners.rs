//! Which mapping belongs to what.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::Bytes;
use crate::evidence::Evidence;
use crate::row::Kind;
use crate::smaps::Mapping;
use crate::threads;

/// A mapping's owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its purpose.
    pub kind: Kind,
    /// The part of the row: a file, a group of threads. Empty where the row has no parts.
    pub part: String,
}

/// The owner of each mapping, in their order. Mappings of no file with an unknown purpose are [`Kind::Unexplained`], those
/// of `malloc` among them.
pub fn of_all(evidence: &Evidence) -> Vec<Owner> {
    let mappings = &evidence.mappings;
    let stacks = threads::stacks(mappings, &evidence.threads);
    let programs: BTreeSet<&str> = mappings
        .iter()
        .filter(|mapping| mapping.executes && mapping.inode != 0)
        .map(|mapping| mapping.name.as_str())
        .collect();
    let mut owners: Vec<Owner> = Vec::with_capacity(mappings.len());
    for (at, mapping) in mappings.iter().enumerate() {
        let owner = if is_heap(evidence, mapping) {
            plain(Kind::JavaHeap)
        } else if let Some(group) = stacks.get(&at) {
            part(Kind::ThreadStacks, group)
        } else if mapping.inode != 0 || mapping.is_shared {
            of_file(mapping, &programs)
        } else if mapping.name == "[stack]" {
            part(Kind::ThreadStacks, "(first thread of the process)")
        } else if mapping.name.starts_with("[v") || mapping.name == "[uprobes]" {
            plain(Kind::Kernel)
        } else if mapping.executes {
            plain(Kind::CodeCache)
        } else if let Some(kind) = space_at(evidence, mapping.start) {
            plain(kind)
        } else {
            // Data of a library without initial values lies behind its file.
            let before = at
                .checked_sub(1)
                .map(|before| (&mappings[before], &owners[before]));
            match before {
                Some((file, owner))
                    if file.end == mapping.start
                        && file.writes
                        && file.inode != 0
                        && matches!(owner.kind, Kind::Libraries | Kind::Agent)
                        && mapping.size() <= MAX_DATA =>
                {
                    owner.clone()
                }
                _ => plain(Kind::Unexplained),
            }
        };
        owners.push(owner);
    }
    spaces(evidence, &mut owners);
    owners
}

/// Larger data without initial values is not taken for that of a library.
const MAX_DATA: Bytes = Bytes::mib(4);
/// The metaspace grows by regions of this size since JDK 16 (`metaspaceSettings.hpp`).
const METASPACE_REGION: u64 = 64 << 20;

fn plain(kind: Kind) -> Owner {
    part(kind, "")
}

fn part(kind: Kind, part: &str) -> Owner {
    Owner {
        kind,
        part: part.to_owned(),
    }
}

fn is_heap(evidence: &Evidence, mapping: &Mapping) -> bool {
    // ZGC keeps its heap in a file of memory.
    mapping.name.starts_with("/memfd:java_heap")
        || evidence
            .heap
            .as_ref()
            .is_some_and(|heap| heap.holds(mapping.start))
}

/// The space of metadata at an address, where the JVM prints addresses.
fn space_at(evidence: &Evidence, address: u64) -> Option<Kind> {
    let heap = evidence.heap.as_ref()?;
    let spaces = [
        (&heap.metaspace_ranges, Kind::Metaspace),
        (&heap.class_ranges, Kind::ClassSpace),
    ];
    let holds = |ranges: &[Range<u64>]| ranges.iter().any(|range| range.contains(&address));
    let mut found = spaces.into_iter().filter(|(ranges, _)| holds(ranges));
    found.next().map(|(_, kind)| kind)
}

fn of_file(mapping: &Mapping, programs: &BTreeSet<&str>) -> Owner {
    let path = mapping.name.trim_end_matches(" (deleted)");
    let file = path.rsplit('/').next().unwrap_or(path);
    let kind = if file == "libhprof_rs.so" {
        Kind::Agent
    } else if programs.contains(mapping.name.as_str())
        || file.ends_with(".so")
        || file.contains(".so.")
    {
        Kind::Libraries
    } else if file.ends_with(".jsa") {
        Kind::ClassArchive
    } else if path.is_empty()
        || path.starts_with("/memfd:")
        || path.starts_with("/SYSV")
        || path.starts_with("/dev/")
        || path.starts_with("[anon_shmem")
    {
        Kind::SharedMemory
    } else {
        Kind::MappedFiles
    };
    part(kind, &mapping.name)
}

/// Finds the class space and the metaspace by the sizes of the regions that are reserved for them, and tables of the
/// collector, whose sizes follow from the heap's.
fn spaces(evidence: &Evidence, owners: &mut [Owner]) {
    let Some(heap) = &evidence.heap else {
        return;
    };
    // Addresses are better.
    let is_placed = !heap.metaspace_ranges.is_empty();
    let class = heap.class_space.map_or(0, |space| space.reserved.0);
    let metaspace = heap
        .metaspace
        .map_or(0, |space| space.reserved.0.saturating_sub(class));
    let most = evidence.flags.bytes("MaxHeapSize").unwrap_or_default().0;
    let runs = runs(&evidence.mappings, owners);
    let mut left = if is_placed { 0 } else { metaspace };
    for (range, size) in runs {
        let is_class = !is_placed && class > 0 && size == class;
        let is_metaspace =
            !is_class && size > 0 && (size == left || (size == METASPACE_REGION && left >= size));
        let kind = if is_class {
            Kind::ClassSpace
        } else if is_metaspace {
            left -= size;
            Kind::Metaspace
        } else if is_table(size, most) {
            Kind::JvmMapped
        } else {
            continue;
        };
        for owner in &mut owners[range] {
            owner.kind = kind;
        }
    }
}

/// True for sizes of tables that the collectors keep: a bit for each word, a byte for each card of 512 bytes.
fn is_table(size: u64, heap: u64) -> bool {
    const BYTES_FOR_EACH: [u64; 3] = [32, 64, 512];
    let is_near = |table: u64| size.abs_diff(table) <= 2 << 12;
    heap >= 64 << 20 && BYTES_FOR_EACH.into_iter().any(|each| is_near(heap / each))
}

/// Mappings of unknown purpose that follow each other without a gap, with their size.
fn runs(mappings: &[Mapping], owners: &[Owner]) -> Vec<(Range<usize>, u64)> {
    let mut runs: Vec<(Range<usize>, u64)> = Vec::new();
    for (at, mapping) in mappings.iter().enumerate() {
        if owners[at].kind != Kind::Unexplained || !mapping.is_anonymous() {
            continue;
        }
        match runs.last_mut() {
            Some((range, size)) if range.end == at && mappings[at - 1].end == mapping.start => {
                range.end += 1;
                *size += mapping.size().0;
            }
            _ => runs.push((at..at + 1, mapping.size().0)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::{Heap, Space};
    use crate::smaps;

    fn kinds(evidence: &Evidence) -> Vec<Kind> {
        of_all(evidence).iter().map(|owner| owner.kind).collect()
    }

    #[test]
    fn mappings_have_owners() {
        let maps = "\
1000-2000 r-xp 0 08:01 1 /jdk/bin/java\n2000-3000 rw-p 0 08:01 1 /jdk/bin/java\n3000-4000 rw-p 0 00:00 0 \n\
10000-20000 rw-p 0 00:00 0 \n20000-30000 rwxp 0 00:00 0 \n30000-31000 r--p 0 08:01 2 /data/index\n\
40000-41000 rw-p 0 08:01 3 /jdk/lib/server/classes.jsa\n50000-51000 r-xp 0 08:01 4 /tmp/libhprof_rs.so\n\
60000-61000 rw-s 0 00:05 5 /dev/shm/x\n70000-71000 rw-p 0 00:00 0 [stack]\n80000-81000 r-xp 0 00:00 0 [vdso]\n\
90000-91000 rw-s 0 00:01 6 /memfd:java_heap (deleted)\n";
        let evidence = Evidence {
            mappings: smaps::parse(maps),
            heap: Some(Heap {
                ranges: vec![0x10000..0x18000],
                ..Heap::default()
            }),
            ..Evidence::default()
        };
        assert_eq!(
            kinds(&evidence),
            [
                Kind::Libraries,
                Kind::Libraries,
                Kind::Libraries,
                Kind::JavaHeap,
                Kind::CodeCache,
                Kind::MappedFiles,
                Kind::ClassArchive,
                Kind::Agent,
                Kind::SharedMemory,
                Kind::ThreadStacks,
                Kind::Kernel,
                Kind::JavaHeap
            ]
        );
    }

    #[test]
    fn spaces_are_found_by_their_reserved_sizes() {
        let maps = "\
10000000-10010000 rw-p 0 00:00 0 \n10010000-14000000 ---p 0 00:00 0 \n\
20000000-20010000 rw-p 0 00:00 0 \n20010000-60000000 ---p 0 00:00 0 \n\
70000000-70010000 rw-p 0 00:00 0 \n";
        let space = |reserved| {
            Some(Space {
                reserved: Bytes(reserved),
                ..Space::default()
            })
        };
        let evidence = Evidence {
            mappings: smaps::parse(maps),
            heap: Some(Heap {
                metaspace: space((1 << 30) + (64 << 20)),
                class_space: space(1 << 30),
                ..Heap::default()
            }),
            ..Evidence::default()
        };
        let kinds = kinds(&evidence);
        assert_eq!(kinds[..2], [Kind::Metaspace; 2]);
        assert_eq!(kinds[2..4], [Kind::ClassSpace; 2]);
        assert_eq!(kinds[4], Kind::Unexplained);
    }
}
