//! The profile thread's part: names for stacks, and the figures of a dump.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hprof_format::binary::BasicType;
use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::HeapSummary;

use super::classes::{Class, ClassId};
use super::dump_watch::Expected;
use super::live::Segment;
use super::sites::{Count, SiteId};
use super::spare::Words;
use super::stacks::{Stack, StackId};
use super::sweep::Sweeper;
use super::walk::Found;
use super::{FOLLOWED_BYTES, HeapSites, MAX_FOLLOWED};
use crate::names::{Location, Names};
use crate::options::Live;
use crate::recording::Run;
use crate::report;
use crate::vm::{Jni, Vm};

/// The profile thread's state of the mode.
pub struct SitesProfile {
    sites: &'static HeapSites,
    /// By the numbers of the stacks.
    traces: Vec<TraceSerial>,
    sweeper: Sweeper,
    deleted: u64,
    /// Objects that some dump found alive though their allocation was not seen.
    found: HashMap<ClassId, Count>,
    /// While a heap dump is being taken.
    pub(super) expected: Option<Expected>,
}

/// A row of the table of sites.
#[derive(Clone, Debug)]
pub struct SiteFigure {
    /// The class as Java source has it.
    pub class_name: String,
    /// The type of the elements, for an array.
    pub element: Option<BasicType>,
    /// The trace.
    pub trace: TraceSerial,
    /// The live and the allocated objects.
    pub figures: HeapSummary,
}

/// All rows, and remarks about them.
pub struct SiteFigures {
    /// One row for each class name and trace.
    pub rows: Vec<SiteFigure>,
    /// The sums of all rows.
    pub totals: HeapSummary,
    /// Garbage was collected before.
    pub is_after_gc: bool,
    /// Remarks on the accuracy of the figures, before the table; empty for exact ones.
    pub header: Vec<String>,
    /// Counters, after the table.
    pub remarks: Vec<String>,
}

/// The collection of garbage that a table of sites begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    /// The table is to show what is there.
    NotAsked,
    /// It comes first.
    Now,
    /// It was done before the collector stopped.
    Before,
    /// The collector has stopped.
    Impossible,
}

impl Collection {
    /// The collection for a table that has asked for one or not.
    pub fn of(run: &Run, is_asked: bool) -> Self {
        match is_asked {
            true if run.may_collect() => Self::Now,
            _ if run.was_collected() => Self::Before,
            true => Self::Impossible,
            false => Self::NotAsked,
        }
    }
}

impl SitesProfile {
    /// The profile of `sites`. There must be one only.
    pub fn new(sites: &'static HeapSites) -> Self {
        Self {
            sites,
            traces: Vec::new(),
            sweeper: Sweeper::new(sites.segments.receiver(), sites.liveness, sites.spare),
            deleted: 0,
            found: HashMap::new(),
            expected: None,
        }
    }

    pub(super) fn sites(&self) -> &'static HeapSites {
        self.sites
    }

    pub(super) fn sweeper(&self) -> &Sweeper {
        &self.sweeper
    }

    /// Gives the followed objects away, to get them [back](Self::take_back).
    pub(super) fn lend_sweeper(&mut self) -> Sweeper {
        let sites = self.sites;
        let empty = Sweeper::new(sites.segments.receiver(), sites.liveness, sites.spare);
        std::mem::replace(&mut self.sweeper, empty)
    }

    pub(super) fn take_back(&mut self, sweeper: Sweeper) {
        self.sweeper = sweeper;
    }

    pub(super) fn sweeper_mut(&mut self) -> &mut Sweeper {
        &mut self.sweeper
    }

    /// The trace of a stack whose names have been looked up.
    pub(super) fn trace_of(&self, stack: StackId) -> TraceSerial {
        let trace = self.traces.get(stack.0 as usize).copied();
        trace.unwrap_or(TraceSerial::SYSTEM)
    }

    /// Looks names up and forgets the dead. True when there is more to do at once.
    pub fn tick(&mut self, vm: Vm<'_>, names: &mut Names) -> bool {
        self.name_stacks(vm, names);
        self.sweep(vm.jni)
    }

    /// Looks up the names of the stacks that are new.
    pub(super) fn name_stacks(&mut self, vm: Vm<'_>, names: &mut Names) {
        for stack in self.sites.stacks.since(self.traces.len()) {
            let Stack { thread, frames, .. } = &*stack;
            let thread = (*thread != 0).then(|| ThreadSerial::new(*thread));
            let frames = frames.iter().map(Location::from);
            self.traces.push(names.intern(vm, thread, frames));
        }
    }

    /// Forgets all objects, and leaves the tables to the next run.
    ///
    /// # Safety
    /// No callback of the run is inside, and none will be. This is called once.
    pub(super) unsafe fn forget(&mut self, jni: &Jni) {
        let tables = self.sites.tables;
        // SAFETY: by the caller's promise.
        let (open, words) = unsafe { tables.threads.clear() };
        self.sweeper.forget(jni, &open);
        let spare = tables.spare.clear().into_iter().chain(words);
        spare
            .flat_map(Words::drain)
            .for_each(|weak| jni.delete_weak(weak));
        tables.give_back();
    }

    fn sweep(&mut self, jni: &Jni) -> bool {
        let sites = self.sites;
        let epoch = sites.collections.load(Ordering::Relaxed);
        let swept = self.sweeper.step(jni, epoch);
        self.deleted += swept.deleted as u64;
        sites.following.fetch_sub(swept.deleted, Ordering::Relaxed);
        sites.adjust_shift();
        swept.more
    }

    /// Collects garbage, if that is to be done, and adds everything up.
    pub fn collect(
        &mut self,
        vm: Vm<'_>,
        names: &mut Names,
        collection: Collection,
    ) -> SiteFigures {
        let jni = vm.jni;
        // A collection unloads hidden classes, whose methods have no names after that.
        self.name_stacks(vm, names);
        let is_after_gc = match collection {
            Collection::Now => self.sites.jvmti.force_garbage_collection().is_ok(),
            Collection::Before => true,
            Collection::NotAsked | Collection::Impossible => false,
        };
        let has_failed = !is_after_gc && collection != Collection::NotAsked;
        let epoch = self.sites.collections.load(Ordering::Relaxed);
        // The dead are not deleted first: threads that allocate fast would bring new ones for ever, and hold the
        // VM's lock for references against this one.
        let found = match self.sites.is_late {
            true => HashMap::new(),
            false => self.sites.count_objects(jni).unwrap_or_else(|error| {
                report::error(&format!(
                    "cannot count the objects of the VM's start that are left ({error})"
                ));
                HashMap::new()
            }),
        };
        let (live, estimated) = self.live(jni);
        // A collection in between has freed objects that were found.
        let is_one_state = epoch == self.sites.collections.load(Ordering::Relaxed);
        let mut unseen = self.unseen(&found, &live, is_one_state && estimated == 0);
        let totals = self.sites.threads.totals(self.sites.sites);
        // After the counts, so that each stack that was counted has its trace.
        self.name_stacks(vm, names);
        let classes = self.sites.classes.all();
        let mut rows: HashMap<(&str, TraceSerial), SiteFigure> = HashMap::new();
        for (number, (stack, class, _)) in self.sites.sites.rows().into_iter().enumerate() {
            let Some(class) = classes.get(class.0 as usize) else {
                continue;
            };
            let at = |counts: &[Count]| counts.get(number).copied().unwrap_or_default();
            let mut allocated = at(&totals.rows);
            let mut alive = at(&live);
            if stack == StackId::EMPTY {
                alive += unseen.remove(&class.id).unwrap_or_default();
                allocated += self.found.get(&class.id).copied().unwrap_or_default();
            }
            if allocated != Count::default() || alive != Count::default() {
                self.add(&mut rows, class, stack, allocated, alive);
            }
        }
        let mut rows: Vec<SiteFigure> = rows.into_values().collect();
        let unit = self.sites.weights.unit();
        let mut sums = HeapSummary::default();
        for SiteFigure { figures, .. } in &mut rows {
            figures.live_objects = (figures.live_objects + unit / 2) / unit;
            figures.allocated_objects = (figures.allocated_objects + unit / 2) / unit;
            add(&mut sums, figures);
        }
        rows.sort_by(|a, b| (a.trace, &a.class_name).cmp(&(b.trace, &b.class_name)));
        SiteFigures {
            is_after_gc,
            header: self.header(estimated, has_failed),
            remarks: self.remarks(&totals, estimated),
            rows,
            totals: sums,
        }
    }

    /// Objects alive whose allocation was not seen, by class.
    fn unseen(
        &mut self,
        found: &HashMap<ClassId, Found>,
        live: &[Count],
        is_exact: bool,
    ) -> HashMap<ClassId, Count> {
        let sites = self.sites;
        let classes = sites.classes.all();
        let mut followed: HashMap<ClassId, Count> = HashMap::new();
        for ((_, class, _), &count) in sites.sites.rows().iter().zip(live) {
            *followed.entry(*class).or_default() += count;
        }
        let mut unseen = HashMap::new();
        for (&id, found) in found {
            let Some(class) = classes.get(id.0 as usize).filter(|_| id.0 != 0) else {
                continue;
            };
            let followed = followed.get(&id).copied().unwrap_or_default();
            let mut new = Count::default();
            if sites.may_be_filler(class) {
                // They were not booked at VMInit, when it was unknown which were objects.
                new = found.existing;
            } else if is_exact && sites.interval == 0 && sites.live == Live::Exact {
                let seen = |of: fn(&Count) -> u64| of(&found.existing) + of(&followed);
                new.objects = found.all.objects.saturating_sub(seen(|c| c.objects));
                new.bytes = found.all.bytes.saturating_sub(seen(|c| c.bytes));
            }
            let known = self.found.entry(id).or_default();
            known.objects = known.objects.max(new.objects);
            known.bytes = known.bytes.max(new.bytes);
            let mut alive = new;
            if !sites.may_be_filler(class) {
                alive += found.existing;
            }
            if alive != Count::default() {
                // Its row must be there.
                sites.sites.intern(StackId::EMPTY, id);
                unseen.insert(id, alive);
            }
        }
        unseen
    }

    fn add<'a>(
        &self,
        rows: &mut HashMap<(&'a str, TraceSerial), SiteFigure>,
        class: &'a Arc<Class>,
        stack: StackId,
        allocated: Count,
        alive: Count,
    ) {
        let trace = self.trace_of(stack);
        let row = rows
            .entry((&class.name, trace))
            .or_insert_with(|| SiteFigure {
                class_name: class.name.clone(),
                element: class.element,
                trace,
                figures: HeapSummary::default(),
            });
        let more = HeapSummary {
            live_bytes: alive.bytes,
            live_objects: alive.objects,
            allocated_bytes: allocated.bytes,
            allocated_objects: allocated.objects,
        };
        add(&mut row.figures, &more);
    }

    /// The live objects by site, and the number of objects that are estimated.
    fn live(&mut self, jni: &Jni) -> (Vec<Count>, u64) {
        let open: Vec<Arc<Segment>> = self.sites.threads.open_segments();
        let weights = self.sites.weights;
        let mut counts: Vec<Count> = Vec::new();
        let mut estimated = 0u64;
        self.sweeper.for_each_live(jni, &open, |object| {
            let SiteId(number) = object.site;
            let number = number as usize;
            if counts.len() <= number {
                counts.resize(number + 1, Count::default());
            }
            let count = weights.count(object.size);
            let times = 1u64 << object.shift.min(40);
            estimated += times - 1;
            if let Some(row) = counts.get_mut(number) {
                *row += Count {
                    objects: count.objects.saturating_mul(times),
                    bytes: count.bytes.saturating_mul(times),
                };
            }
        });
        (counts, estimated)
    }

    fn header(&self, estimated: u64, has_garbage: bool) -> Vec<String> {
        let sites = self.sites;
        let mut lines = Vec::new();
        if has_garbage {
            lines.push(
                "hprof-rs: garbage could not be collected: live figures include dead objects"
                    .to_owned(),
            );
        }
        if sites.interval > 0 {
            lines.push(format!(
                "hprof-rs: all figures of the sites are estimates, from one allocation in {} bytes \
                 on average (heapinterval)",
                sites.interval
            ));
        } else if sites.live == Live::Estimate {
            lines.push(
                "hprof-rs: live figures of sites with more than 1024 objects are estimates \
                 (live=estimate)"
                    .to_owned(),
            );
        } else if estimated > 0 {
            lines.push(format!(
                "hprof-rs: live figures are partly estimates, as the program had more than \
                 {MAX_FOLLOWED} objects to follow"
            ));
        }
        lines
    }

    fn remarks(&self, totals: &super::threads::Totals, estimated: u64) -> Vec<String> {
        let sites = self.sites;
        let unrecorded = &sites.unrecorded;
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let following = sites.following.load(Ordering::Relaxed);
        let bytes = totals.cache_bytes + sites.stacks.bytes() + FOLLOWED_BYTES * following;
        let mut lines = vec![
            format!(
                "hprof-rs: heapinterval={} allocation_events={} without_event={} sites={} stacks={} \
                 stacks_taken={} stacks_cut={} \
                 followed_objects={following} swept_objects={} live_objects_estimated={estimated}",
                sites.interval,
                totals.events + totals.without_event,
                totals.without_event,
                sites.sites.len(),
                sites.stacks.count(),
                totals.taken,
                sites.stacks.cut(),
                self.deleted,
            ),
            format!(
                "hprof-rs: events_without_stack={} stacks_mistaken={} events_without_class={} \
                 objects_not_followed={} objects_dropped={} \
                 threads_not_primed={} caches_unread={} collections={} sites_memory_kb={}",
                load(&unrecorded.stacks),
                load(&unrecorded.mistaken),
                load(&unrecorded.classes),
                load(&unrecorded.references),
                sites.segments.dropped(),
                load(&unrecorded.unprimed_threads),
                totals.unread,
                sites.collections.load(Ordering::Relaxed),
                bytes / 1024,
            ),
        ];
        if let Some(hooks) = &sites.hooks {
            lines.push(hooks.remark());
        } else if let (0, Err(why)) = (sites.interval, sites.hook) {
            lines.push(format!(
                "hprof-rs: each allocation was an event of the JVM: {why}"
            ));
        }
        lines
    }
}

/// How rarely new objects are followed while `following` objects are: up to the limit all new ones are,
/// beyond it half as many for each eighth of the limit.
pub(super) fn shift_for(following: usize) -> u8 {
    match following.checked_sub(MAX_FOLLOWED) {
        None => 0,
        Some(beyond) => u8::try_from(1 + beyond / (MAX_FOLLOWED / 8))
            .unwrap_or(u8::MAX)
            .min(16),
    }
}

fn add(sum: &mut HeapSummary, more: &HeapSummary) {
    sum.live_bytes = sum.live_bytes.saturating_add(more.live_bytes);
    sum.live_objects = sum.live_objects.saturating_add(more.live_objects);
    sum.allocated_bytes = sum.allocated_bytes.saturating_add(more.allocated_bytes);
    sum.allocated_objects = sum.allocated_objects.saturating_add(more.allocated_objects);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_objects_are_followed_beyond_the_limit() {
        assert_eq!(shift_for(0), 0);
        assert_eq!(shift_for(MAX_FOLLOWED - 1), 0);
        assert_eq!(shift_for(MAX_FOLLOWED), 1);
        assert_eq!(shift_for(MAX_FOLLOWED + MAX_FOLLOWED / 8), 2);
        assert_eq!(shift_for(usize::MAX), 16);
    }
}
