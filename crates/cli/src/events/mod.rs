//! The events of recordings, of any type: which there are, and those of one type with their fields and stacks.

mod lines;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use hprof_analysis::contents::{Contents, ReadError, ReadOptions, read_one_type};
use hprof_analysis::input::{Compression, Input};
use hprof_foreign::jfr::any::{self, Event, Type, Visitor};
use hprof_foreign::jfr::facts::Skipped;
use hprof_foreign::jfr::one_type::OneType;

use crate::recordings::{self, Opened};
use crate::render::out::tell;
use crate::{memory, open, what_it_is};

#[cfg(feature = "query")]
pub use lines::Cell;
#[cfg(feature = "query")]
pub use lines::cell;
pub use lines::{Line, Lines, Order};

/// Types that an error names as near.
const NAMED: usize = 3;
/// Types that an error lists.
const LISTED: usize = 30;
/// Names that differ more are not near.
const NEAR: f64 = 0.75;

/// A recording and the types of its events.
pub struct Recording {
    input: Input,
    /// The size of the file on disk.
    pub file_bytes: Option<u64>,
    /// How it is compressed.
    pub compression: Compression,
    /// The types by name, also those that the recording declares and has no event of.
    pub types: BTreeMap<String, Type>,
}

/// Opens a recording, says where it is damaged, and counts its events.
///
/// # Errors
/// If the file cannot be read, or is no recording.
pub fn open(path: &Path) -> anyhow::Result<Recording> {
    let (recording, skipped, is_cut_short) = find(path)?;
    warn(recording.name(), &skipped, is_cut_short);
    Ok(recording)
}

/// As [`open`], for those who say themselves where the recording is damaged.
///
/// # Errors
/// As [`open`].
pub fn open_to_read(path: &Path) -> anyhow::Result<Recording> {
    let (recording, _, is_cut_short) = find(path)?;
    warn(recording.name(), &Skipped::default(), is_cut_short);
    Ok(recording)
}

fn find(path: &Path) -> anyhow::Result<(Recording, Skipped, bool)> {
    let input = Input::open(path);
    let input = input.map_err(|error| what_it_is::explained(path, error.into()))?;
    match of_input(input)? {
        Ok(found) => Ok(found),
        Err(name) => bail!(
            "{name} is no recording of Flight Recorder, and no other file has events; `hprof-rs summary` shows its contents"
        ),
    }
}

/// Opens a file if it is a recording. Standard input is none, as it can be read only once.
///
/// # Errors
/// If it is a recording and cannot be read.
#[cfg(feature = "query")]
pub fn open_if_recording(path: &Path) -> anyhow::Result<Option<Recording>> {
    if !path.is_file() {
        return Ok(None);
    }
    // The command that reads the file otherwise has the better message.
    let Ok(input) = Input::open(path) else {
        return Ok(None);
    };
    let Ok((recording, skipped, is_cut_short)) = of_input(input)? else {
        return Ok(None);
    };
    warn(recording.name(), &skipped, is_cut_short);
    Ok(Some(recording))
}

/// The recording of an input, or the name of one that is none.
fn of_input(input: Input) -> anyhow::Result<Result<(Recording, Skipped, bool), String>> {
    let (file_bytes, compression) = (input.file_bytes, input.compression);
    let (input, is_cut_short) = match recordings::open(input)? {
        Opened::Recording {
            input,
            is_cut_short,
        } => (input, is_cut_short),
        Opened::Other(input) => return Ok(Err(input.name)),
    };
    let (types, skipped) = with_bar(&input, |bytes, passed| any::types(bytes, passed));
    let recording = Recording {
        input,
        file_bytes,
        compression,
        types,
    };
    Ok(Ok((recording, skipped, is_cut_short)))
}

fn warn(name: &str, skipped: &Skipped, is_cut_short: bool) {
    for note in recordings::damage(name, skipped, is_cut_short) {
        tell!("hprof-rs: {name}: {note}");
    }
}

/// Reads a recording with a sign of life.
fn with_bar<T>(
    input: &Input,
    read: impl FnOnce(&[u8], &mut dyn FnMut(std::ops::Range<usize>)) -> T,
) -> T {
    let bar = open::progress_bar(input);
    let read = read(input.mapped().unwrap_or_default(), &mut |part| {
        memory::has_read(part.len() as u64);
        bar.inc(part.len() as u64);
    });
    bar.finish_and_clear();
    read
}

impl Recording {
    /// The name to show.
    pub fn name(&self) -> &str {
        &self.input.name
    }

    /// The type of events that is asked for, which may lack its package.
    ///
    /// # Errors
    /// If there is none, or it has no events; the error says why and what helps.
    pub fn of_name(&self, asked: &str) -> anyhow::Result<(&str, &Type)> {
        let found = self.types.get_key_value(asked).or_else(|| {
            let mut short = self.types.iter().filter(|(name, _)| last(name) == asked);
            short.next().filter(|_| short.next().is_none())
        });
        let (name, of) = found.with_context(|| self.unknown(asked))?;
        if of.count == 0 {
            bail!("{}: {}", self.name(), self.none_of(name));
        }
        Ok((name, of))
    }

    fn unknown(&self, asked: &str) -> String {
        let mut near: Vec<(f64, &str)> = self
            .types
            .keys()
            .map(|name| {
                let whole = strsim::jaro_winkler(name, asked);
                (
                    whole.max(strsim::jaro_winkler(last(name), last(asked))),
                    &**name,
                )
            })
            .filter(|&(likeness, _)| likeness >= NEAR)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        let near: Vec<&str> = near.into_iter().take(NAMED).map(|(_, name)| name).collect();
        let near = match near.is_empty() {
            true => String::new(),
            false => format!("; near it are {}", near.join(", ")),
        };
        format!(
            "{} has no type of events `{asked}`{near}; {}",
            self.name(),
            self.with_stacks()
        )
    }

    /// The type of events with stacks that is asked for.
    ///
    /// # Errors
    /// As [`Self::of_name`], or if its events have no stacks.
    pub fn with_stacks_of(&self, asked: &str) -> anyhow::Result<(&str, &Type)> {
        let (name, of) = self.of_name(asked)?;
        if of.with_stacks == 0 {
            bail!(
                "{}: none of its {} events {name} has a stack to show; `hprof-rs events {} --event {name}` lists them",
                self.name(),
                of.count,
                self.name()
            );
        }
        Ok((name, of))
    }

    /// The events of a type as a profile.
    ///
    /// # Errors
    /// Errors of [`read_one_type`].
    pub fn profile(
        &self,
        name: &str,
        of: &Type,
        options: &ReadOptions<'_>,
    ) -> Result<Contents, ReadError> {
        let bytes = of.bytes_field();
        read_one_type(
            self.input.mapped().unwrap_or_default(),
            OneType { name, bytes },
            options,
        )
    }

    /// A part of a sentence that names types whose events have stacks, with the number of these.
    pub fn with_stacks(&self) -> String {
        let types = self.types.iter().filter(|(_, of)| of.with_stacks > 0);
        let mut types: Vec<(&String, &Type)> = types.collect();
        types.sort_by_key(|(_, of)| std::cmp::Reverse(of.with_stacks));
        let most = types.iter().take(LISTED);
        let names: Vec<String> = most
            .map(|(name, of)| format!("{name} ({})", of.with_stacks))
            .collect();
        match names.is_empty() {
            true => "no event of it has a stack".to_owned(),
            false => format!(
                "{} of its types have events with stacks, the most {}; `hprof-rs events {}` lists all",
                types.len(),
                names.join(", "),
                self.name()
            ),
        }
    }

    /// A sentence that says why there are no events of a type, by the settings that the recording holds.
    fn none_of(&self, name: &str) -> String {
        let mut settings = Settings {
            of: name,
            is_on: None,
            threshold: None,
        };
        any::read(
            self.input.mapped().unwrap_or_default(),
            &mut settings,
            &mut |_| {},
        );
        let enable =
            format!("record with `jcmd PID JFR.start {name}#enabled=true` (JDK 17 and later)");
        match (settings.is_on, settings.threshold) {
            (Some(false), _) => format!("no event {name}, as its settings leave it out; {enable}"),
            (Some(true), Some(threshold)) => format!(
                "no event {name} took as long as its threshold of {threshold}; a lower one records more: `jcmd PID JFR.start {name}#threshold=0ms` (JDK 17 and later)"
            ),
            (Some(true), None) => {
                format!("no event {name} happened, though its settings had it recorded")
            }
            (None, _) => format!("no event {name} was recorded; {enable}"),
        }
    }

    /// Reads events, whose damage was reported when the recording was opened.
    #[cfg(feature = "query")]
    pub fn visit(&self, visitor: &mut dyn Visitor) -> any::Read {
        with_bar(&self.input, |bytes, passed| {
            any::read(bytes, visitor, passed)
        })
    }

    /// The first events of a type in an order.
    pub fn lines(&self, name: &str, of: &Type, order: Order, most: usize) -> Lines {
        with_bar(&self.input, |bytes, passed| {
            lines::read(bytes, name, of, order, most, passed)
        })
    }
}

/// The last part of the name of a type.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The settings of a type, as far as the recording has them.
struct Settings<'a> {
    of: &'a str,
    is_on: Option<bool>,
    /// As it is written, if it is not zero.
    threshold: Option<String>,
}

impl Visitor for Settings<'_> {
    fn wants(&self, name: &str) -> bool {
        name == "jdk.ActiveSetting"
    }

    fn event(&mut self, event: &mut Event<'_, '_, '_>) {
        if event.type_named_by("id").as_deref() != Some(self.of) {
            return;
        }
        let value = event.text("value").into_owned();
        match &*event.text("name") {
            "enabled" => self.is_on = Some(self.is_on == Some(true) || value == "true"),
            "threshold" => {
                let is_some = value.chars().any(|it| matches!(it, '1'..='9'));
                self.threshold = is_some.then_some(value);
            }
            _ => {}
        }
    }
}
