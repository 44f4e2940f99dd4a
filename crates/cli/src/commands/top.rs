//! `hprof-rs top`: the largest arrays.

use std::process::ExitCode;

use clap::Args;
use hprof_analysis::contents::{Contents, Dump};
use hprof_analysis::heap::{Large, LargeKind, layout};
use hprof_analysis::snapshot::{decimal, of_float};
use hprof_format::binary::BasicType;
use serde_json::{Value, json};

use crate::open::{self, DumpArgument, FileArgument};
use crate::render::screen::{Align, Style, columns, count, print, print_json};

/// Show the largest arrays of a heap dump, with their first elements.
///
/// Only arrays are large by themselves; other objects are small. `histogram` shows classes of many
/// objects.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Top {
    #[command(flatten)]
    file: FileArgument,

    /// The number of arrays.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,

    #[command(flatten)]
    dump: DumpArgument,

    /// Print JSON, with exact numbers.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs top heap.hprof
  hprof-rs top --top 100 --json heap.hprof.gz";

/// The characters of a preview.
const PREVIEW: usize = 48;

impl Top {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        anyhow::ensure!(self.top > 0, "--top 0: give the number of arrays to show");
        let opened = self.file.open(true, self.top)?;
        open::warn_of_damage(&opened);
        let dump = open::select_dump(&opened, &self.dump)?;
        if self.json {
            let rows = as_json(&opened.contents, dump);
            return print_json(&json!({"file": opened.name, "arrays": rows}));
        }
        print(&as_text(&opened.contents, dump, Style::of_stdout()))
    }
}

/// The largest arrays that were kept of a dump, as a table.
pub(super) fn as_text(contents: &Contents, dump: &Dump, style: Style) -> String {
    let (layout, _) = layout(contents, &dump.census);
    let largest = dump.census.largest.sorted(&layout);
    let rows: Vec<[String; 5]> = largest
        .iter()
        .map(|&(bytes, large)| {
            [
                count(bytes),
                count(large.length),
                format!("{:#x}", large.object),
                type_name(contents, large),
                preview(large),
            ]
        })
        .collect();
    let head = [
        ("bytes", Align::Right),
        ("length", Align::Right),
        ("object", Align::Right),
        ("type", Align::Left),
        ("begins with", Align::Left),
    ];
    columns(style, head, &rows)
}

/// The largest arrays that were kept of a dump.
pub(super) fn as_json(contents: &Contents, dump: &Dump) -> Vec<Value> {
    let (layout, _) = layout(contents, &dump.census);
    let largest = dump.census.largest.sorted(&layout);
    let row = |&(bytes, large): &(u64, &Large)| {
        json!({
            "object": format!("{:#x}", large.object),
            "type": type_name(contents, large),
            "length": large.length,
            "shallow_bytes": bytes,
            "preview": preview(large),
        })
    };
    largest.iter().map(row).collect()
}

fn type_name(contents: &Contents, large: &Large) -> String {
    match &large.kind {
        LargeKind::Objects(class) => contents
            .names
            .class(*class)
            .unwrap_or_else(|| format!("<class {class:x}>")),
        LargeKind::Primitives(..) => format!("{}[]", large.element().name()),
    }
}

/// The first elements: text for characters, and for bytes that look like text.
fn preview(large: &Large) -> String {
    let LargeKind::Primitives(_, data) = &large.kind else {
        return String::new();
    };
    let shorten = |text: &str| -> String { text.chars().take(PREVIEW).collect() };
    let element = large.element();
    if element == BasicType::Char {
        let units: Vec<u16> = data
            .chunks_exact(2)
            .map(|unit| u16::from_be_bytes([unit[0], unit[1]]))
            .collect();
        return format!("\"{}\"", shorten(&String::from_utf16_lossy(&units)));
    }
    if element == BasicType::Byte {
        let is_text = |byte: &u8| matches!(byte, 0x20..=0x7e | b'\t' | b'\n' | b'\r');
        if !data.is_empty() && data.iter().all(is_text) {
            return format!("\"{}\"", shorten(&String::from_utf8_lossy(data)));
        }
    }
    let width = element.width(hprof_format::binary::IdSize::Four);
    let values = data
        .chunks_exact(width)
        .take(8)
        .map(|value| show(element, value));
    values.collect::<Vec<_>>().join(" ")
}

/// A big-endian value.
fn show(element: BasicType, value: &[u8]) -> String {
    let mut wide = [0; 8];
    // Values are at most 8 bytes wide.
    let start = 8 - value.len().min(8);
    wide[start..].copy_from_slice(&value[..8 - start]);
    let bits = u64::from_be_bytes(wide);
    match element {
        BasicType::Boolean => (bits != 0).to_string(),
        BasicType::Float => decimal(of_float(f32::from_bits(bits as u32))),
        BasicType::Double => decimal(f64::from_bits(bits)),
        BasicType::Byte => format!("{bits:02x}"),
        BasicType::Short => (bits as i16).to_string(),
        BasicType::Int => (bits as i32).to_string(),
        BasicType::Long => (bits as i64).to_string(),
        BasicType::Char | BasicType::Object => format!("{bits:x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_format::ids::ObjectId;

    fn array(element: BasicType, data: &[u8]) -> String {
        preview(&Large {
            data_bytes: data.len() as u64,
            object: ObjectId::new(1),
            length: 1,
            kind: LargeKind::Primitives(element.code(), data.into()),
        })
    }

    #[test]
    fn previews_show_values() {
        assert_eq!(
            array(BasicType::Int, &[0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 7]),
            "-2 7"
        );
        assert_eq!(array(BasicType::Byte, b"hello\n"), "\"hello\n\"");
        assert_eq!(array(BasicType::Byte, &[0, 0x80]), "00 80");
        assert_eq!(array(BasicType::Char, &[0, b'h', 0, b'i']), "\"hi\"");
        assert_eq!(array(BasicType::Double, &1.5f64.to_be_bytes()), "1.5");
        assert_eq!(array(BasicType::Long, &[]), "");
    }
}
