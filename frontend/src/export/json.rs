//! All of a profile as JSON.

use hprof_analysis::contents::{Contents, CpuTable, MonitorTable, SiteTable};
use hprof_analysis::heap::{Group, histogram};
use hprof_format::model::{CpuKind, Line, SiteOrder};
use serde_json::{Value, json};

use crate::open::Opened;

/// Threads, traces with their frames, and tables; of heap dumps the classes.
///
/// # Errors
/// None but those of `serde_json`.
pub fn json(opened: &Opened, out: &mut Vec<u8>) -> anyhow::Result<()> {
    let contents = &opened.contents;
    let dumps: Vec<Value> = contents
        .dumps
        .iter()
        .map(|dump| json!(histogram(contents, dump, Group::Class)))
        .collect();
    let old: Vec<Value> = contents
        .old_cpu
        .iter()
        .map(|row| json!({"calls": row.count, "ms": row.millis, "callee": row.callee, "caller": row.caller}))
        .collect();
    let document = json!({
        "file": opened.name,
        "created_millis": contents.created_millis,
        "created": contents.created_text,
        "threads": threads(contents),
        "traces": traces(contents),
        "cpu": contents.cpu.iter().map(cpu).collect::<Vec<_>>(),
        "sites": contents.sites.iter().map(sites).collect::<Vec<_>>(),
        "monitors": contents.monitors.iter().map(monitors).collect::<Vec<_>>(),
        "old_cpu": old,
        "dumps": dumps,
        "remarks": contents.comments,
        "damage": contents.damage,
    });
    serde_json::to_writer(&mut *out, &document)?;
    out.push(b'\n');
    Ok(())
}

fn threads(contents: &Contents) -> Vec<Value> {
    let threads = contents.threads.iter().map(|thread| {
        json!({
            "serial": thread.serial.get(),
            "object": format!("{:#x}", thread.object),
            "name": thread.name,
            "group": thread.group,
            "trace": thread.trace.map(|trace| trace.get()),
            "has_ended": thread.has_ended,
        })
    });
    threads.collect()
}

fn traces(contents: &Contents) -> Vec<Value> {
    let traces = contents.stacks.traces().into_iter().map(|(serial, trace)| {
        let frames: Vec<Value> = trace
            .frames
            .iter()
            .map(|&at| {
                let frame = contents.stacks.frame(at);
                let line = match frame.line {
                    Line::Number(line) => Some(line),
                    Line::Unknown | Line::Native => None,
                };
                json!({
                    "class": frame.class_name,
                    "method": frame.method,
                    "file": frame.source_file,
                    "line": line,
                    "is_native": frame.line == Line::Native,
                })
            })
            .collect();
        json!({
            "serial": serial.get(),
            "thread": trace.thread.map(|thread| thread.get()),
            "frames": frames,
        })
    });
    traces.collect()
}

fn cpu(table: &CpuTable) -> Value {
    let rows: Vec<Value> = table
        .rows
        .iter()
        .map(|row| json!({"trace": row.trace.get(), "cost": row.cost, "calls": row.calls}))
        .collect();
    let unit = match table.kind {
        CpuKind::Samples => "samples",
        CpuKind::Times => "ms",
    };
    json!({"unit": unit, "total": table.total, "rows": rows})
}

fn sites(table: &SiteTable) -> Value {
    let rows: Vec<Value> = table
        .rows
        .iter()
        .map(|row| {
            json!({
                "trace": row.trace.get(),
                "class": row.class_name,
                "live_bytes": row.live_bytes,
                "live_objects": row.live_objects,
                "allocated_bytes": row.allocated_bytes,
                "allocated_objects": row.allocated_objects,
            })
        })
        .collect();
    let order = match table.order {
        SiteOrder::LiveBytes => "live bytes",
        SiteOrder::AllocatedBytes => "allocated bytes",
    };
    json!({"order": order, "rows": rows})
}

fn monitors(table: &MonitorTable) -> Value {
    let rows: Vec<Value> = table
        .rows
        .iter()
        .map(|row| {
            json!({
                "trace": row.trace.get(), "class": row.class_name, "count": row.count,
                "ms": row.millis,
            })
        })
        .collect();
    json!({"total_ms": table.total_millis, "rows": rows})
}
