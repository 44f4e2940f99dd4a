//! The tables of stacks and costs, which heap dumps and profiles share.

use std::collections::HashMap;

use hprof_analysis::contents::Contents;
use hprof_analysis::stacks::{FrameIndex, Measure, Weights};
use hprof_format::model::Line;
use parquet::data_type::ByteArray;

use crate::TableError;
use crate::batch::Cell;
use crate::folder::Writing;

/// The numbers of rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub stacks: u64,
    pub samples: u64,
}

/// Writes `stacks`, `frames`, `sites` and `samples`.
pub fn write(writing: &mut Writing<'_>, contents: &Contents) -> Result<Counts, TableError> {
    let stacks = &contents.stacks;
    let traces = stacks.traces();
    let name = |frame: FrameIndex| stacks.frame(frame).name();
    let stack_rows = writing.table("stacks", |file| {
        file.rows(traces.iter().map(|(serial, trace)| {
            let folded: Vec<String> = trace.frames.iter().rev().map(|&it| name(it)).collect();
            let thread = trace
                .thread
                .map(|thread| Cell::count(u64::from(thread.get())));
            let top = trace.frames.first().map(|&frame| Cell::text(&name(frame)));
            [
                Cell::count(u64::from(serial.get())),
                thread.into(),
                Cell::small(trace.frames.len()),
                top.into(),
                Cell::text(&folded.join(";")),
            ]
        }))
    })?;
    writing.table("frames", |file| {
        let rows = traces.iter().flat_map(|(serial, trace)| {
            let frames = trace.frames.iter().enumerate();
            frames.map(move |(position, &frame)| {
                let frame = stacks.frame(frame);
                let source = frame.source_file.as_deref().map(Cell::text);
                let line = match frame.line {
                    Line::Number(line) => Cell::small(line as usize),
                    Line::Unknown | Line::Native => Cell::Null,
                };
                [
                    Cell::count(u64::from(serial.get())),
                    Cell::small(position),
                    Cell::text(&frame.class_name),
                    Cell::text(&frame.method),
                    source.into(),
                    line,
                    Cell::Boolean(frame.line == Line::Native),
                ]
            })
        });
        file.rows(rows)
    })?;
    writing.table("sites", |file| {
        // A table holds all that happened so far, so the last one counts.
        let rows = contents.sites.last().map_or(&[][..], |table| &table.rows);
        file.rows(rows.iter().map(|row| {
            [
                Cell::text(&row.class_name),
                Cell::count(u64::from(row.trace.get())),
                Cell::count(row.live_bytes),
                Cell::count(row.live_objects),
                Cell::count(row.allocated_bytes),
                Cell::count(row.allocated_objects),
            ]
        }))
    })?;
    let all = Measure::ALL.map(|measure| Weights::of(contents, measure));
    let samples = writing.table("samples", |file| {
        let mut classes: HashMap<Box<str>, ByteArray> = HashMap::new();
        let rows = all.iter().flatten().flat_map(|weights| {
            let measure = ByteArray::from(weights.measure.name());
            let unit = ByteArray::from(weights.measure.unit());
            let rows = weights.rows.iter();
            rows.map(move |row| (measure.clone(), unit.clone(), row))
        });
        file.rows(rows.map(|(measure, unit, row)| {
            let class = row.class.as_ref().map(|class| {
                let shared = classes.entry(class.clone());
                let shared = shared.or_insert_with(|| ByteArray::from(&**class));
                Cell::Text(shared.clone())
            });
            [
                Cell::Text(measure),
                Cell::Text(unit),
                Cell::count(u64::from(row.trace.get())),
                class.into(),
                Cell::count(row.value),
            ]
        }))
    })?;
    Ok(Counts {
        stacks: stack_rows,
        samples,
    })
}
