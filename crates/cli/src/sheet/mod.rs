//! Pages of commands that read logs or watch a process: a shell with a style, a script and data, which needs nothing else.

use std::path::Path;

use anyhow::bail;
use serde::Serialize;

use crate::render::foreign;

const SHELL: &str = include_str!("page.html");
const STYLE: &str = concat!(include_str!("../report/page.css"), include_str!("page.css"));

/// A kind of page: its own script, and the policy made for it by the build script.
pub struct Sheet {
    /// The title.
    pub title: &'static str,
    /// The script, which begins with the common one.
    pub script: &'static str,
    /// The content security policy.
    pub policy: &'static str,
}

/// The page of garbage collection logs.
pub const GC: Sheet = Sheet {
    title: "Garbage collection",
    script: concat!(
        include_str!("common.js"),
        include_str!("chart.js"),
        include_str!("gc.js")
    ),
    policy: include_str!(concat!(env!("OUT_DIR"), "/gc-policy.txt")),
};

/// The page of thread dumps.
pub const STACKS: Sheet = Sheet {
    title: "Threads",
    script: concat!(include_str!("common.js"), include_str!("stacks.js")),
    policy: include_str!(concat!(env!("OUT_DIR"), "/stacks-policy.txt")),
};

/// The page of a process's memory over time.
pub const MEMORY: Sheet = Sheet {
    title: "Memory",
    script: concat!(
        include_str!("common.js"),
        include_str!("chart.js"),
        include_str!("memory.js")
    ),
    policy: include_str!(concat!(env!("OUT_DIR"), "/memory-policy.txt")),
};

/// The page of findings of a recording.
pub const FINDINGS: Sheet = Sheet {
    title: "Findings",
    script: concat!(include_str!("common.js"), include_str!("findings.js")),
    policy: include_str!(concat!(env!("OUT_DIR"), "/findings-policy.txt")),
};

/// The form of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Tables for a terminal.
    Text,
    /// JSON.
    Json,
    /// A page.
    Page,
}

/// The form that is asked for, by `-o` or `--json`; `-o -` is a page on standard output.
///
/// # Errors
/// If the name of the output ends otherwise.
pub fn form(output: Option<&Path>, json: bool) -> anyhow::Result<Form> {
    let Some(output) = output.filter(|output| *output != Path::new("-")) else {
        return Ok(match (json, output) {
            (true, _) => Form::Json,
            (false, Some(_)) => Form::Page,
            (false, None) => Form::Text,
        });
    };
    let end = output.extension().and_then(|end| end.to_str());
    match end.map(str::to_ascii_lowercase).as_deref() {
        Some("html" | "htm") if !json => Ok(Form::Page),
        Some("json") => Ok(Form::Json),
        _ => bail!(
            "-o {}: end the name in .html for a page or in .json for JSON, which --json asks for too",
            output.display()
        ),
    }
}

impl Sheet {
    /// The page with this data. Its script puts texts in as text only.
    ///
    /// # Errors
    /// If the data cannot be put into JSON, which does not happen.
    pub fn page(&self, data: &impl Serialize) -> serde_json::Result<String> {
        // A `<` could end the script element.
        let data = serde_json::to_string(data)?.replace('<', "\\u003c");
        let page = SHELL
            .replace("/*TITLE*/", self.title)
            .replace("/*POLICY*/", self.policy)
            .replace("/*STYLE*/", STYLE)
            .replace("/*SCRIPT*/", self.script)
            .replace("/*DATA*/", &data);
        Ok(foreign::markup(&page))
    }
}
