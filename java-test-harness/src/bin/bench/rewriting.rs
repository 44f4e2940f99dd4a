//! How long the hooks of `cpu=times` take to be put into classes, without a JVM.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use java_test_harness::Jdk;

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median};

/// Rewrites all classes of a JDK on one thread, as often as there are pairs to be.
pub fn rewriting(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let rewrite = std::env::current_exe()?.with_file_name("examples/rewrite-jar");
    ensure!(
        rewrite.exists(),
        "{} is not there: cargo build --release -p hprof-instrument --example rewrite-jar",
        rewrite.display()
    );
    let jdk = Jdk::compiler();
    let folder = tempfile::tempdir()?;
    let (image, rewritten) = (folder.path().join("image"), folder.path().join("rewritten"));
    let extract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/instrument/verify");
    let mut java = Command::new(jdk.tool("java"));
    java.arg(extract.join("ExtractImage.java")).arg(&image);
    output(&mut java)?;
    let mut seconds = Vec::new();
    let mut classes = String::new();
    for _ in 0..arguments.pairs {
        // It tells the time without that of reading and writing files.
        let text = output(Command::new(&rewrite).arg(&image).arg(&rewritten))?;
        seconds.push(value(&text, "seconds ")?.parse()?);
        classes = value(&text, "classes ")?.to_owned();
    }
    let seconds = median(seconds);
    figures.add(Figure {
        benchmark: "rewrite",
        case: format!("classes of {jdk}: {classes}"),
        measure: "time",
        plain: None,
        profiled: seconds,
        unit: "s",
        result: seconds,
        wanted: Wanted::AtMost(2.0),
    });
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let done = command
        .output()
        .with_context(|| format!("{command:?} does not start"))?;
    let error = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{command:?}: {error}");
    Ok(String::from_utf8(done.stdout)?)
}

/// The text after the word at the start of a line.
fn value<'a>(text: &'a str, word: &str) -> Result<&'a str> {
    let found = text.lines().find_map(|line| line.strip_prefix(word));
    found.with_context(|| format!("no \"{word}\" in: {text}"))
}
