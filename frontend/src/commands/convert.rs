//! `hprof-rs convert`: profiles for other tools.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use hprof_analysis::stacks::{CallTree, Weights, by_method};

use super::samples::MeasureArgument;
use crate::open::{self, FileArgument, Opened};
use crate::render::screen::{count, percent, print};
use crate::render::{collapsed, flame_graph, speedscope};

/// Turn a profile into a flame graph or a file for another tool.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Convert {
    #[command(flatten)]
    file: FileArgument,

    /// Where to write; its name tells the format [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The format [default: after the name of the output].
    #[arg(long, value_enum)]
    to: Option<To>,

    #[command(flatten)]
    measure: MeasureArgument,

    /// The title of pictures [default: the name of the file].
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs convert java.hprof.txt -o profile.html       a flame graph and a table, one page
  hprof-rs convert java.hprof.txt -o profile.svg        the flame graph alone
  hprof-rs convert --measure live-bytes java.hprof -o memory.html
  hprof-rs convert java.hprof.txt -o profile.speedscope.json    for https://www.speedscope.app
  hprof-rs convert --to collapsed java.hprof.txt | grep -v Finalizer > stacks.collapsed";

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    /// One line per stack: frames with semicolons between, a blank, the cost.
    Collapsed,
    /// A flame graph.
    Svg,
    /// A page with a flame graph and a table of methods, which needs nothing else.
    Html,
    /// JSON for speedscope.
    Speedscope,
}

/// The methods in the table of a page.
const TABLE_ROWS: usize = 40;

impl Convert {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let to = self.format()?;
        let opened = self.file.open(false, 0)?;
        open::warn_of_damage(&opened);
        let weights = self.measure.weights(&opened)?;
        let text = self.text(to, &opened, &weights)?;
        match &self.output {
            None => print(&text),
            Some(path) => {
                let fail = || format!("cannot write {}", path.display());
                fs::write(path, text).with_context(fail)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }

    fn format(&self) -> anyhow::Result<To> {
        if let Some(to) = self.to {
            return Ok(to);
        }
        let Some(path) = &self.output else {
            bail!("say what to convert to: --to collapsed, svg, html or speedscope");
        };
        let found = format_of_name(path);
        found.with_context(|| {
            format!(
                "the name {} tells no format: end it in .html, .svg, .collapsed or .json, or \
                 give --to",
                path.display()
            )
        })
    }

    fn text(&self, to: To, opened: &Opened, weights: &Weights) -> anyhow::Result<String> {
        let contents = &opened.contents;
        let file_name = Path::new(&opened.name).file_name();
        let file_name = file_name.map_or_else(|| opened.name.clone(), lossy);
        let title = self.title.clone().unwrap_or(file_name);
        if to == To::Speedscope {
            let document = speedscope::document(contents, weights, &title);
            return Ok(serde_json::to_string(&document)? + "\n");
        }
        let tree = CallTree::new(&contents.stacks, weights);
        if to == To::Collapsed {
            let lines = collapsed::lines(&tree);
            return Ok(lines.iter().map(|line| format!("{line}\n")).collect());
        }
        let svg = flame_graph::svg(&tree, weights.measure, &title)?;
        if to == To::Svg {
            return Ok(svg);
        }
        let costs = by_method(&contents.stacks, weights);
        let table = costs.iter().take(TABLE_ROWS).map(|cost| {
            format!(
                "{:>7} {:>15}  {}\n",
                percent(cost.own, weights.total),
                count(cost.own),
                cost.name
            )
        });
        Ok(flame_graph::html(&svg, &title, &table.collect::<String>()))
    }
}

fn lossy(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

fn format_of_name(path: &Path) -> Option<To> {
    match path.extension()?.to_str()? {
        "html" | "htm" => Some(To::Html),
        "svg" => Some(To::Svg),
        "collapsed" | "folded" => Some(To::Collapsed),
        "json" | "speedscope" => Some(To::Speedscope),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        assert_eq!(format_of_name(Path::new("a.b.html")), Some(To::Html));
        assert_eq!(
            format_of_name(Path::new("a.speedscope.json")),
            Some(To::Speedscope)
        );
        assert_eq!(format_of_name(Path::new("a.txt")), None);
        assert_eq!(format_of_name(Path::new("html")), None);
    }
}
