//! The tables of a profile that HPROF's formats can take, and those that they cannot.

use hprof_analysis::contents::{Contents, CpuTable, SiteRow};
use hprof_format::model::CpuKind;
use hprof_stacks::Measure;

use crate::render::screen::{count, plural};

/// The measures of sites.
const OF_SITES: [Measure; 4] = [
    Measure::LiveBytes,
    Measure::LiveObjects,
    Measure::AllocatedBytes,
    Measure::AllocatedObjects,
];

/// The largest number in a field of the binary format's rows.
const LARGEST: u64 = u32::MAX as u64;

/// The tables that are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub is_binary: bool,
    pub samples: bool,
    pub times: bool,
    pub sites: bool,
    pub monitors: bool,
    /// `NATIVE LOCKS`.
    pub native_locks: bool,
    /// Dumps of monitors, and calls of `Object.wait`.
    pub in_use: bool,
    pub old: bool,
}

impl Parts {
    /// The tables that a format can take, of one measure or of all.
    pub fn of(contents: &Contents, measure: Option<Measure>, is_binary: bool) -> Self {
        let is_wanted = |of: &[Measure]| measure.is_none_or(|measure| of.contains(&measure));
        let samples = is_wanted(&[Measure::Samples]) && has(contents, CpuKind::Samples);
        Self {
            is_binary,
            samples,
            // A flag of the whole binary file tells milliseconds from samples, and readers add up
            // its tables.
            times: is_wanted(&[Measure::Time, Measure::Calls])
                && has(contents, CpuKind::Times)
                && !(is_binary && samples),
            sites: is_wanted(&OF_SITES) && !contents.sites.is_empty(),
            monitors: is_wanted(&[Measure::Contention]) && has_waits(contents, false) && !is_binary,
            native_locks: is_wanted(&[Measure::NativeLock])
                && has_waits(contents, true)
                && !is_binary,
            in_use: is_wanted(&[]) && !is_binary && has_monitors_in_use(contents),
            old: is_wanted(&[]) && !contents.old_cpu.is_empty() && !is_binary,
        }
    }

    /// True if no table is written.
    pub fn is_empty(self) -> bool {
        !(self.samples
            || self.times
            || self.sites
            || self.monitors
            || self.native_locks
            || self.in_use
            || self.old)
    }

    /// True if tables of CPU costs of this kind are written.
    pub fn has(self, kind: CpuKind) -> bool {
        match kind {
            CpuKind::Samples => self.samples,
            CpuKind::Times => self.times,
        }
    }

    /// The facts of the file that are not written, in words. Of the tables that another measure than
    /// the wanted one has, nothing is said.
    pub fn left_out(self, contents: &Contents, measure: Option<Measure>) -> Vec<String> {
        let mut all = Vec::new();
        if measure.is_none() {
            self.tables(contents, &mut all);
        }
        let is_time = |table: &&CpuTable| table.kind == CpuKind::Times;
        let mut times = contents.cpu.iter().filter(is_time).filter(|_| self.times);
        let has_calls = times.any(|table| table.rows.iter().any(|row| row.calls.is_some()));
        match (self.is_binary, has_calls) {
            (true, true) => all.push(no_place("the numbers of calls")),
            (false, false) if self.times => {
                all.push("the numbers of calls, which the file lacks: each is written as 0".into());
            }
            _ => {}
        }
        let mut waits = contents.monitors.iter().flat_map(|table| &table.rows);
        if (self.monitors || self.native_locks) && waits.any(|row| row.count == 0) {
            all.push("the numbers of waits, which the file lacks: each is written as 0".into());
        }
        if self.sites {
            self.of_sites(contents, &mut all);
        }
        all
    }

    fn tables(self, contents: &Contents, all: &mut Vec<String>) {
        let counted = contents.weights.iter().flatten().filter(|it| it.total > 0);
        let counted: Vec<Measure> = counted.map(|it| it.measure).collect();
        if !contents.dumps.is_empty() || !contents.text_dumps.is_empty() {
            all.push("the heap dump".to_owned());
        }
        if has(contents, CpuKind::Times) && !self.times {
            all.push(
                "CPU milliseconds, since the binary format has one table of CPU costs, which holds \
                 the samples (--measure time writes milliseconds instead)"
                    .to_owned(),
            );
        }
        let facts = [
            (has_waits(contents, false), "monitor contention"),
            (has_waits(contents, true), "waits for native locks"),
            (
                has_monitors_in_use(contents),
                "monitor dumps and calls of Object.wait",
            ),
            (!contents.old_cpu.is_empty(), "the table of cpu=old"),
            (!contents.comments.is_empty(), "the profiler's remarks"),
        ];
        let facts = facts
            .into_iter()
            .filter(|(is_so, _)| self.is_binary && *is_so);
        all.extend(facts.map(|(_, what)| no_place(what)));
        for (measure, what) in [
            (Measure::Wall, "wall-clock samples"),
            (Measure::NativeSamples, "samples in native code"),
            (Measure::Waits, "waits for notifications"),
            (Measure::NativeBytes, "bytes of native memory"),
            (Measure::Events, "events of one type"),
            (Measure::EventTime, "times of events of one type"),
            (Measure::EventBytes, "bytes of events of one type"),
        ] {
            if counted.contains(&measure) {
                all.push(format!("{what}, for which HPROF has no place"));
            }
        }
    }

    fn of_sites(self, contents: &Contents, all: &mut Vec<String>) {
        let sites = || contents.sites.iter().flat_map(|table| &table.rows);
        let lacks = |measures: [Measure; 2]| {
            let known = contents.weights.as_ref();
            known.is_some_and(|known| !known.iter().any(|it| measures.contains(&it.measure)))
        };
        if lacks([Measure::LiveBytes, Measure::LiveObjects]) {
            all.push("live objects, which the file lacks: they are written as 0".to_owned());
        }
        if sites().any(|row| objects(row) != (row.live_objects, row.allocated_objects)) {
            all.push(
                "object counts, which the file lacks: each site is written with one object"
                    .to_owned(),
            );
        }
        let numbers = |row: &SiteRow| {
            let (live, allocated) = objects(row);
            [row.live_bytes, live, row.allocated_bytes, allocated]
        };
        let is_large = |row: &&SiteRow| numbers(row).into_iter().any(|number| number > LARGEST);
        let large = sites().filter(is_large).count() as u64;
        if self.is_binary && large > 0 {
            all.push(format!(
                "of {} what is above {}, the largest number that the binary format takes",
                plural(large, "site", "sites"),
                count(LARGEST)
            ));
        }
    }
}

/// True if the file has a table of waits for locks of native code, or for others.
fn has_waits(contents: &Contents, are_native: bool) -> bool {
    let mut tables = contents.monitors.iter();
    tables.any(|table| table.is_native == are_native)
}

fn has_monitors_in_use(contents: &Contents) -> bool {
    !contents.monitor_dumps.is_empty() || !contents.waits.is_empty()
}

fn no_place(what: &str) -> String {
    format!("{what}, for which the binary format has no place")
}

fn has(contents: &Contents, kind: CpuKind) -> bool {
    contents.cpu.iter().any(|table| table.kind == kind)
}

/// The objects of a site, alive and ever allocated. Recordings and some other profiles tell bytes
/// alone, and a site without objects would be left out of the table.
pub(super) fn objects(row: &SiteRow) -> (u64, u64) {
    let at_least_one = |bytes: u64, objects: u64| objects.max(u64::from(bytes > 0));
    (
        at_least_one(row.live_bytes, row.live_objects),
        at_least_one(row.allocated_bytes, row.allocated_objects),
    )
}

#[cfg(test)]
mod tests {
    use hprof_format::ids::TraceSerial;

    use super::*;

    #[test]
    fn sites_without_numbers_of_objects_stay() {
        let row = |live: (u64, u64), allocated: (u64, u64)| SiteRow {
            trace: TraceSerial::new(1),
            class_name: "A".into(),
            live_bytes: live.0,
            live_objects: live.1,
            allocated_bytes: allocated.0,
            allocated_objects: allocated.1,
        };
        assert_eq!(objects(&row((0, 0), (4096, 0))), (0, 1));
        assert_eq!(objects(&row((4096, 0), (4096, 0))), (1, 1));
        assert_eq!(objects(&row((16, 2), (32, 4))), (2, 4));
        assert_eq!(objects(&row((0, 0), (0, 0))), (0, 0));
    }
}
