//! The remains of a process that was killed or has crashed.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};
use hprof_process_memory::Bytes;
use hprof_process_memory::post_mortem::{self, Remains};

use super::saved::Saved;
use crate::render::screen::{count, printable};
use crate::render::table;

/// Larger files are no reports of a crash.
const MAX_BYTES: u64 = 256 << 20;

/// What a file has kept of a process.
pub enum Kept {
    /// A report of its end.
    Remains(Box<Remains>),
    /// A recording of its memory.
    Recording(Box<Saved>),
}

/// Reads an `hs_err` file, lines of the kernel's log, or the JSON of a recording; `-` is standard input.
///
/// # Errors
/// If the file cannot be read, or is neither.
pub fn read(path: &Path) -> anyhow::Result<Kept> {
    let mut bytes = Vec::new();
    let read = match path == Path::new("-") {
        true => io::stdin().take(MAX_BYTES).read_to_end(&mut bytes),
        false => fs::File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)),
    };
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    if let Some(saved) = Saved::read(&text) {
        return Ok(Kept::Recording(Box::new(saved)));
    }
    match post_mortem::read(&text) {
        Some(remains) => Ok(Kept::Remains(Box::new(remains))),
        None => bail!(
            "{}: neither an hs_err file of a JVM nor a line of the kernel's log with \"Killed process\" (`journalctl -k` or \
             `dmesg` prints them) nor the JSON of `hprof-rs memory --record`",
            path.display()
        ),
    }
}

/// The remains as text.
pub fn text(remains: &Remains) -> String {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    let size = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.to_string());
    fact("reason", remains.reason.as_deref().map(printable));
    if let Some(kill) = &remains.kill {
        fact(
            "killed",
            Some(format!(
                "process {} ({}): {} were short of memory; {} resident, {} of it of no file",
                kill.pid,
                printable(&kill.name),
                match kill.by_group {
                    true => "its cgroup (container)",
                    false => "the machine",
                },
                kill.resident(),
                kill.anonymous
            )),
        );
    }
    if let Some(heap) = &remains.heap {
        let text = format!(
            "{} committed, {} used ({})",
            heap.committed,
            heap.used,
            printable(&heap.name)
        );
        fact("heap", Some(text));
        fact(
            "metaspace",
            heap.metaspace
                .map(|space| format!("{} committed", space.committed)),
        );
    }
    fact("-Xmx", size(remains.max_heap));
    fact("resident", size(remains.resident));
    fact("peak", size(remains.peak));
    fact("limit", size(remains.limit));
    fact("in cgroup", size(remains.in_group));
    fact("machine", size(remains.machine));
    fact("free", size(remains.free));
    let threads = remains.threads;
    fact("threads", (threads > 0).then(|| count(threads)));
    if let Some(tracking) = &remains.tracking {
        let mut categories: Vec<_> = tracking.categories.iter().collect();
        categories.sort_by_key(|category| std::cmp::Reverse(category.committed));
        let parts = categories.iter().take(6);
        let parts: Vec<String> = parts
            .map(|category| format!("{} {}", printable(&category.name), category.committed))
            .collect();
        fact("JVM counts", Some(parts.join(", ")));
    }
    format!("{}\n\n{}", remains.conclusion(), table::facts(facts))
}
