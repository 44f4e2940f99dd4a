//! `hprof-rs classloaders`.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::usage::loaders;
use serde_json::json;

use super::listing::Listing;
use crate::render::screen::{Align, Style, columns, count, more, print, print_json, printable};
use crate::snapshot;

/// Show class loaders with what they keep alive, and classes that were loaded more than once.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hprof-rs classloaders heap.hprof")]
pub struct ClassLoaders {
    #[command(flatten)]
    listing: Listing,
}

impl ClassLoaders {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let Listing { heap, json, .. } = &self.listing;
        let snapshot = snapshot::open(&heap.file, &heap.look)?;
        let (mut rows, mut twice) = loaders(&snapshot);
        let left_out = self.listing.cut(&mut rows);
        let twice_left_out = self.listing.cut(&mut twice);
        if *json {
            return print_json(&json!({
                "file": snapshot.name,
                "loaders": rows,
                "loaders_left_out": left_out,
                "duplicate_classes": twice,
                "duplicate_classes_left_out": twice_left_out,
            }));
        }
        let head = [
            ("retained", Align::Right),
            ("classes", Align::Right),
            ("objects", Align::Right),
            ("loader", Align::Left),
        ];
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                [
                    count(row.retained_bytes),
                    count(row.classes),
                    count(row.objects),
                    printable(&row.name),
                ]
            })
            .collect();
        let mut text = columns(Style::of_stdout(), head, &rows) + &more(left_out);
        if !twice.is_empty() {
            let head = [("loaded", Align::Right), ("class", Align::Left)];
            let rows: Vec<_> = (twice.iter())
                .map(|class| [count(class.loaders), printable(&class.name)])
                .collect();
            text.push('\n');
            text.push_str(&columns(Style::of_stdout(), head, &rows));
            text.push_str(&more(twice_left_out));
        }
        print(&text)
    }
}
