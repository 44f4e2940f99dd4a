//! `hprof-rs dump`: a heap dump of a running JVM as a file of the caller.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;

use super::convert;
use crate::capture::{DumpWish, Interrupt, Packing, dump, pack};
use crate::jvm::pick;
use crate::jvm::process::Pid;
use crate::strip_rules::StripArguments;
use crate::written;

/// Write a heap dump of a running JVM.
///
/// The JVM writes the dump below its own /tmp, by HotSpot's attach protocol and without the agent. The command copies
/// it to the caller's folder, out of containers too, and removes the JVM's file however it ends.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Dump {
    /// The JVM's process id, or a part of its program's name, as `hprof-rs ps` shows them.
    #[arg(value_name = "PID|NAME", value_parser = pick::pid)]
    pid: u32,

    /// The file or folder for the dump; `.gz` at the end of its name compresses it [default: `PROGRAM-PID.hprof` in the
    /// current folder, with a number if that exists].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Compress the dump, in blocks that all readers of gzip take.
    #[arg(long)]
    gz: bool,

    /// Have the JVM collect garbage first, and leave unreached objects out.
    #[arg(long)]
    live: bool,

    /// The folder for the JVM's own file, as the JVM sees it.
    #[arg(long, value_name = "DIR", default_value = "/tmp")]
    dump_folder: PathBuf,

    /// The time limit for the JVM's dump, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    timeout: u64,

    #[command(flatten)]
    strip: StripArguments,
}

const EXAMPLES: &str = "\
Examples:
  hprof-rs dump 4242
  hprof-rs dump OrderService -o heap.hprof
  hprof-rs dump 4242 --live --strip -o shareable.hprof.gz";

impl Dump {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let strip = self.strip.work()?;
        let folder = self.folder();
        // Before the JVM is stopped for a file that cannot be written.
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        tempfile::tempfile_in(&folder)
            .with_context(|| format!("cannot write into {}", folder.display()))?;
        let interrupt = Interrupt::watch()?;
        let wish = DumpWish {
            pid: Pid(self.pid),
            is_live: self.live,
            folder: self.dump_folder.clone(),
            limit: Duration::from_secs(self.timeout),
        };
        let (mut file, program) = dump(&wish, &interrupt)?;
        let output = self.place(&folder, &program)?;
        let packing = Packing {
            strip: strip.as_ref(),
            compresses: self.gz || output.extension().is_some_and(|it| it == "gz"),
        };
        let shown = output.display().to_string();
        let room = || tempfile::tempfile_in(&folder).context("cannot pack");
        let mut packed = pack(&mut file, &shown, packing, room)?;
        let from = packed.as_mut().map_or(&mut file, |it| &mut it.file);
        keep(from, &output)?;
        written::say(&output, "next: `hprof-rs report FILE -o report.html`");
        Ok(ExitCode::SUCCESS)
    }

    /// The folder that the file will be in.
    fn folder(&self) -> PathBuf {
        let folder = match &self.output {
            Some(output) if output.is_dir() => return output.clone(),
            Some(output) => output.parent().unwrap_or(Path::new(".")),
            None => Path::new("."),
        };
        match folder.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => folder.to_owned(),
        }
    }

    /// The file to write: as it was named, or a name that no file has.
    fn place(&self, folder: &Path, program: &str) -> anyhow::Result<PathBuf> {
        if let Some(output) = self.output.as_ref().filter(|output| !output.is_dir()) {
            return Ok(output.clone());
        }
        let name = plain(program);
        let end = if self.gz { "hprof.gz" } else { "hprof" };
        let names = (1..1000).map(|number| match number {
            1 => format!("{name}-{}.{end}", self.pid),
            number => format!("{name}-{}-{number}.{end}", self.pid),
        });
        let folder = match folder == Path::new(".") {
            true => Path::new(""),
            false => folder,
        };
        let free = names
            .map(|name| folder.join(name))
            .find(|path| !path.exists());
        ensure!(
            free.is_some(),
            "there are 999 dumps of this process; name the file by -o FILE"
        );
        free.context("no name is free")
    }
}

/// A program's name as part of a file's: the JVM's user chooses it.
fn plain(program: &str) -> String {
    let kept = program.chars().map(|letter| match letter {
        letter if letter.is_ascii_alphanumeric() || "._-".contains(letter) => letter,
        _ => '_',
    });
    let name: String = kept.take(100).collect();
    let name = name.trim_start_matches(['.', '-']);
    match name.is_empty() {
        true => "java".to_owned(),
        false => name.to_owned(),
    }
}

fn keep(file: &mut File, path: &Path) -> anyhow::Result<()> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(0))?;
    convert::write_whole_with(path, |to| Ok(std::io::copy(file, to)?))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(plain("../-x"), "_-x");
        assert_eq!(plain("-o app.jar"), "o_app.jar");
        assert_eq!(plain("..."), "java");
    }
}
