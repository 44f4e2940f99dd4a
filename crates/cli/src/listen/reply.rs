//! The answer to a command as a table.

use std::path::Path;

use hprof_analysis::contents::{Contents, CpuTable, ReadOptions, SiteTable, read};
use hprof_analysis::input::Input;
use hprof_analysis::stacks::{Measure, OwnCosts, Weights};
use serde_json::{Value, json};

use super::agents::Answer;
use super::follow::Summary;
use super::script::Order;
use crate::render::screen::{Align, Style, columns, count, percent, printable};

/// Rows that are shown.
const ROWS: usize = 10;
/// The size in bytes above which a stream gets no table: reading the names in them takes memory.
const MAX_NAMES: u64 = 256 << 20;

/// A table.
#[derive(Debug)]
pub enum Table {
    /// CPU samples or time by method on top.
    Cpu {
        /// The sum.
        total: u64,
        /// Its unit.
        unit: &'static str,
        /// Cost, method and line, the greatest first.
        rows: Vec<(u64, String)>,
        /// Where the cost goes, by the program's methods.
        headline: Option<String>,
    },
    /// Allocation sites.
    Sites(Vec<Site>),
    /// Totals of the heap.
    Summary(Summary),
}

/// An allocation site.
#[derive(Debug)]
pub struct Site {
    class: String,
    at: String,
    live_bytes: u64,
    live_objects: u64,
    allocated_bytes: u64,
    allocated_objects: u64,
}

/// Makes the table of an answer, from the file of its stream; `None` if there is none to make.
pub fn table(answer: &Answer) -> Option<Table> {
    if answer.refused.is_some() {
        return None;
    }
    match answer.order {
        Order::Summary => answer.summary.map(Table::Summary),
        Order::Samples { .. } => {
            let contents = contents(answer.path.as_deref()?)?;
            contents.cpu.last().map(|table| cpu(&contents, table))
        }
        Order::Sites { flags, .. } => {
            let contents = contents(answer.path.as_deref()?)?;
            let table = contents.sites.last()?;
            Some(sites(&contents, table, flags.by_allocated))
        }
        _ => None,
    }
}

/// The first table of a profile, if it has one.
pub fn overview(path: &Path) -> Option<Table> {
    let contents = contents(path)?;
    let of_cpu = contents.cpu.last().map(|table| cpu(&contents, table));
    of_cpu.or_else(|| Some(sites(&contents, contents.sites.last()?, false)))
}

/// The file is still growing, so its end may look damaged.
fn contents(path: &Path) -> Option<Contents> {
    let input = Input::open(path).ok()?;
    let is_text = input
        .mapped()
        .is_some_and(|bytes| bytes.get(18) == Some(&b','));
    if is_text && input.file_bytes.is_none_or(|bytes| bytes > MAX_NAMES) {
        return None;
    }
    let options = ReadOptions {
        with_heap: false,
        ..ReadOptions::default()
    };
    read(input, &options).ok()
}

fn cpu(contents: &Contents, table: &CpuTable) -> Table {
    let top = |row: &hprof_analysis::contents::CpuRow| {
        let frames = contents.stacks.frames_of(row.trace);
        let top = frames.first().map(|&frame| contents.stacks.frame(frame));
        top.map_or("<empty trace>".to_owned(), |frame| frame.name())
    };
    let mut by_method = std::collections::HashMap::<String, u64>::new();
    for row in &table.rows {
        *by_method.entry(top(row)).or_default() += row.cost;
    }
    let mut rows: Vec<(u64, String)> = by_method
        .into_iter()
        .map(|(name, cost)| (cost, name))
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let measure = match table.kind {
        hprof_format::model::CpuKind::Samples => Measure::Samples,
        hprof_format::model::CpuKind::Times => Measure::Time,
    };
    let weights = Weights::of(contents, measure);
    Table::Cpu {
        headline: weights.and_then(|it| {
            OwnCosts::of(&contents.stacks, &it, None, contents.stack_limit()).headline
        }),
        total: table.total,
        unit: match table.kind {
            hprof_format::model::CpuKind::Samples => "samples",
            hprof_format::model::CpuKind::Times => "ms",
        },
        rows,
    }
}

fn sites(contents: &Contents, table: &SiteTable, by_allocated: bool) -> Table {
    let mut rows: Vec<Site> = table
        .rows
        .iter()
        .map(|row| {
            let frames = contents.stacks.frames_of(row.trace);
            let top = frames.first().map(|&frame| contents.stacks.frame(frame));
            Site {
                class: row.class_name.to_string(),
                at: top.map_or("<empty trace>".to_owned(), |frame| {
                    format!("{} ({})", frame.name(), frame.place())
                }),
                live_bytes: row.live_bytes,
                live_objects: row.live_objects,
                allocated_bytes: row.allocated_bytes,
                allocated_objects: row.allocated_objects,
            }
        })
        .collect();
    rows.sort_by_key(|row| {
        std::cmp::Reverse(if by_allocated {
            row.allocated_bytes
        } else {
            row.live_bytes
        })
    });
    Table::Sites(rows)
}

impl Table {
    /// For people: the first rows.
    pub fn text(&self) -> String {
        let style = Style::of_stdout();
        let (text, all) = match self {
            Self::Cpu {
                total,
                unit,
                rows,
                headline,
            } => {
                let lines: Vec<[String; 3]> = rows
                    .iter()
                    .take(ROWS)
                    .map(|(cost, name)| [percent(*cost, *total), count(*cost), printable(name)])
                    .collect();
                let head = [
                    ("self", Align::Right),
                    (*unit, Align::Right),
                    ("method", Align::Left),
                ];
                let first = headline.iter();
                let first: String = first.map(|it| format!("{}\n", printable(it))).collect();
                (first + &columns(style, head, &lines), rows.len())
            }
            Self::Sites(rows) => {
                let lines: Vec<[String; 6]> = rows
                    .iter()
                    .take(ROWS)
                    .map(|row| {
                        [
                            count(row.live_bytes),
                            count(row.live_objects),
                            count(row.allocated_bytes),
                            count(row.allocated_objects),
                            printable(&row.class),
                            printable(&row.at),
                        ]
                    })
                    .collect();
                let head = [
                    ("live bytes", Align::Right),
                    ("objects", Align::Right),
                    ("allocated", Align::Right),
                    ("objects", Align::Right),
                    ("class", Align::Left),
                    ("at", Align::Left),
                ];
                (columns(style, head, &lines), rows.len())
            }
            Self::Summary(it) => {
                let lines = [
                    [
                        "alive".to_owned(),
                        count(it.live_bytes),
                        count(it.live_objects),
                    ],
                    [
                        "allocated".to_owned(),
                        count(it.allocated_bytes),
                        count(it.allocated_objects),
                    ],
                ];
                let head = [
                    ("", Align::Left),
                    ("bytes", Align::Right),
                    ("objects", Align::Right),
                ];
                (columns(style, head, &lines), 0)
            }
        };
        match all.saturating_sub(ROWS) {
            0 => text,
            more => format!("{text}... {} more\n", count(more as u64)),
        }
    }

    /// All of it.
    pub fn json(&self) -> Value {
        match self {
            Self::Cpu {
                total,
                unit,
                rows,
                headline,
            } => {
                let rows: Vec<Value> = rows
                    .iter()
                    .map(|(cost, name)| json!({"method": name, "cost": cost}))
                    .collect();
                json!({"total": total, "unit": unit, "headline": headline, "rows": rows})
            }
            Self::Sites(rows) => {
                let rows = rows.iter().map(|row| {
                    json!({
                        "class": row.class, "at": row.at,
                        "live_bytes": row.live_bytes, "live_objects": row.live_objects,
                        "allocated_bytes": row.allocated_bytes,
                        "allocated_objects": row.allocated_objects,
                    })
                });
                json!({"rows": rows.collect::<Vec<Value>>()})
            }
            Self::Summary(it) => json!({
                "live_bytes": it.live_bytes, "live_objects": it.live_objects,
                "allocated_bytes": it.allocated_bytes, "allocated_objects": it.allocated_objects,
            }),
        }
    }
}
