//! `hprof-rs export`: heap dumps and profiles as tables of Parquet files.

mod file;
mod labels;
mod place;
#[cfg(feature = "serve")]
mod pushed;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::render::out::tell;
use crate::snapshot::OpenArguments;
use crate::window::Bound;
use anyhow::ensure;
use clap::Args;
use file::Exporter;
use place::Place;

/// Write heap dumps and profiles as tables of Parquet files, for DuckDB, Spark and Trino.
///
/// A table is a folder in DIR: objects, references, classes, histogram, roots, threads, stacks,
/// frames, sites, samples, findings, duplicates, summary. A profile has stacks, frames, sites,
/// samples and summary. Each dump is a partition of its own, by service, host, date and dump. A
/// file gets its name when all tables of its dump are whole, that of summary last. A second
/// export of a dump under equal labels replaces the files.
///
/// Names of classes, fields, methods and threads are in the tables. Texts of strings are not,
/// unless --strings is given.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// Heap dumps and profiles, plain or compressed with gzip, zip, zstd, xz or bzip2; `-` for
    /// standard input.
    #[arg(value_name = "FILE", required_unless_present = "pushed")]
    files: Vec<PathBuf>,

    /// The folder of the tables, which is made if it is not there; or a URL of object storage:
    /// s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, with the keys of the
    /// environment, such as AWS_ACCESS_KEY_ID. Tables wait in the folder for temporary files until
    /// they are sent.
    #[arg(long, value_name = "DIR|URL")]
    parquet: PathBuf,

    /// The service that the program is a part of.
    #[arg(long, value_name = "NAME", default_value = "unknown", value_parser = labels::label)]
    service: String,

    /// The machine that the program ran on.
    #[arg(long, value_name = "NAME", default_value = "unknown", value_parser = labels::label)]
    host: String,

    /// The day of the dump [default: the day in UTC on which it was taken, or the file was written].
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = labels::date)]
    date: Option<String>,

    /// The name of the dump [default: the SHA-256 of the file]. Only for one file.
    #[arg(long, value_name = "NAME", value_parser = labels::label)]
    dump_name: Option<String>,

    /// The build of the program, to compare builds.
    #[arg(long, value_name = "NAME", value_parser = labels::label)]
    build: Option<String>,

    /// Write the texts of strings: the table `strings`, and the texts of duplicates.
    #[arg(long)]
    strings: bool,

    /// Blank what looks like a secret first, as `hprof-rs strip --redact` does. It takes a copy of
    /// each dump in the folder for temporary files.
    #[arg(long)]
    redact: bool,

    /// With --redact, blank what matches this regular expression too; may be repeated.
    #[arg(long, value_name = "REGEX", requires = "redact")]
    redact_pattern: Vec<String>,

    /// Export the profiles that programs pushed to `hprof-rs serve` instead, from the server's folder; the server may run. They
    /// become one file, the name that --parquet gives.
    #[arg(long, value_name = "FOLDER", conflicts_with = "files")]
    pushed: Option<PathBuf>,

    /// With --pushed: the series, such as service="shop",pod=~"a.*" [default: all].
    #[arg(long, value_name = "SELECTOR", requires = "pushed")]
    selector: Option<String>,

    /// With --pushed: a kind of values, such as samples [default: all].
    #[arg(long, value_name = "KIND", requires = "pushed")]
    kind: Option<String>,

    /// With --pushed: only costs from this time on: 2026-11-29T14:03:10Z, or -1h for an hour ago.
    #[arg(
        long,
        value_name = "TIME",
        requires = "pushed",
        allow_hyphen_values = true
    )]
    from: Option<Bound>,

    /// With --pushed: only costs before this time.
    #[arg(
        long = "to",
        visible_alias = "until",
        value_name = "TIME",
        requires = "pushed",
        allow_hyphen_values = true
    )]
    until: Option<Bound>,

    #[command(flatten)]
    look: OpenArguments,
}

#[cfg(feature = "serve")]
use pushed::export as pushed_profiles;

#[cfg(not(feature = "serve"))]
fn pushed_profiles(_: &Export, _: &std::path::Path) -> anyhow::Result<String> {
    Err(crate::not_built::NotBuilt {
        feature: "serve",
        wish: "`export --pushed`",
    }
    .into())
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs export heap.hprof --parquet lake --service shop --host web-1
  hprof-rs export *.hprof.gz --parquet lake --service shop --build 2026.11.3
  hprof-rs export java.hprof.txt --parquet s3://bucket/lake
  hprof-rs export heap.hprof --parquet lake --strings --redact
  hprof-rs export --pushed ~/.local/share/hprof-rs/serve --from -1h --parquet hour.parquet
  duckdb -c \"SELECT class, sum(shallow) FROM 'lake/objects/**/*.parquet' GROUP BY 1 ORDER BY 2 DESC\"
docs/fleet/ has the columns, and questions for many dumps in SQL.";

impl Export {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        ensure!(
            self.dump_name.is_none() || self.files.len() == 1,
            "--dump-name names one dump; leave it out, or give one file"
        );
        if let Some(folder) = &self.pushed {
            let line = pushed_profiles(&self, folder)?;
            tell!("hprof-rs: wrote {line}");
            return Ok(ExitCode::SUCCESS);
        }
        let place = Place::open(&self.parquet)?;
        for path in &self.files {
            let exporter = Exporter {
                arguments: &self,
                place: &place,
            };
            let line = exporter.export(path)?;
            tell!("hprof-rs: wrote {line}");
        }
        Ok(ExitCode::SUCCESS)
    }
}
