//! `hprof-rs strip`: a heap dump without what its objects hold.

mod found;
mod prove;

use std::cell::Cell;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use hprof_analysis::input::Input;
use hprof_analysis::strip::{Form, StripError, StripPlan, Stripped};
use hprof_server::intake::{StripRules, ThreadNamesRule};
use serde_json::json;

use super::convert;
use crate::blocks::Blocks;
use crate::memory::MemoryArgument;
use crate::open::progress_bar;
use crate::render::out::tell;
use crate::render::screen::{bytes, count, plural};
use crate::strip_rules::{Share, StripWork, ThreadNames, say_bitmaps};
use crate::{what_it_is, written};

/// Write a shareable copy of a heap dump, with all values removed.
///
/// Elements of primitive arrays, and with them the texts of all strings, become zero; so does text
/// outside of the heap that names no class, field or method. Threads are called `thread-1` and so on. Classes, sizes,
/// references, roots and stacks stay, so that histogram, leaks, dominators and paths do not change. `--fields`
/// also empties fields of primitive types. `--keep-strings` and `--keep` let contents stay, `--drop`
/// takes some of these away again. `--redact` lets all contents stay but what looks like a secret.
///
/// `--prove` shows that the copy holds nothing else. Without it, the command reads the file twice, or more often if
/// contents stay. It copies a truncated file up to its end, and a damaged file up
/// to the first damaged place, with status 1. It copies only the head of unknown records.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Strip {
    /// The heap dump, binary, plain or compressed; `-` for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The copy; `.gz` at the end of its name compresses it, `-` is standard output.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Empty the fields of primitive types too: numbers, characters, booleans.
    #[arg(long)]
    fields: bool,

    /// Let the texts of all strings stay.
    #[arg(long)]
    keep_strings: bool,

    /// A field whose value stays: a number, a string, or an array of numbers; may be repeated, `*`
    /// matches any characters.
    #[arg(long, value_name = "CLASS.FIELD")]
    keep: Vec<String>,

    /// A class or field whose values go, also with `--keep-strings`: its numbers, and the strings and
    /// arrays that it refers to; may be repeated, `*` matches any characters.
    #[arg(long, value_name = "CLASS[.FIELD]")]
    drop: Vec<String>,

    /// Let all contents stay, unless `--keep-strings` or `--keep` say which, and overwrite secrets in them by asterisks:
    /// values of properties, variables and fields with names such as `db.password` or `apiKey`, JSON Web
    /// Tokens, AWS keys, private keys, tokens of known services, passwords in URLs and settings, e-mail
    /// addresses, card numbers with a right check digit. What is found in one text goes everywhere.
    #[arg(long)]
    redact: bool,

    /// A regular expression for further secrets, with a group around the secret if that is not all; may be repeated,
    /// implies `--redact`.
    #[arg(long, value_name = "REGEX")]
    redact_pattern: Vec<String>,

    /// Keep, number or remove the names of threads and their groups, in records and as strings [default: as
    /// `java.lang.Thread.name`: `keep` where its text stays, else `number`].
    #[arg(long, value_name = "HOW")]
    thread_names: Option<ThreadNames>,

    /// Write as JSON which secrets were found: kind, hash, name of the property, count, places. Their texts are
    /// not in it. Implies `--redact`.
    #[arg(long, value_name = "LIST.json")]
    redact_list: Option<PathBuf>,

    /// The reader that the copy is for, where it does not take every record of Android dumps.
    #[arg(long = "for", value_name = "READER")]
    form: Option<ForReader>,

    /// Have Android bitmaps with equal pixels refer to one buffer, and leave the others out, as Matrix does.
    #[arg(long, value_name = "HOW")]
    bitmaps: Option<Share>,

    /// Read the finished copy, and write as JSON which contents of the original are still in it, where, and which
    /// policy allows them; status 1 if there are any that none allows. `.gz` at the end of the name compresses it.
    #[arg(long, value_name = "PROOF.json")]
    prove: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgument,
}

/// The readers that copies may be for.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ForReader {
    /// Eclipse MAT, VisualVM: no Android records, as after `hprof-conv`.
    Mat,
    /// Shark of LeakCanary: Android records; arrays have zeros as elements.
    Shark,
    /// KOOM: elements of arrays are left out, as its hook does; its tools fill them in again.
    Koom,
    /// Readers of the record `PRIMITIVE_ARRAY_NODATA`: arrays of zeros have no elements.
    NoData,
}

impl ForReader {
    fn form(self) -> Form {
        match self {
            Self::Mat => Form::Mat,
            Self::Shark => Form::Shark,
            Self::Koom => Form::Koom,
            Self::NoData => Form::NoData,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Mat => "mat",
            Self::Shark => "shark",
            Self::Koom => "koom",
            Self::NoData => "no-data",
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs strip heap.hprof -o stripped.hprof
  hprof-rs strip --fields heap.hprof.gz -o stripped.hprof.gz
  hprof-rs strip --thread-names keep heap.hprof -o stripped.hprof
  hprof-rs strip --keep-strings --drop 'com.example.customer.*' heap.hprof -o stripped.hprof
  hprof-rs strip --redact --redact-pattern 'KD-[0-9]{6}' heap.hprof -o redacted.hprof
  hprof-rs strip --fields --prove proof.json heap.hprof -o stripped.hprof
  hprof-rs strip --for mat android.hprof -o for-mat.hprof
  hprof-rs strip --bitmaps dedupe --keep android.graphics.Bitmap.mBuffer android.hprof -o small.hprof
  ssh host cat heap.hprof | hprof-rs strip - -o stripped.hprof

The copy still has the names of classes and fields, all sizes, and all references. A form of secret
that no detector knows is still in a copy of `--redact`; one without options has no texts at all.";

impl Strip {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let is_same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => a == b,
        };
        ensure!(
            self.output == Path::new("-") || !is_same(&self.file, &self.output),
            "the copy must have another name than the original"
        );
        let reports = [&self.prove, &self.redact_list];
        let reports: Vec<&Path> = reports.into_iter().flatten().map(|it| &**it).collect();
        let has_dump = |it: &&Path| is_same(it, &self.file) || is_same(it, &self.output);
        ensure!(
            !reports.iter().any(has_dump) && !matches!(*reports, [a, b] if is_same(a, b)),
            "original, copy, proof and list of secrets need a name each: another file would be lost"
        );
        ensure!(
            self.prove.is_none() || self.output != Path::new("-"),
            "a proof reads the copy again, so standard output will not do: give -o the name of a file"
        );
        let rules = self.rules();
        let keeps_arrays = rules.keep_strings
            || !rules.keep.is_empty()
            || rules.redact
            || rules.thread_names == Some(ThreadNamesRule::Keep);
        ensure!(
            !keeps_arrays || !matches!(self.form, Some(ForReader::Koom)),
            "dumps of KOOM have no elements of arrays: leave out --keep-strings, --keep, --redact and \
             --thread-names keep, or choose another reader with --for"
        );
        // What comes from a pipe can be read once only.
        let unpacked = match self.file == Path::new("-") {
            true => {
                let mut unpacked = tempfile::tempfile().context("cannot unpack")?;
                let input = Input::open(&self.file)?;
                io::copy(&mut input.into_reader(), &mut unpacked).context("cannot unpack")?;
                Some(unpacked)
            }
            false => {
                // Its errors name the file, and those of the plan do not.
                let opened = Input::open(&self.file).map_err(anyhow::Error::from);
                opened.map_err(|error| what_it_is::explained(&self.file, error))?;
                None
            }
        };
        let read = || -> anyhow::Result<_> {
            let input = match &unpacked {
                Some(file) => Input::of_file("standard input", file)?,
                None => Input::open(&self.file)?,
            };
            let bar = progress_bar(&input);
            Ok(bar.wrap_read(input.into_reader()))
        };
        let name = self.file.display().to_string();
        self.memory.watch(&name);
        let work = StripWork::new(rules)?;
        let policy = work.policy(self.form.map_or(Form::Same, ForReader::form));
        let open = || read().map_err(|error| io::Error::other(format!("{error:#}")));
        let plan = StripPlan::of(open, policy)
            .with_context(|| name.clone())
            .map_err(|error| what_it_is::explained(&self.file, error))?;
        let is_opened = Cell::new(false);
        let stripped = convert::write_whole_with(&self.output, |file| {
            is_opened.set(true);
            let file = BufWriter::with_capacity(1 << 20, file);
            let is_gzip = self.output.extension().is_some_and(|it| it == "gz");
            if is_gzip {
                let mut packer = Blocks::new(file);
                let stripped = plan.copy(read()?, &mut packer)?;
                packer.finish()?;
                Ok(stripped)
            } else {
                Ok(plan.copy(read()?, file)?)
            }
        })
        .map_err(|error| {
            // The file is read from memory, so what the system refuses is to write.
            let is_refused = |cause: &(dyn std::error::Error + 'static)| {
                let cause = match cause.downcast_ref::<StripError>() {
                    Some(StripError::Io(error)) => Some(error),
                    _ => cause.downcast_ref::<io::Error>(),
                };
                cause.is_some_and(|it| it.raw_os_error().is_some())
            };
            match !is_opened.get() || error.chain().any(is_refused) {
                true => error.context(format!("cannot write {}", self.output.display())),
                false => error.context(name.clone()),
            }
        })?;
        say(&name, &self.output, &stripped);
        written::say(
            &self.output,
            "look at it with `hprof-rs summary FILE` before you give it away",
        );
        say_bitmaps(&plan);
        work.say_unused();
        if let Some(secrets) = plan.secrets() {
            found::say(secrets, &stripped);
            if let Some(path) = &self.redact_list {
                found::write(path, &name, secrets)?;
            }
        }
        let mut is_failed = stripped.is_damaged;
        if let Some(path) = &self.prove {
            let copied = prove::Copied {
                original: open,
                original_name: &name,
                copy: &self.output,
                policy: &policy,
                options: self.policy_as_json(work.rules())?,
                memory: self.memory.memory,
            };
            let proof = copied.prove(path)?;
            prove::say(&self.output, path, &proof);
            is_failed |= !proof.is_clean();
        }
        Ok(ExitCode::from(u8::from(is_failed)))
    }

    fn policy_as_json(&self, rules: &StripRules) -> anyhow::Result<serde_json::Value> {
        let mut policy = serde_json::to_value(rules)?;
        policy["for"] = json!(self.form.map(ForReader::word));
        policy["bitmaps"] = json!(self.bitmaps.map(|Share::Dedupe| "dedupe"));
        Ok(policy)
    }

    fn rules(&self) -> StripRules {
        StripRules {
            fields: self.fields,
            keep_strings: self.keep_strings,
            keep: self.keep.clone(),
            drop: self.drop.clone(),
            redact: self.redact || !self.redact_pattern.is_empty() || self.redact_list.is_some(),
            redact_pattern: self.redact_pattern.clone(),
            bitmaps: self.bitmaps.is_some(),
            thread_names: self.thread_names.map(ThreadNamesRule::from),
        }
    }
}

fn say(name: &str, output: &Path, stripped: &Stripped) {
    let output = match output == Path::new("-") {
        true => "standard output".into(),
        false => output.display().to_string(),
    };
    tell!(
        "{output}: {}, of which {} were emptied; {} outside of the heap blanked",
        bytes(stripped.bytes),
        bytes(stripped.emptied),
        plural(stripped.texts, "text", "texts"),
    );
    if stripped.numbered > 0 {
        tell!(
            "{} of threads and groups became numbers (--thread-names keep lets them stay)",
            plural(stripped.numbered, "name", "names"),
        );
    }
    if stripped.unknown > 0 {
        tell!(
            "hprof-rs: {name}: {} of unknown kinds, of which only the heads were copied",
            plural(stripped.unknown, "record", "records"),
        );
    }
    if let Some(end) = stripped.ends_at {
        tell!(
            "hprof-rs: {name} is damaged or cut short at byte {}: the copy ends there \
             (`hprof-rs check` says more)",
            count(end),
        );
    }
}
