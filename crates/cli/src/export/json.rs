//! All of a profile as JSON.

use hprof_analysis::contents::{Contents, CpuTable, DamageLog, MonitorTable, SiteTable, Thread};
use hprof_analysis::heap::{Group, Histogram, histogram};
use hprof_analysis::stacks::{Frame, Trace};
use hprof_format::ids::TraceSerial;
use hprof_format::model::{CpuKind, Line, SiteOrder};
use serde::{Serialize, Serializer};

use crate::open::Opened;

/// Threads, traces with their frames, and tables; of heap dumps the classes.
///
/// Rows are written one by one: as values of `serde_json` they would take a hundred times the room
/// that they have in the file.
///
/// # Errors
/// None but those of `serde_json`.
pub fn json(opened: &Opened, out: &mut Vec<u8>) -> anyhow::Result<()> {
    let contents = &opened.contents;
    let document = Document {
        file: &opened.name,
        created_millis: contents.created_millis,
        created: contents.created_text.as_deref(),
        threads: Rows(|| contents.threads.iter().map(thread)),
        traces: Rows(|| {
            let traces = contents.stacks.traces().into_iter();
            traces.map(|(serial, trace)| traced(contents, serial, trace))
        }),
        cpu: Rows(|| contents.cpu.iter().map(cpu)),
        sites: Rows(|| contents.sites.iter().map(sites)),
        monitors: Rows(|| contents.monitors.iter().map(monitors)),
        old_cpu: Rows(|| {
            contents.old_cpu.iter().map(|row| OldRow {
                calls: row.count,
                ms: row.millis,
                callee: &row.callee,
                caller: &row.caller,
            })
        }),
        dumps: Rows(|| {
            let dumps = contents.dumps.iter();
            dumps.map(|dump| -> Histogram { histogram(contents, dump, Group::Class) })
        }),
        remarks: &contents.comments,
        damage: &contents.damage,
    };
    serde_json::to_writer(&mut *out, &document)?;
    out.push(b'\n');
    Ok(())
}

/// Values that are made when they are written.
struct Rows<F>(F);

impl<F, I> Serialize for Rows<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

#[derive(Serialize)]
struct Document<'a, Threads, Traces, Cpu, Sites, Monitors, OldCpu, Dumps> {
    file: &'a str,
    created_millis: Option<u64>,
    created: Option<&'a str>,
    threads: Threads,
    traces: Traces,
    cpu: Cpu,
    sites: Sites,
    monitors: Monitors,
    old_cpu: OldCpu,
    dumps: Dumps,
    remarks: &'a [String],
    damage: &'a DamageLog,
}

#[derive(Serialize)]
struct ThreadRow<'a> {
    serial: u32,
    object: String,
    name: Option<&'a str>,
    group: Option<&'a str>,
    trace: Option<u32>,
    has_ended: bool,
}

fn thread(thread: &Thread) -> ThreadRow<'_> {
    ThreadRow {
        serial: thread.serial.get(),
        object: format!("{:#x}", thread.object),
        name: thread.name.as_deref(),
        group: thread.group.as_deref(),
        trace: thread.trace.map(|trace| trace.get()),
        has_ended: thread.has_ended,
    }
}

#[derive(Serialize)]
struct TraceRow<Frames> {
    serial: u32,
    thread: Option<u32>,
    frames: Frames,
}

fn traced<'a>(
    contents: &'a Contents,
    serial: TraceSerial,
    trace: &'a Trace,
) -> impl Serialize + use<'a> {
    TraceRow {
        serial: serial.get(),
        thread: trace.thread.map(|thread| thread.get()),
        frames: Rows(move || {
            let frames = trace.frames.iter();
            frames.map(|&at| framed(contents.stacks.frame(at)))
        }),
    }
}

#[derive(Serialize)]
struct FrameRow<'a> {
    class: &'a str,
    method: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    is_native: bool,
}

fn framed(frame: &Frame) -> FrameRow<'_> {
    FrameRow {
        class: &frame.class_name,
        method: &frame.method,
        file: frame.source_file.as_deref(),
        line: match frame.line {
            Line::Number(line) => Some(line),
            Line::Unknown | Line::Native => None,
        },
        is_native: frame.line == Line::Native,
    }
}

#[derive(Serialize)]
struct OldRow<'a> {
    calls: u64,
    ms: u64,
    callee: &'a str,
    caller: &'a str,
}

#[derive(Serialize)]
struct CpuTableRow<Rows> {
    unit: &'static str,
    total: u64,
    rows: Rows,
}

#[derive(Serialize)]
struct Cost {
    trace: u32,
    cost: u64,
    calls: Option<u64>,
}

fn cpu(table: &CpuTable) -> impl Serialize + use<'_> {
    CpuTableRow {
        unit: match table.kind {
            CpuKind::Samples => "samples",
            CpuKind::Times => "ms",
        },
        total: table.total,
        rows: Rows(|| {
            table.rows.iter().map(|row| Cost {
                trace: row.trace.get(),
                cost: row.cost,
                calls: row.calls,
            })
        }),
    }
}

#[derive(Serialize)]
struct SiteTableRow<Rows> {
    order: &'static str,
    rows: Rows,
}

#[derive(Serialize)]
struct Site<'a> {
    trace: u32,
    class: &'a str,
    live_bytes: u64,
    live_objects: u64,
    allocated_bytes: u64,
    allocated_objects: u64,
}

fn sites(table: &SiteTable) -> impl Serialize + use<'_> {
    SiteTableRow {
        order: match table.order {
            SiteOrder::LiveBytes => "live bytes",
            SiteOrder::AllocatedBytes => "allocated bytes",
        },
        rows: Rows(|| {
            table.rows.iter().map(|row| Site {
                trace: row.trace.get(),
                class: &row.class_name,
                live_bytes: row.live_bytes,
                live_objects: row.live_objects,
                allocated_bytes: row.allocated_bytes,
                allocated_objects: row.allocated_objects,
            })
        }),
    }
}

#[derive(Serialize)]
struct MonitorTableRow<Rows> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    native: bool,
    total_ms: u64,
    rows: Rows,
}

#[derive(Serialize)]
struct Waits<'a> {
    trace: u32,
    class: &'a str,
    count: u64,
    ms: u64,
}

fn monitors(table: &MonitorTable) -> impl Serialize + use<'_> {
    MonitorTableRow {
        native: table.is_native,
        total_ms: table.total_millis,
        rows: Rows(|| {
            table.rows.iter().map(|row| Waits {
                trace: row.trace.get(),
                class: &row.class_name,
                count: row.count,
                ms: row.millis,
            })
        }),
    }
}
