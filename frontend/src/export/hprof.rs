//! Profiles in HPROF's own formats.

use anyhow::Context;
use hprof_analysis::contents::{Contents, Thread};
use hprof_format::binary::{BasicType, BinaryWriter};
use hprof_format::ids::{ObjectId, TraceSerial};
use hprof_format::model::{
    CpuKind, CpuRow, CpuTable, Frame, Header, HeapSummary, MethodName, MonitorRow, MonitorTable,
    OldCpuRow, Settings, SignedMethod, SiteRow, SiteTable, ThreadStart, Trace,
};
use hprof_format::rank::{RankedCpuTable, RankedMonitorTable, RankedSiteTable};
use hprof_format::text::TextWriter;
use hprof_format::writer::ProfileWriter;
use hprof_stacks::Measure;
use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

use crate::open::Opened;
use crate::render::out::tell;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Writes what a profile holds in HPROF's text or binary format, and says on standard error what
/// that format has no place for.
///
/// # Errors
/// If the file holds no profile.
pub fn hprof(opened: &Opened, to_binary: bool, out: &mut Vec<u8>) -> anyhow::Result<()> {
    let contents = &opened.contents;
    anyhow::ensure!(
        has_profile(contents),
        "{} holds no profile; heap dumps cannot be turned from one format into the other",
        opened.name
    );
    for what in left_out(contents, to_binary) {
        tell!("hprof-rs: left out: {what}");
    }
    if to_binary {
        write(contents, &mut BinaryWriter::new(out), true)
    } else {
        write(contents, &mut TextWriter::new(out), false)
    }
}

/// Writes what a profile holds in HPROF's text format.
///
/// # Errors
/// If it holds no profile.
pub fn text(contents: &Contents, out: &mut Vec<u8>) -> anyhow::Result<()> {
    anyhow::ensure!(has_profile(contents), "nothing is recorded yet");
    write(contents, &mut TextWriter::new(out), false)
}

fn has_profile(contents: &Contents) -> bool {
    !contents.cpu.is_empty()
        || !contents.sites.is_empty()
        || !contents.monitors.is_empty()
        || !contents.old_cpu.is_empty()
}

fn left_out(contents: &Contents, to_binary: bool) -> Vec<&'static str> {
    let counted = contents.weights.iter().flatten().filter(|it| it.total > 0);
    let counted: Vec<Measure> = counted.map(|it| it.measure).collect();
    let mut sites = contents.sites.iter().flat_map(|table| &table.rows);
    let has_calls = |table: &hprof_analysis::contents::CpuTable| {
        table.rows.iter().any(|row| row.calls.is_some())
    };
    let facts = [
        (
            !contents.dumps.is_empty() || !contents.text_dumps.is_empty(),
            "the heap dump",
        ),
        (
            to_binary && contents.cpu.iter().any(has_calls),
            "the numbers of calls, for which the binary format has no place",
        ),
        (
            to_binary && !contents.monitors.is_empty(),
            "monitor contention, for which the binary format has no place",
        ),
        (
            to_binary && !contents.old_cpu.is_empty(),
            "the table of cpu=old, for which the binary format has no place",
        ),
        (
            to_binary && !contents.comments.is_empty(),
            "the profiler's remarks, for which the binary format has no place",
        ),
        (
            counted.contains(&Measure::Wall),
            "wall-clock samples, for which HPROF has no place",
        ),
        (
            counted.contains(&Measure::NativeSamples),
            "samples in native code, for which HPROF has no place",
        ),
        (
            counted.contains(&Measure::Waits),
            "waits for notifications, for which HPROF has no place",
        ),
        (
            sites.any(|row| objects(row) != (row.live_objects, row.allocated_objects)),
            "object counts, which the file lacks: each site is written with one object",
        ),
    ];
    let facts = facts.into_iter().filter(|(is_so, _)| *is_so);
    facts.map(|(_, what)| what).collect()
}

/// The time of a profile in both forms.
fn created(contents: &Contents) -> (u64, String) {
    const CTIME: &str = "%a %b %e %H:%M:%S %Y";
    let millis = contents.created_millis.or_else(|| {
        let text = contents.created_text.as_deref()?;
        let parsed = strtime::parse(CTIME, text).ok()?.to_datetime().ok()?;
        let local = parsed.to_zoned(TimeZone::system()).ok()?;
        u64::try_from(local.timestamp().as_millisecond()).ok()
    });
    let text = contents.created_text.clone().or_else(|| {
        let time = Timestamp::from_millisecond(i64::try_from(millis?).ok()?).ok()?;
        let local = time.to_zoned(TimeZone::system());
        Some(local.strftime(CTIME).to_string())
    });
    (
        millis.unwrap_or(0),
        text.unwrap_or_else(|| "Thu Jan  1 00:00:00 1970".to_owned()),
    )
}

fn write(
    contents: &Contents,
    writer: &mut dyn ProfileWriter,
    to_binary: bool,
) -> anyhow::Result<()> {
    let (created_millis, ctime) = created(contents);
    let ctime = ctime.as_str();
    let has_samples = contents.cpu.iter().any(|t| t.kind == CpuKind::Samples);
    let depth = contents.stacks.traces().into_iter();
    let depth = depth.map(|(_, trace)| trace.frames.len()).max();
    // A profile of cpu=old alone has no header.
    let is_old_only =
        contents.cpu.is_empty() && contents.sites.is_empty() && contents.monitors.is_empty();
    if to_binary || !is_old_only {
        writer.begin(&Header {
            created_millis,
            created_ctime: ctime,
            settings: Settings {
                allocation_traces: !contents.sites.is_empty(),
                cpu_sampling: has_samples,
                depth: u32::try_from(depth.unwrap_or(0)).unwrap_or(u32::MAX),
            },
        })?;
    }
    for thread in &contents.threads {
        thread_start(writer, thread)?;
    }
    for thread in contents.threads.iter().filter(|thread| thread.has_ended) {
        writer.thread_end(thread.serial)?;
    }
    for table in &contents.sites {
        sites(contents, writer, table, ctime)?;
    }
    for table in &contents.cpu {
        cpu(contents, writer, table, ctime)?;
    }
    for table in &contents.monitors {
        monitors(contents, writer, table, ctime)?;
    }
    if !contents.old_cpu.is_empty() {
        let rows: Vec<OldCpuRow<'_>> = contents
            .old_cpu
            .iter()
            .map(|row| OldCpuRow {
                count: row.count,
                callee: signed(&row.callee),
                caller: signed(&row.caller),
                nanos: row.millis.saturating_mul(NANOS_PER_MILLI),
            })
            .collect();
        writer.old_cpu_table(&rows)?;
    }
    for remark in &contents.comments {
        writer.comment(remark)?;
    }
    writer.flush()?;
    Ok(())
}

fn thread_start(writer: &mut dyn ProfileWriter, thread: &Thread) -> anyhow::Result<()> {
    writer.thread_start(&ThreadStart {
        object: thread.object,
        serial: thread.serial,
        name: thread.name.as_deref().unwrap_or_default(),
        group: thread.group.as_deref().unwrap_or_default(),
        parent_group: "",
        trace: TraceSerial::SYSTEM,
    })?;
    Ok(())
}

/// A method of a `cpu=old` table, with its descriptor: `App.main([Ljava/lang/String;)V`.
fn signed(text: &str) -> Option<SignedMethod<'_>> {
    let (name, signature) = match text.find('(') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let (class_name, method) = name.rsplit_once('.')?;
    Some(SignedMethod {
        class_name,
        method,
        signature,
    })
}

/// Writes the traces of a table that the file lacks.
fn traces(
    contents: &Contents,
    writer: &mut dyn ProfileWriter,
    serials: impl Iterator<Item = TraceSerial>,
) -> anyhow::Result<()> {
    for serial in serials {
        if writer.has_trace(serial) {
            continue;
        }
        let frames: Vec<Frame<'_>> = contents
            .stacks
            .frames_of(serial)
            .iter()
            .map(|&at| {
                let frame = contents.stacks.frame(at);
                Frame {
                    class_name: &frame.class_name,
                    class_id: ObjectId::NULL,
                    method: &frame.method,
                    signature: "",
                    source_file: frame.source_file.as_deref(),
                    line: frame.line,
                }
            })
            .collect();
        let thread = contents.stacks.trace(serial).and_then(|trace| trace.thread);
        writer.trace(&Trace {
            serial,
            thread,
            frames: &frames,
        })?;
    }
    Ok(())
}

fn cpu(
    contents: &Contents,
    writer: &mut dyn ProfileWriter,
    table: &hprof_analysis::contents::CpuTable,
    ctime: &str,
) -> anyhow::Result<()> {
    let unit = match table.kind {
        CpuKind::Samples => 1,
        CpuKind::Times => NANOS_PER_MILLI,
    };
    let rows: Vec<CpuRow> = table
        .rows
        .iter()
        .map(|row| CpuRow {
            cost: row.cost.saturating_mul(unit),
            count: match table.kind {
                CpuKind::Samples => row.cost,
                CpuKind::Times => row.calls.unwrap_or(0),
            },
            trace: row.trace,
        })
        .collect();
    let table = CpuTable {
        kind: table.kind,
        total: table.total.saturating_mul(unit),
        rows: &rows,
    };
    let ranked = RankedCpuTable::new(&table, 0.0);
    traces(contents, writer, ranked.traces())?;
    let innermost = |serial: TraceSerial| {
        let frame = contents
            .stacks
            .frame(*contents.stacks.frames_of(serial).first()?);
        Some(MethodName {
            class_name: &frame.class_name,
            method: &frame.method,
        })
    };
    writer.cpu_table(&ranked, ctime, &innermost)?;
    Ok(())
}

/// The objects of a site, alive and ever allocated. Recordings and some other profiles tell bytes alone, and a
/// site without objects would be left out of the table.
fn objects(row: &hprof_analysis::contents::SiteRow) -> (u64, u64) {
    let at_least_one = |bytes: u64, objects: u64| objects.max(u64::from(bytes > 0));
    (
        at_least_one(row.live_bytes, row.live_objects),
        at_least_one(row.allocated_bytes, row.allocated_objects),
    )
}

fn sites(
    contents: &Contents,
    writer: &mut dyn ProfileWriter,
    table: &hprof_analysis::contents::SiteTable,
    ctime: &str,
) -> anyhow::Result<()> {
    let mut rows: Vec<SiteRow<'_>> = Vec::new();
    let mut sum = HeapSummary::default();
    for row in &table.rows {
        let (live_objects, allocated_objects) = objects(row);
        sum.live_bytes += row.live_bytes;
        sum.live_objects += live_objects;
        sum.allocated_bytes += row.allocated_bytes;
        sum.allocated_objects += allocated_objects;
        rows.push(SiteRow {
            class_name: &row.class_name,
            class_id: ObjectId::NULL,
            element: element(&row.class_name),
            trace: row.trace,
            live_bytes: row.live_bytes,
            live_objects,
            allocated_bytes: row.allocated_bytes,
            allocated_objects,
        });
    }
    let totals = table.totals.as_ref().map_or(sum, |totals| HeapSummary {
        live_bytes: totals.live_bytes,
        live_objects: totals.live_objects,
        allocated_bytes: totals.allocated_bytes,
        allocated_objects: totals.allocated_objects,
    });
    let table = SiteTable {
        order: table.order,
        is_incremental: false,
        is_after_gc: false,
        totals,
        rows: &rows,
    };
    let ranked = RankedSiteTable::new(&table, 0.0);
    traces(contents, writer, ranked.rows().iter().map(|r| r.row.trace))?;
    writer
        .site_table(&ranked, ctime)
        .context("cannot write the table of sites")
}

/// The type of an array's elements.
fn element(class_name: &str) -> Option<BasicType> {
    let name = class_name.strip_suffix("[]")?;
    let primitive = BasicType::ALL.into_iter().find(|kind| kind.name() == name);
    Some(primitive.unwrap_or(BasicType::Object))
}

fn monitors(
    contents: &Contents,
    writer: &mut dyn ProfileWriter,
    table: &hprof_analysis::contents::MonitorTable,
    ctime: &str,
) -> anyhow::Result<()> {
    let rows: Vec<MonitorRow<'_>> = table
        .rows
        .iter()
        .map(|row| MonitorRow {
            nanos: row.millis.saturating_mul(NANOS_PER_MILLI),
            count: row.count,
            trace: row.trace,
            class_name: &row.class_name,
            lock: row.lock,
        })
        .collect();
    let table = MonitorTable {
        total_nanos: table.total_millis.saturating_mul(NANOS_PER_MILLI),
        rows: &rows,
    };
    let ranked = RankedMonitorTable::new(&table, 0.0);
    traces(contents, writer, ranked.rows().iter().map(|r| r.row.trace))?;
    writer.monitor_table(&ranked, ctime)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use hprof_analysis::contents::SiteRow;

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
