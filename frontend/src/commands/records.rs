//! `hprof-rs records`: the records of a binary file in their order.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use hprof_analysis::input::Input;
use hprof_format::binary::Record;
use hprof_format::listing::Listed;
use hprof_format::reader::{Event, Positioned, StreamError, StreamReader};

use crate::open::PlainFileArgument;
use crate::render::foreign::printable;
use crate::render::out::{Out, tell};
use crate::what_it_is;

/// List the records of a binary file with their offsets.
///
/// One line per record: the offset in the uncompressed file, the tag, the name, the fields.
/// Identifiers are hexadecimal, serials decimal.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Records {
    #[command(flatten)]
    file: PlainFileArgument,

    /// Also show the sub-records of heap dumps, indented.
    #[arg(long)]
    sub: bool,

    /// Show only records of this name or tag: TRACE, UTF8, 0x05.
    #[arg(long, value_name = "NAME|TAG")]
    only: Option<String>,

    /// Stop after N lines, 0 for all.
    #[arg(long, value_name = "N", default_value_t = 0)]
    top: u64,

    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs records java.hprof | less
  hprof-rs records --only TRACE java.hprof
  hprof-rs records --sub heap.hprof | grep ROOT_THREAD_OBJ
  hprof-rs records --json heap.hprof | jq -c 'select(.tag == 12)'";

impl Records {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let input = Input::open(&self.file.file)?;
        let name = input.name.clone();
        self.file.memory.watch(&name);
        let length = input.mapped().map(|bytes| bytes.len() as u64);
        let mut reader = StreamReader::new(input.into_reader())
            .map_err(anyhow::Error::from)
            .with_context(|| format!("{name} has no records to list"))
            .map_err(|error| what_it_is::explained(&self.file.file, error))?;
        if let Some(length) = length {
            reader.set_file_length(length);
        }
        let mut out = Out::new();
        let mut shown = 0;
        let mut is_damaged = false;
        while let Some(event) = reader.next() {
            let line = match event {
                Ok(Event::Record(Positioned {
                    offset,
                    record: Record::Unknown { tag, .. },
                    ..
                })) if self.file.strict => {
                    bail!("at byte {offset}: a record of unknown kind (tag {tag:#04x})")
                }
                Ok(Event::SubRecord { .. } | Event::LongSubRecord { .. }) if !self.sub => continue,
                Ok(event) => Listed::new(&event),
                Err(StreamError::Damage(damage)) => {
                    is_damaged = true;
                    out.flush()?;
                    if self.file.strict {
                        bail!(damage);
                    }
                    tell!("hprof-rs: {damage}");
                    continue;
                }
                Err(error) => bail!(error),
            };
            if !self.wants(&line) {
                continue;
            }
            if self.json {
                out.json(&format!("{}\n", as_json(&line)))?;
            } else {
                out.text(&format!("{}\n", printable(&line.to_string())))?;
            }
            shown += 1;
            if shown == self.top {
                break;
            }
        }
        out.flush()?;
        Ok(ExitCode::from(u8::from(is_damaged)))
    }

    fn wants(&self, line: &Listed) -> bool {
        let Some(only) = &self.only else { return true };
        let tag = only
            .strip_prefix("0x")
            .map(|hex| u8::from_str_radix(hex, 16));
        match tag {
            Some(tag) => tag == Ok(line.tag),
            None => line.name.eq_ignore_ascii_case(only),
        }
    }
}

fn as_json(line: &Listed) -> serde_json::Value {
    serde_json::json!({
        "offset": line.offset, "tag": line.tag, "name": line.name, "fields": line.fields,
        "is_sub_record": line.is_sub_record,
    })
}
