//! Profiles in HPROF's own formats.

use std::io::Write as _;
use std::time::SystemTime;

use anyhow::Context;
use hprof_analysis::contents::{Contents, Thread};
use hprof_format::binary::{BasicType, BinaryWriter};
use hprof_format::ids::{ObjectId, TraceSerial};
use hprof_format::model::{
    CpuKind, CpuRow, CpuTable, Frame, Header, HeapSummary, MethodName, Monitor, MonitorDump,
    MonitorRow, MonitorTable, OldCpuRow, Settings, SignedMethod, SiteRow, SiteTable, ThreadStart,
    Trace,
};
use hprof_format::rank::{RankedCpuTable, RankedMonitorTable, RankedSiteTable};
use hprof_format::text::TextWriter;
use hprof_format::writer::ProfileWriter;
use hprof_stacks::Measure;
use hprof_stacks::events::Chunk;
use hprof_stacks::slow::Slow;

use super::created;
use super::parts::{Parts, objects};
use crate::open::Opened;
use crate::render::out::tell;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Writes what a profile holds in HPROF's text or binary format, of one measure alone if one is
/// asked for, and says on standard error what that format has no place for.
///
/// # Errors
/// If the file holds no profile, or the format has no place for the measure.
pub fn hprof(
    opened: &Opened,
    to_binary: bool,
    measure: Option<Measure>,
    out: &mut Vec<u8>,
) -> anyhow::Result<()> {
    let contents = &opened.contents;
    anyhow::ensure!(
        has_profile(contents),
        "{} holds no profile; heap dumps cannot be turned from one format into the other",
        opened.name
    );
    let parts = Parts::of(contents, measure, to_binary);
    if let Some(measure) = measure.filter(|_| parts.is_empty()) {
        anyhow::bail!(
            "HPROF's {} format has no place for {measure}",
            if to_binary { "binary" } else { "text" }
        );
    }
    for what in parts.left_out(contents, measure) {
        tell!("hprof-rs: left out: {what}");
    }
    let modified = opened.modified;
    if to_binary {
        write(contents, modified, &mut BinaryWriter::new(out), parts)
    } else {
        write(contents, modified, &mut TextWriter::new(out), parts)
    }
}

/// Writes what a profile holds in HPROF's text format.
///
/// # Errors
/// If it holds no profile.
pub fn text(contents: &Contents, out: &mut Vec<u8>) -> anyhow::Result<()> {
    anyhow::ensure!(has_profile(contents), "nothing is recorded yet");
    let parts = Parts::of(contents, None, false);
    write(contents, None, &mut TextWriter::new(out), parts)
}

fn has_profile(contents: &Contents) -> bool {
    !contents.cpu.is_empty()
        || !contents.sites.is_empty()
        || !contents.monitors.is_empty()
        || !contents.old_cpu.is_empty()
        || !contents.monitor_dumps.is_empty()
        || !contents.waits.is_empty()
}

fn write(
    contents: &Contents,
    modified: Option<SystemTime>,
    writer: &mut dyn ProfileWriter,
    parts: Parts,
) -> anyhow::Result<()> {
    let created_millis = created::millis(contents, modified);
    let ctime = created::ctime(contents, modified);
    let ctime = ctime.as_str();
    let depth = contents.stacks.traces().into_iter();
    let depth = depth.map(|(_, trace)| trace.frames.len()).max();
    // A profile of cpu=old alone has no header.
    let is_old_only = contents.cpu.is_empty()
        && contents.sites.is_empty()
        && contents.monitors.is_empty()
        && contents.monitor_dumps.is_empty();
    if parts.is_binary || !is_old_only {
        writer.begin(&Header {
            created_millis,
            created_ctime: ctime,
            settings: Settings {
                allocation_traces: parts.sites,
                cpu_sampling: parts.samples,
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
    if parts.in_use {
        waits(contents, writer)?;
        for dump in &contents.monitor_dumps {
            monitor_dump(contents, writer, dump)?;
        }
    }
    for table in contents.sites.iter().filter(|_| parts.sites) {
        sites(contents, writer, table, ctime)?;
    }
    for table in contents.cpu.iter().filter(|table| parts.has(table.kind)) {
        cpu(contents, writer, table, ctime)?;
    }
    let is_wanted = |is_native: bool| match is_native {
        true => parts.native_locks,
        false => parts.monitors,
    };
    let waits = contents.monitors.iter();
    for table in waits.filter(|table| is_wanted(table.is_native)) {
        monitors(contents, writer, table, ctime)?;
    }
    if parts.old {
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
    if contents.slow.is_there() {
        writer.mark(&Slow::patterns_text(&contents.slow.patterns))?;
    }
    for method in &contents.slow.methods {
        writer.mark(&method.text())?;
    }
    for remark in &contents.comments {
        writer.comment(remark)?;
    }
    writer.flush()?;
    Ok(())
}

/// Writes a profile in text, with the times of its samples.
///
/// # Errors
/// As [`text`].
pub fn text_with_times(
    contents: &Contents,
    times: &[Chunk],
    out: &mut Vec<u8>,
) -> anyhow::Result<()> {
    text(contents, out)?;
    for chunk in times {
        writeln!(out, "# {}", chunk.text(0))?;
    }
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
    let is_native = table.is_native;
    let table = SiteTable {
        order: table.order,
        is_incremental: false,
        is_after_gc: false,
        totals,
        rows: &rows,
    };
    let mut ranked = RankedSiteTable::new(&table, 0.0);
    if is_native {
        ranked = ranked.of_native_memory();
    }
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

/// Writes the calls of `Object.wait` one by one.
fn waits(contents: &Contents, writer: &mut dyn ProfileWriter) -> anyhow::Result<()> {
    for (is_over, signature, millis, thread) in contents.waits.lines() {
        match is_over {
            true => writer.waited(signature, millis, thread)?,
            false => writer.wait(signature, millis, thread)?,
        }
    }
    Ok(())
}

fn monitor_dump(
    contents: &Contents,
    writer: &mut dyn ProfileWriter,
    dump: &hprof_analysis::contents::MonitorDump,
) -> anyhow::Result<()> {
    traces(contents, writer, dump.traces())?;
    let monitors: Vec<Monitor<'_>> = (dump.monitors.iter())
        .map(|monitor| Monitor {
            signature: &monitor.signature,
            owner: monitor.owner,
            entering: &monitor.entering,
            waiting: &monitor.waiting,
        })
        .collect();
    writer.monitor_dump(&MonitorDump {
        threads: &dump.threads,
        monitors: &monitors,
    })?;
    Ok(())
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
    let waits = MonitorTable {
        total_nanos: table.total_millis.saturating_mul(NANOS_PER_MILLI),
        rows: &rows,
    };
    let mut ranked = RankedMonitorTable::new(&waits, 0.0);
    if table.is_native {
        ranked = ranked.of_native_locks();
    }
    traces(contents, writer, ranked.rows().iter().map(|r| r.row.trace))?;
    writer.monitor_table(&ranked, ctime)?;
    Ok(())
}
