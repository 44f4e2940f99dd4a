//! `hprof-rs records`: the records of a binary file in their order.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use hprof_analysis::input::Input;
use hprof_format::binary::Record;
use hprof_format::listing::{Listed, RECORDS, SUB_RECORDS};
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

    /// Show only records of this name or tag: TRACE, UTF8, 0x05. The name of a sub-record, such as
    /// CLASS_DUMP, shows those without --sub too.
    #[arg(long, value_name = "NAME|TAG", value_parser = only)]
    only: Option<Only>,

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
        let is_of_sub_record = |only: &Only| {
            matches!(
                only,
                Only::Name {
                    is_sub_record: true,
                    ..
                }
            )
        };
        let shows_sub = self.sub || self.only.as_ref().is_some_and(is_of_sub_record);
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
                Ok(Event::SubRecord { .. } | Event::LongSubRecord { .. }) if !shows_sub => continue,
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
        match &self.only {
            None => true,
            Some(Only::Tag(tag)) => *tag == line.tag,
            Some(Only::Name { name, .. }) => name.eq_ignore_ascii_case(line.name),
        }
    }
}

/// The records that are wanted.
#[derive(Debug, Clone)]
enum Only {
    Tag(u8),
    Name { name: String, is_sub_record: bool },
}

fn only(text: &str) -> Result<Only, String> {
    if let Some(digits) = text.strip_prefix("0x") {
        let tag = u8::from_str_radix(digits, 16);
        return tag
            .map(Only::Tag)
            .map_err(|_| "a tag is 0x00 to 0xff".to_owned());
    }
    let is_in = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(text));
    let is_sub_record = is_in(&SUB_RECORDS);
    if !is_sub_record && !is_in(&RECORDS) && !is_in(&["UNKNOWN"]) {
        let (records, parts) = (RECORDS.join(", "), SUB_RECORDS.join(", "));
        return Err(format!("records are {records}; their parts {parts}"));
    }
    Ok(Only::Name {
        name: text.to_owned(),
        is_sub_record,
    })
}

fn as_json(line: &Listed) -> serde_json::Value {
    serde_json::json!({
        "offset": line.offset, "tag": line.tag, "name": line.name, "fields": line.fields,
        "is_sub_record": line.is_sub_record,
    })
}
