//! All that is known about a process before it is accounted for.

use crate::cgroup::Group;
use crate::code_cache::CodeCache;
use crate::flags::Flags;
use crate::heap::Heap;
use crate::loaders::Loaders;
use crate::malloc::{self, Area};
use crate::memory::Memory;
use crate::nmt::Account;
use crate::objects::Objects;
use crate::smaps::Mapping;
use crate::status::Status;
use crate::threads::Thread;

/// Reports of the kernel and the JVM. Parts are missing where they do not answer.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// The mappings, by address.
    pub mappings: Vec<Mapping>,
    /// Figures of the kernel.
    pub status: Status,
    /// The threads.
    pub threads: Vec<Thread>,
    /// For each mapping, by its place, what `malloc` has in it, with resident bytes.
    pub areas: Vec<(usize, Area, u64)>,
    /// True if memory of the process could be read, so that the areas are known.
    pub sees_memory: bool,
    /// The Java heap.
    pub heap: Option<Heap>,
    /// The JVM's account.
    pub tracking: Option<Account>,
    /// The code cache.
    pub code_cache: Option<CodeCache>,
    /// The VM's flags.
    pub flags: Flags,
    /// Class loaders.
    pub loaders: Vec<Loaders>,
    /// Counted objects, unreachable ones among them.
    pub objects: Option<Objects>,
    /// Counted objects after a collection.
    pub live_objects: Option<Objects>,
    /// The cgroup.
    pub group: Option<Group>,
    /// The memory of the machine.
    pub machine: Option<crate::Bytes>,
    /// True if the environment of the process sets `MALLOC_ARENA_MAX`.
    pub limits_arenas: bool,
}

impl Evidence {
    /// Looks for memory of `malloc` in all mappings that may hold some.
    pub fn find_areas(&mut self, memory: &dyn Memory) {
        self.sees_memory = self
            .mappings
            .iter()
            .find(|mapping| mapping.resident.0 > 0 && mapping.reads && mapping.inode != 0)
            .is_some_and(|mapping| memory.present(mapping.start, mapping.end).is_some());
        if !self.sees_memory {
            return;
        }
        for (at, mapping) in self.mappings.iter().enumerate() {
            let may_hold = mapping.writes
                && !mapping.executes
                && !mapping.is_shared
                && (mapping.is_anonymous() || mapping.name == "[heap]")
                && mapping.resident.0 > 0
                && !self
                    .heap
                    .as_ref()
                    .is_some_and(|heap| heap.holds(mapping.start));
            if !may_hold {
                continue;
            }
            for area in malloc::areas(mapping, memory) {
                let pages = memory.whole_pages(area.range.start, area.range.end);
                let resident = pages * crate::memory::PAGE;
                self.areas.push((at, area, resident));
            }
        }
    }
}
