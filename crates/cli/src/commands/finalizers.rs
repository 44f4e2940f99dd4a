//! `hprof-rs finalizers`.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::usage::finalizers;
use serde_json::json;

use super::listing::Listing;
use crate::render::screen::{Align, Style, columns, count, more, print, print_json, printable};
use crate::snapshot;

/// Show objects with a `finalize` method by class, and which of them wait to be finalized.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hprof-rs finalizers heap.hprof")]
pub struct Finalizers {
    #[command(flatten)]
    listing: Listing,
}

impl Finalizers {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let Listing { heap, json, .. } = &self.listing;
        let snapshot = snapshot::open(&heap.file, &heap.look)?;
        let mut rows = finalizers(&snapshot);
        let left_out = self.listing.cut(&mut rows);
        if *json {
            return print_json(&json!({
                "file": snapshot.name,
                "finalizers": rows,
                "rows_left_out": left_out,
            }));
        }
        if rows.is_empty() {
            return print("no object has a finalize method that is still to run\n");
        }
        let head = [
            ("waiting", Align::Right),
            ("their bytes", Align::Right),
            ("held by them", Align::Right),
            ("registered", Align::Right),
            ("class", Align::Left),
        ];
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                [
                    count(row.queued),
                    count(row.queued_bytes),
                    count(row.held_bytes),
                    count(row.registered),
                    printable(&row.name),
                ]
            })
            .collect();
        print(&(columns(Style::of_stdout(), head, &rows) + &more(left_out)))
    }
}
