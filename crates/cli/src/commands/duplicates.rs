//! `hprof-rs duplicates`.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::duplicates::duplicates;
use serde_json::json;

use super::listing::Listing;
use crate::render::screen::{
    Align, Style, bytes, columns, count, plural, print, print_json, printable,
};
use crate::snapshot;

/// Show live strings and arrays of primitives with equal contents, and the memory they waste.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  hprof-rs duplicates --top 10 heap.hprof")]
pub struct DuplicatesCommand {
    #[command(flatten)]
    listing: Listing,
}

impl DuplicatesCommand {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let Listing { heap, json, .. } = &self.listing;
        let snapshot = snapshot::open(&heap.file, &heap.look)?;
        let found = duplicates(&snapshot, self.listing.most())?;
        if *json {
            return print_json(&json!({"file": snapshot.name, "duplicates": found}));
        }
        let head = [
            ("wasted", Align::Right),
            ("times", Align::Right),
            ("each", Align::Right),
            ("kind", Align::Left),
            ("content", Align::Left),
        ];
        let rows: Vec<_> = (found.groups.iter())
            .map(|group| {
                let short: String = group.preview.chars().take(60).collect();
                [
                    count(group.wasted_bytes),
                    count(group.count),
                    count(group.bytes),
                    match group.is_string {
                        true => "String".to_owned(),
                        false => format!("{}[]", group.element),
                    },
                    printable(&short),
                ]
            })
            .collect();
        let mut text = columns(Style::of_stdout(), head, &rows);
        text.push_str(&format!(
            "{}: equal ones waste {}\n",
            plural(
                found.arrays,
                "live array of primitives",
                "live arrays of primitives"
            ),
            bytes(found.wasted_bytes),
        ));
        match found.strings.zip(found.wasted_in_strings) {
            Some((strings, waste)) => text.push_str(&format!(
                "{}: equal ones waste {}, with their arrays (`hprof-rs strings` lists them)\n",
                plural(strings, "string", "strings"),
                bytes(waste)
            )),
            None => text.push_str("Strings are not counted within --memory\n"),
        }
        if found.blank > 0 {
            text.push_str(&format!(
                "{} not compared: their contents were stripped from this dump\n",
                plural(found.blank, "blank array was", "blank arrays were")
            ));
        }
        print(&text)
    }
}
