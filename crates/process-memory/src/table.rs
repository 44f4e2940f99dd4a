//! The table: each resident page in one row.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Bytes;
use crate::evidence::Evidence;
use crate::malloc::Kind as AreaKind;
use crate::owners;
use crate::row::{Basis, Kind, Part, Row};

/// How many parts a row has at most.
const MAX_PARTS: usize = 10;

/// The resident set, accounted for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// The sum of all rows: the resident pages of all mappings.
    pub resident: Bytes,
    /// The rows that are not empty, and always the unexplained one, which is the last.
    pub rows: Vec<Row>,
    /// Arenas of `malloc`, the first one among them.
    pub arenas: u64,
    /// Bytes of free chunks in the arenas, resident or not.
    pub free_in_arenas: Bytes,
    /// True if the JVM keeps an account of its memory.
    pub has_tracking: bool,
    /// True if `malloc` could be looked into.
    pub sees_malloc: bool,
    /// The heap is mapped several times, and the kernel counts each (ZGC before JDK 21).
    pub heap_views: u64,
}

impl Table {
    /// Makes the table.
    pub fn of(evidence: &Evidence) -> Self {
        let mut rows = Rows::default();
        rows.add_mappings(evidence);
        let malloc = rows.split_malloc(evidence);
        rows.explain_by_reports(evidence);
        rows.add_reported(evidence);
        let resident = evidence
            .mappings
            .iter()
            .map(|mapping| mapping.resident)
            .sum();
        Self {
            resident,
            rows: rows.finish(),
            arenas: malloc.arenas,
            free_in_arenas: Bytes(malloc.free),
            has_tracking: evidence.tracking.is_some(),
            sees_malloc: evidence.sees_memory,
            heap_views: heap_views(evidence),
        }
    }

    /// A row, if it is not empty.
    pub fn row(&self, kind: Kind) -> Option<&Row> {
        self.rows.iter().find(|row| row.kind == kind)
    }

    /// The resident memory of a row.
    pub fn resident(&self, kind: Kind) -> Bytes {
        self.row(kind).map(|row| row.resident).unwrap_or_default()
    }

    /// The part of the resident set that no row explains, from 0 to 1.
    pub fn unexplained(&self) -> f64 {
        self.resident(Kind::Unexplained).share_of(self.resident)
    }

    /// All that is not the heap.
    pub fn outside_of_heap(&self) -> Bytes {
        self.resident - self.resident(Kind::JavaHeap)
    }
}

fn heap_views(evidence: &Evidence) -> u64 {
    let heap = evidence
        .mappings
        .iter()
        .filter(|mapping| mapping.name.starts_with("/memfd:java_heap"));
    let (resident, proportional) = heap.fold((0, 0), |(resident, proportional), mapping| {
        (
            resident + mapping.resident.0,
            proportional + mapping.proportional.0,
        )
    });
    match proportional {
        0 => 1,
        proportional => (resident as f64 / proportional as f64).round().max(1.0) as u64,
    }
}

struct Malloc {
    arenas: u64,
    free: u64,
}

#[derive(Default)]
struct Rows {
    rows: BTreeMap<Kind, Row>,
    parts: BTreeMap<(Kind, String), Part>,
    /// For each mapping of unknown purpose, its resident memory that is not of `malloc`.
    unknown: Vec<Bytes>,
}

impl Rows {
    fn row(&mut self, kind: Kind) -> &mut Row {
        self.rows.entry(kind).or_insert_with(|| Row::new(kind))
    }

    fn add_part(&mut self, kind: Kind, name: &str, resident: Bytes) {
        if name.is_empty() {
            return;
        }
        let key = (kind, name.to_owned());
        let part = self.parts.entry(key).or_insert_with(|| Part {
            name: name.to_owned(),
            ..Part::default()
        });
        part.count += 1;
        part.resident += resident;
    }

    fn add_mappings(&mut self, evidence: &Evidence) {
        let owners = owners::of_all(evidence);
        for (mapping, owner) in evidence.mappings.iter().zip(&owners) {
            let row = self.row(owner.kind);
            row.resident += mapping.resident;
            row.huge += mapping.huge;
            row.swapped += mapping.swapped;
            if owner.kind == Kind::ThreadStacks {
                row.count += 1;
            }
            if mapping.resident.0 > 0 {
                self.add_part(owner.kind, &owner.part, mapping.resident);
            }
        }
        let mut unknown: BTreeMap<usize, Bytes> = (owners.iter().enumerate())
            .filter(|(_, owner)| owner.kind == Kind::Unexplained)
            .map(|(at, _)| (at, evidence.mappings[at].resident))
            .collect();
        // Mappings whose purpose is known are none of malloc's, whatever they look like.
        for (at, area, resident) in &evidence.areas {
            if owners[*at].kind == Kind::Unexplained {
                let resident = Bytes(*resident).min(evidence.mappings[*at].resident);
                self.take(Kind::Unexplained, Kind::NativeMalloc, resident);
                if let Some(left) = unknown.get_mut(at) {
                    *left = *left - resident;
                }
                let name = match area.kind {
                    AreaKind::Main => "first arena",
                    AreaKind::Arena(_) => "other arenas",
                    AreaKind::Block => "blocks with a mapping of their own",
                };
                self.add_part(Kind::NativeMalloc, name, resident);
            }
        }
        self.unknown = unknown.into_values().collect();
    }

    /// Moves memory from one row to another, no more than there is.
    fn take(&mut self, from: Kind, to: Kind, most: Bytes) -> Bytes {
        let there = self.row(from).resident;
        let moved = most.min(there);
        self.row(from).resident = there - moved;
        self.row(to).resident += moved;
        moved
    }

    /// Divides the memory of `malloc`: what is free, and what the JVM has an account of.
    fn split_malloc(&mut self, evidence: &Evidence) -> Malloc {
        let mut arenas = std::collections::BTreeSet::new();
        let (mut free, mut resident) = (0, 0);
        for (_, area, _) in &evidence.areas {
            match area.kind {
                AreaKind::Main => arenas.insert(0),
                AreaKind::Arena(address) => arenas.insert(address),
                AreaKind::Block => continue,
            };
            let inside = area.free.unwrap_or_default();
            free += inside.bytes;
            resident += inside.resident;
        }
        self.take(Kind::NativeMalloc, Kind::MallocFree, Bytes(resident));
        self.row(Kind::MallocFree).count = arenas.len() as u64;
        if let Some(tracking) = &evidence.tracking {
            let buffers = tracking.outside_of_heap();
            let own = tracking.malloc() - buffers;
            for (kind, bytes) in [(Kind::DirectBuffers, buffers), (Kind::JvmMalloc, own)] {
                self.take(Kind::NativeMalloc, kind, bytes);
                let row = self.row(kind);
                row.basis = Basis::Tracking;
                row.committed = Some(bytes);
            }
            for category in &tracking.categories {
                if category.malloc.0 > 0 && category.malloc != buffers {
                    self.add_part(Kind::JvmMalloc, &category.name, category.malloc);
                }
            }
        }
        Malloc {
            arenas: arenas.len() as u64,
            free,
        }
    }

    /// Takes from mappings of unknown purpose what the JVM reports to have mapped, as far as it was not found.
    fn explain_by_reports(&mut self, evidence: &Evidence) {
        let heap = evidence.heap.as_ref();
        let class = heap.and_then(|heap| heap.class_space);
        let class_committed = class.map(|space| space.committed).unwrap_or_default();
        let metaspace = heap
            .and_then(|heap| heap.metaspace)
            .map(|space| space.committed - class_committed);
        let reported = [
            (Kind::Metaspace, metaspace.unwrap_or_default()),
            (Kind::ClassSpace, class_committed),
        ];
        // Before JDK 16 there are no addresses, and some of the regions are of no size that shows what they are.
        let is_placed = heap.is_some_and(|heap| !heap.metaspace_ranges.is_empty());
        for (kind, committed) in reported {
            let missing = committed - self.row(kind).resident;
            if !is_placed && self.take(Kind::Unexplained, kind, missing) > Bytes::ZERO {
                self.row(kind).basis = Basis::Estimate;
            }
        }
        let Some(tracking) = &evidence.tracking else {
            if self.row(Kind::JvmMapped).resident.0 > 0 {
                self.row(Kind::JvmMapped).basis = Basis::Estimate;
            }
            return;
        };
        // Heap, stacks, metaspace, class archive and code have rows of their own.
        const ELSEWHERE: [&str; 6] = [
            "Java Heap",
            "Thread",
            "Thread Stack",
            "Class",
            "Metaspace",
            "Shared class space",
        ];
        let mut mapped = Bytes::ZERO;
        for category in &tracking.categories {
            if ELSEWHERE.contains(&category.name.as_str()) || category.mapped == Bytes::ZERO {
                continue;
            }
            let own = match category.name.as_str() {
                // Most of it is executable, and has a row.
                "Code" => category.mapped - self.row(Kind::CodeCache).resident,
                _ => category.mapped,
            };
            self.add_part(Kind::JvmMapped, &category.name, own);
            mapped += own;
        }
        let found = self.row(Kind::JvmMapped).resident;
        // The JVM counts what it may use, little of which may be resident: a mapping that has more than all that is another's.
        let of_others: Bytes = (self.unknown.iter().copied())
            .filter(|&left| left > mapped)
            .sum();
        let available = self.row(Kind::Unexplained).resident - of_others;
        self.take(
            Kind::Unexplained,
            Kind::JvmMapped,
            available.min(mapped - found),
        );
        let row = self.row(Kind::JvmMapped);
        row.basis = Basis::Tracking;
        row.committed = Some(mapped);
    }

    /// Adds the sizes that the JVM reports for its rows.
    fn add_reported(&mut self, evidence: &Evidence) {
        if let Some(heap) = &evidence.heap {
            let row = self.row(Kind::JavaHeap);
            row.committed = Some(heap.committed);
            row.used = Some(heap.used);
            let class = heap.class_space.unwrap_or_default();
            if let Some(space) = heap.metaspace {
                let row = self.row(Kind::Metaspace);
                row.committed = Some(space.committed - class.committed);
                row.used = Some(space.used - class.used);
            }
            if heap.class_space.is_some() {
                let row = self.row(Kind::ClassSpace);
                row.committed = Some(class.committed);
                row.used = Some(class.used);
            }
        }
        if let Some(cache) = &evidence.code_cache {
            let row = self.row(Kind::CodeCache);
            row.used = Some(cache.used());
            for segment in &cache.segments {
                self.add_part(Kind::CodeCache, &segment.name, segment.used);
            }
        }
        for loaders in &evidence.loaders {
            let key = (Kind::Metaspace, loaders.class.clone());
            let part = Part {
                name: loaders.class.clone(),
                count: loaders.loaders,
                resident: loaders.metadata,
            };
            self.parts.insert(key, part);
        }
        let stacks = self.row(Kind::ThreadStacks);
        stacks.count = stacks.count.max(evidence.threads.len() as u64);
    }

    fn finish(mut self) -> Vec<Row> {
        self.row(Kind::Unexplained);
        for ((kind, _), part) in std::mem::take(&mut self.parts) {
            if let Some(row) = self.rows.get_mut(&kind) {
                row.parts.push(part);
            }
        }
        let mut rows: Vec<Row> = self.rows.into_values().collect();
        for row in &mut rows {
            row.parts
                .sort_by_key(|part| std::cmp::Reverse(part.resident));
            row.parts.truncate(MAX_PARTS);
        }
        rows.retain(|row| row.resident.0 > 0 || row.kind == Kind::Unexplained);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::{Heap, Space};
    use crate::nmt::Account;
    use crate::smaps::Mapping;
    use proptest::prelude::*;

    fn mapping(at: u64, resident: u64, name: &str, inode: u64, executes: bool) -> Mapping {
        Mapping {
            start: at << 24,
            end: (at << 24) + (1 << 20),
            reads: true,
            writes: true,
            executes,
            inode,
            name: name.to_owned(),
            resident: Bytes::kib(resident),
            ..Mapping::default()
        }
    }

    const TRACKING: &str = "Total: reserved=1KB, committed=900KB\n\
- GC (reserved=300KB, committed=300KB)\n (malloc=100KB #1)\n (mmap: reserved=200KB, committed=200KB)\n\
- Other (reserved=50KB, committed=50KB)\n (malloc=50KB #1)\n";

    #[test]
    fn reports_explain_what_mappings_do_not() {
        let evidence = Evidence {
            mappings: vec![
                mapping(1, 200, "", 0, false),
                mapping(3, 200, "", 0, false),
                mapping(4, 100, "", 0, false),
                mapping(2, 300, "/x.so", 7, true),
            ],
            tracking: Account::parse(TRACKING),
            heap: Some(Heap {
                metaspace: Some(Space {
                    committed: Bytes::kib(150),
                    ..Space::default()
                }),
                ..Heap::default()
            }),
            ..Evidence::default()
        };
        let table = Table::of(&evidence);
        assert_eq!(table.resident, Bytes::kib(800));
        assert_eq!(table.resident(Kind::Metaspace), Bytes::kib(150));
        assert_eq!(table.resident(Kind::JvmMapped), Bytes::kib(200));
        assert_eq!(table.resident(Kind::Unexplained), Bytes::kib(150));
        assert_eq!(
            table.resident(Kind::DirectBuffers),
            Bytes::ZERO,
            "no memory of malloc was found"
        );
        assert!((table.unexplained() - 150.0 / 800.0).abs() < 1e-9);
    }

    #[test]
    fn a_mapping_larger_than_all_of_the_jvm_is_anothers() {
        let evidence = Evidence {
            mappings: vec![mapping(1, 900, "", 0, false), mapping(2, 150, "", 0, false)],
            tracking: Account::parse(TRACKING),
            ..Evidence::default()
        };
        // The JVM has mapped 200 KB.
        let table = Table::of(&evidence);
        assert_eq!(table.resident(Kind::JvmMapped), Bytes::kib(150));
        assert_eq!(table.resident(Kind::Unexplained), Bytes::kib(900));
    }

    proptest! {
        #[test]
        fn rows_add_up_to_the_resident_set(
            parts in prop::collection::vec((0..1000_u64, 0..3_u64, any::<bool>()), 0..40),
            committed in 0..2000_u64,
        ) {
            let names = ["", "/lib/x.so", "/data"];
            let mappings: Vec<Mapping> = parts.iter().enumerate().map(|(at, &(resident, file, executes))| {
                mapping(at as u64 + 1, resident, names[file as usize], file, executes)
            }).collect();
            let total: u64 = parts.iter().map(|part| part.0).sum();
            let evidence = Evidence {
                mappings,
                tracking: Account::parse(TRACKING),
                heap: Some(Heap {
                    ranges: vec![2 << 24..5 << 24],
                    metaspace: Some(Space { committed: Bytes::kib(committed), ..Space::default() }),
                    ..Heap::default()
                }),
                ..Evidence::default()
            };
            let table = Table::of(&evidence);
            let sum: Bytes = table.rows.iter().map(|row| row.resident).sum();
            prop_assert_eq!(sum, Bytes::kib(total));
            prop_assert_eq!(table.resident, sum);
            prop_assert_eq!(table.rows.last().map(|row| row.kind), Some(Kind::Unexplained));
        }
    }
}
