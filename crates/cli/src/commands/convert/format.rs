//! The formats that profiles are converted to.

use std::path::Path;

use clap::ValueEnum;

use crate::render::foreign;

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum To {
    /// One line per stack: frames with semicolons between, a blank, the cost.
    Collapsed,
    /// A flame graph.
    Svg,
    /// A self-contained page with flame graphs and tables of methods.
    Html,
    /// Gzipped Protocol Buffers for pprof.
    Pprof,
    /// Protocol Buffers of OpenTelemetry: a request of OTLP, the alpha of profiles.
    Otlp,
    /// JSON for speedscope.
    Speedscope,
    /// JSON for the Firefox Profiler.
    Firefox,
    /// Comma-separated values: stacks with all their costs, or the classes of a heap dump.
    Csv,
    /// All threads, traces and tables as JSON.
    Json,
    /// A recording for `jfr` and JDK Mission Control: samples, allocation, contention.
    Jfr,
    /// HPROF's text format, without heap dumps.
    Text,
    /// HPROF's binary format, without heap dumps.
    Binary,
}

impl To {
    /// The advice on how to use the file.
    pub(super) fn next(self) -> &'static str {
        match self {
            Self::Html | Self::Svg => "open it in a browser",
            Self::Collapsed => "flamegraph.pl and https://www.speedscope.app draw it",
            Self::Pprof => "look at it with `go tool pprof -http :8000 FILE`",
            Self::Otlp => "send it to /v1development/profiles of an OpenTelemetry collector",
            Self::Speedscope => "open it at https://www.speedscope.app",
            Self::Firefox => "open it at https://profiler.firefox.com",
            Self::Csv => "open it in a spreadsheet",
            Self::Jfr => "look at it with `jfr summary FILE` or JDK Mission Control",
            Self::Json => "look at it with `jq . FILE`",
            Self::Text | Self::Binary => "look at it with `hprof-rs summary FILE`",
        }
    }

    /// The file without characters that a terminal or browser would obey; pprof and HPROF are for
    /// programs alone.
    pub(super) fn harmless(self, file: Vec<u8>) -> Vec<u8> {
        let harmless = match self {
            Self::Html | Self::Svg => foreign::markup,
            Self::Json | Self::Speedscope | Self::Firefox => foreign::json,
            Self::Collapsed => foreign::page,
            Self::Text => foreign::hprof_text,
            // Its cells have been seen to.
            Self::Csv | Self::Pprof | Self::Otlp | Self::Jfr | Self::Binary => return file,
        };
        match std::str::from_utf8(&file) {
            Ok(text) => harmless(text).into_bytes(),
            Err(_) => file,
        }
    }
}

/// Returns true if a file may have a name that tells one format and hold the other.
pub(super) fn suits(named: To, to: To) -> bool {
    named == to
        || match named {
            To::Json => matches!(to, To::Speedscope | To::Firefox),
            To::Text => to == To::Collapsed,
            _ => false,
        }
}

pub(super) fn no_format(path: &Path) -> String {
    format!(
        "the name {} tells no format: end it in .html, .svg, .collapsed, .pb.gz, .otlp, .speedscope.json, \
         .firefox.json, .jfr, .csv, .json, .txt or .hprof",
        path.display()
    )
}

/// A format as the option has it.
pub(super) fn value_name(to: To) -> String {
    let value = to.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

pub(super) fn format_of_name(path: &Path) -> Option<To> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let known = [
        (".html", To::Html),
        (".htm", To::Html),
        (".svg", To::Svg),
        (".collapsed", To::Collapsed),
        (".folded", To::Collapsed),
        (".pb.gz", To::Pprof),
        (".pprof", To::Pprof),
        (".otlp", To::Otlp),
        (".otlp.gz", To::Otlp),
        (".speedscope.json", To::Speedscope),
        (".speedscope", To::Speedscope),
        (".firefox.json", To::Firefox),
        (".jfr", To::Jfr),
        (".csv", To::Csv),
        (".json", To::Json),
        (".txt", To::Text),
        (".hprof", To::Binary),
        (".bin", To::Binary),
    ];
    let found = known
        .iter()
        .find(|(end, _)| name.ends_with(end) && name.len() > end.len());
    found.map(|&(_, to)| to)
}
