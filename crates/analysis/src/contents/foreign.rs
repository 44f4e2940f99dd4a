//! Takes in the profiles of other tools.

use std::ops::Range;

use hprof_foreign::jfr::facts::{self, Recorded, Visitor};
use hprof_foreign::jfr::one_type::{self, OneType};
use hprof_foreign::{Kind, Part, Profile};
use hprof_format::ids::ObjectId;
use hprof_format::model::{CpuKind, LockKind, SiteOrder};
use hprof_stacks::{Measure, Weights};

use super::options::{ReadError, ReadOptions};
use super::{
    Contents, CpuRow, CpuTable, DamageEntry, Format, MonitorRow, MonitorTable, SiteRow, SiteTable,
    Thread, threads_over_time,
};

/// The event of a stop of all threads for a collection.
const PAUSE: &str = "jdk.GCPhasePause";

/// Reads a file of another tool. It reports parts that are not needed again to the callback `forget`.
pub(super) fn read(
    file: &[u8],
    kind: Kind,
    options: &ReadOptions<'_>,
    forget: &dyn Fn(Range<usize>),
) -> Result<Contents, ReadError> {
    let span = hprof_foreign::span(file, kind);
    let wanted = Part {
        window: options.window(span)?,
        with_times: options.with_times,
    };
    let profile = hprof_foreign::read_part(file, kind, wanted, &mut |part| {
        (options.progress)(part.len() as u64);
        forget(part);
    })?;
    let mut contents = of_profile(profile);
    contents.bytes = file.len() as u64;
    if options.with_times && kind == Kind::Jfr && contents.others.collections > 0 {
        contents.pauses = pauses(file);
    }
    if options.with_lanes
        && kind == Kind::Jfr
        && let Some(part) = wanted.window.or(span)
    {
        contents.recorded_threads = threads_over_time::read(file, part);
    }
    options.check(&contents.damage)?;
    Ok(contents)
}

/// Reads the events of one type of a recording as a profile, whose bytes are uncompressed.
///
/// # Errors
/// If the part of the time that is asked for cannot be had, or in a strict reading if anything is damaged.
pub fn read_one_type(
    file: &[u8],
    of: OneType<'_>,
    options: &ReadOptions<'_>,
) -> Result<Contents, ReadError> {
    let span = hprof_foreign::span(file, Kind::Jfr);
    let wanted = Part {
        window: options.window(span)?,
        with_times: options.with_times,
    };
    let profile = one_type::read(file, of, wanted, &mut |part| {
        (options.progress)(part.len() as u64);
    });
    let mut contents = of_profile(profile);
    contents.bytes = file.len() as u64;
    options.check(&contents.damage)?;
    Ok(contents)
}

/// Start and length of the pauses of collections, in nanoseconds.
fn pauses(file: &[u8]) -> Vec<(i64, u64)> {
    #[derive(Default)]
    struct Pauses(Vec<(i64, u64)>);
    impl<'a> Visitor<'a> for Pauses {
        fn event(&mut self, event: &Recorded<'a, '_>) {
            self.0.push((event.at, event.duration));
        }
        fn chunk_end(&mut self, _from: i64, _to: i64) {}
    }
    let mut pauses = Pauses::default();
    // Its damage is that of the profile.
    facts::read(file, &[PAUSE], &mut pauses, &mut |_| {});
    pauses.0
}

fn of_profile(profile: Profile) -> Contents {
    let mut contents = Contents::new(Format::Foreign(profile.kind));
    contents.created_millis = profile.created_millis;
    contents.others = profile.others;
    contents.notes = profile.notes;
    contents.span = profile.span;
    contents.timeline = profile.timeline;
    contents.stacks = profile.stacks;
    contents.threads = profile.threads.into_iter().map(thread).collect();
    for damage in profile.damage {
        contents.damage.push(DamageEntry {
            offset: damage.offset,
            lost_bytes: damage.lost_bytes,
            message: damage.message,
            is_cut: false,
        });
    }
    contents.damage.count = profile.damaged;
    let of = |measure| {
        let mut all = profile.weights.iter();
        all.find(move |it| it.measure == measure)
    };
    for (measure, kind) in [
        (Measure::Samples, CpuKind::Samples),
        (Measure::Time, CpuKind::Times),
    ] {
        contents.cpu.extend(of(measure).map(|it| cpu(it, kind)));
    }
    for (measure, lock) in [
        (Measure::Contention, LockKind::Monitor),
        (Measure::NativeLock, LockKind::Native),
    ] {
        contents
            .monitors
            .extend(of(measure).map(|it| monitors(it, lock)));
    }
    contents.sites.extend(sites(&profile.weights));
    contents.weights = Some(profile.weights);
    contents
}

fn thread(thread: hprof_foreign::Thread) -> Thread {
    Thread {
        serial: thread.serial,
        object: ObjectId::NULL,
        name: Some(thread.name),
        group: None,
        trace: None,
        has_ended: false,
    }
}

/// Costs as a table of HPROF, for those who write one.
fn cpu(weights: &Weights, kind: CpuKind) -> CpuTable {
    let rows = weights.rows.iter().map(|row| CpuRow {
        trace: row.trace,
        cost: row.value,
        calls: None,
    });
    CpuTable {
        kind,
        total: weights.total,
        rows: rows.collect(),
    }
}

fn monitors(weights: &Weights, lock: LockKind) -> MonitorTable {
    let rows = weights.rows.iter().map(|row| MonitorRow {
        trace: row.trace,
        class_name: row.class.clone().unwrap_or_default(),
        lock,
        // Not known: other tools sum up what a wait cost.
        count: 0,
        millis: row.value,
    });
    MonitorTable {
        is_native: lock == LockKind::Native,
        total_millis: weights.total,
        rows: rows.collect(),
    }
}

/// The measures of allocation as one table; none if the file has none of them.
fn sites(all: &[Weights]) -> Option<SiteTable> {
    let mut rows: Vec<SiteRow> = Vec::new();
    let mut places = rustc_hash::FxHashMap::default();
    let mut order = SiteOrder::AllocatedBytes;
    for weights in all {
        let field: fn(&mut SiteRow) -> &mut u64 = match weights.measure {
            Measure::AllocatedBytes => |row| &mut row.allocated_bytes,
            Measure::AllocatedObjects => |row| &mut row.allocated_objects,
            Measure::LiveBytes => |row| &mut row.live_bytes,
            Measure::LiveObjects => |row| &mut row.live_objects,
            _ => continue,
        };
        if weights.measure == Measure::LiveBytes {
            order = SiteOrder::LiveBytes;
        }
        for row in &weights.rows {
            let place = *places
                .entry((row.trace, row.class.clone()))
                .or_insert_with(|| {
                    rows.push(SiteRow {
                        trace: row.trace,
                        class_name: row.class.clone().unwrap_or_default(),
                        live_bytes: 0,
                        live_objects: 0,
                        allocated_bytes: 0,
                        allocated_objects: 0,
                    });
                    rows.len() - 1
                });
            let cost = field(&mut rows[place]);
            *cost = cost.saturating_add(row.value);
        }
    }
    (!rows.is_empty()).then_some(SiteTable {
        order,
        is_native: false,
        totals: None,
        rows,
    })
}
