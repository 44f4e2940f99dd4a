//! Tables for spreadsheets, after RFC 4180.

use std::collections::HashMap;

use anyhow::bail;
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::stacks::Weights;
use hprof_format::ids::TraceSerial;

use super::sheet;
use crate::open::Opened;

/// A line for each stack with all its costs, or for each class of a heap dump.
///
/// # Errors
/// If the file holds neither.
pub fn csv(opened: &Opened, weights: &[Weights], out: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut table = ::csv::Writer::from_writer(out);
    if !weights.is_empty() {
        stacks(opened, weights, &mut table)?;
    } else if opened.contents.dumps.is_empty() && !opened.contents.old_cpu.is_empty() {
        table.write_record(["calls", "ms", "callee", "caller"])?;
        for row in &opened.contents.old_cpu {
            let numbers = (row.count.to_string(), row.millis.to_string());
            let names = (sheet::text(&row.callee), sheet::text(&row.caller));
            table.write_record([&numbers.0, &numbers.1, &names.0, &names.1])?;
        }
    } else if let Some(dump) = opened.contents.dumps.last() {
        table.write_record(["class", "objects", "shallow_bytes"])?;
        for row in histogram(&opened.contents, dump, Group::Class).rows {
            let numbers = (row.objects.to_string(), row.shallow_bytes.to_string());
            table.write_record([&sheet::text(&row.name), &numbers.0, &numbers.1])?;
        }
    } else {
        bail!("{} holds neither a profile nor a heap dump", opened.name);
    }
    table.flush()?;
    Ok(())
}

type Table<'a> = ::csv::Writer<&'a mut Vec<u8>>;

fn stacks(opened: &Opened, weights: &[Weights], table: &mut Table<'_>) -> anyhow::Result<()> {
    let contents = &opened.contents;
    let mut head: Vec<&str> = weights.iter().map(|w| w.measure.name()).collect();
    head.extend(["class", "method", "trace", "thread", "stack"]);
    table.write_record(head)?;
    let mut order: Vec<(TraceSerial, Option<&str>)> = Vec::new();
    let mut rows: HashMap<(TraceSerial, Option<&str>), Vec<u64>> = HashMap::new();
    for (column, weights) in weights.iter().enumerate() {
        for row in &weights.rows {
            let key = (row.trace, row.class.as_deref());
            let values = rows.entry(key).or_insert_with(|| {
                order.push(key);
                Vec::new()
            });
            values.resize(column + 1, 0);
            values[column] += row.value;
        }
    }
    for key in order {
        let (trace, class) = key;
        let mut values = rows.remove(&key).unwrap_or_default();
        values.resize(weights.len(), 0);
        let frames = contents.stacks.frames_of(trace).iter();
        let names: Vec<String> = frames.map(|&at| contents.stacks.frame(at).name()).collect();
        let thread = contents.stacks.trace(trace).and_then(|trace| trace.thread);
        let mut record: Vec<String> = values.iter().map(u64::to_string).collect();
        record.push(sheet::text(class.unwrap_or_default()));
        record.push(
            names
                .first()
                .map_or_else(String::new, |name| sheet::text(name)),
        );
        record.push(trace.to_string());
        record.push(thread.map_or_else(String::new, |serial| serial.to_string()));
        let stack: Vec<&str> = names.iter().rev().map(String::as_str).collect();
        record.push(sheet::text(&stack.join(";")));
        table.write_record(record)?;
    }
    Ok(())
}
