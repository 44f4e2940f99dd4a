//! `hprof-rs collections`.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::usage::{CollectionRow, collections};
use serde_json::json;

use super::listing::Listing;
use crate::render::screen::{
    Align, Style, columns, count, more, plural, print, print_json, printable,
};
use crate::snapshot;

/// Show how collections are used, by class: how many are empty, how full their arrays are, how many
/// entries of hash tables collide.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hprof-rs collections heap.hprof")]
pub struct Collections {
    #[command(flatten)]
    listing: Listing,
}

impl Collections {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let Listing { heap, json, .. } = &self.listing;
        let snapshot = snapshot::open(&heap.file, &heap.look)?;
        let mut rows = collections(&snapshot);
        let unknown: u64 = rows.iter().map(|row| row.unknown).sum();
        let left_out = self.listing.cut(&mut rows);
        if *json {
            return print_json(&json!({
                "file": snapshot.name,
                "collections": rows,
                "rows_left_out": left_out,
            }));
        }
        let head = [
            ("wasted", Align::Right),
            ("collections", Align::Right),
            ("empty", Align::Right),
            ("elements", Align::Right),
            ("full", Align::Right),
            ("collisions", Align::Right),
            ("class", Align::Left),
        ];
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                [
                    count(row.wasted_bytes),
                    count(row.collections),
                    of_known(row, row.empty),
                    of_known(row, row.elements),
                    match row.capacity {
                        0 => "-".to_owned(),
                        all => format!("{}%", 100 * (all - row.unused) / all),
                    },
                    count(row.collisions),
                    printable(&row.name),
                ]
            })
            .collect();
        let mut text = columns(Style::of_stdout(), head, &rows) + &more(left_out);
        if unknown > 0 {
            text.push_str(&format!(
                "?: the number of elements is unknown for {}; other figures omit them\n",
                plural(unknown, "collection", "collections")
            ));
        }
        print(&text)
    }
}

/// A figure of those collections of a class whose elements could be counted.
fn of_known(row: &CollectionRow, figure: u64) -> String {
    match row.unknown {
        0 => count(figure),
        all if all == row.collections => "?".to_owned(),
        _ => format!("{} + ?", count(figure)),
    }
}
