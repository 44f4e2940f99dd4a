//! `hprof-rs strip --prove`: a file that says which contents are left in a copy, and why.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::Context;
use hprof_analysis::strip::{Proof, Run, StripPolicy, prove};
use serde_json::json;

use crate::blocks::Blocks;
use crate::commands::convert;
use crate::memory::free_bytes;
use crate::open::progress_bar;
use crate::render::foreign::json as safe;
use crate::render::out::tell;
use crate::render::screen::{bytes, plural};
use hprof_analysis::input::Input;

/// The words in the proof on what it looks at.
const RULE: &str = "every run of eight or more bytes of the original's contents that is in the \
     contents of the copy; contents are strings outside of the heap, elements of primitive arrays, \
     neighbouring fields of primitive types, static fields, and whatever cannot be read; runs of \
     equal bytes, or of two bytes that alternate, are left out; a hash has a key that is not kept";

/// A finished copy, and what it was made of.
pub(super) struct Copied<'c, O> {
    /// Opens the original.
    pub original: O,
    pub original_name: &'c str,
    pub copy: &'c Path,
    pub policy: &'c StripPolicy<'c>,
    /// The policy as the options say it.
    pub options: serde_json::Value,
    /// The memory limit, if one is given.
    pub memory: Option<u64>,
}

impl<R: Read, O: FnMut() -> io::Result<R>> Copied<'_, O> {
    /// Reads original and copy, and writes the proof.
    pub fn prove(self, path: &Path) -> anyhow::Result<Proof> {
        let proof = convert::write_whole_with(path, |file| {
            let file = BufWriter::with_capacity(1 << 20, file);
            match path.extension().is_some_and(|it| it == "gz") {
                true => {
                    let mut packer = Blocks::new(file);
                    let proof = self.write(&mut packer)?;
                    packer.finish()?;
                    Ok(proof)
                }
                false => {
                    let mut file = file;
                    let proof = self.write(&mut file)?;
                    file.flush()?;
                    Ok(proof)
                }
            }
        });
        proof.with_context(|| format!("cannot prove {}", path.display()))
    }

    fn write(self, out: &mut dyn Write) -> anyhow::Result<Proof> {
        let name = self.copy.display().to_string();
        let head = json!({
            "original": self.original_name,
            "copy": name,
            "policy": self.options,
            "rule": RULE,
        });
        // The list is written while it is found, since it may be longer than memory.
        let head = safe(&head.to_string());
        write!(out, "{},\n\"runs\":[", head.trim_end_matches('}'))?;
        let mut is_first = true;
        let mut each = |run: &Run| {
            out.write_all(if is_first { b"\n" } else { b",\n" })?;
            is_first = false;
            out.write_all(safe(&serde_json::to_string(run)?).as_bytes())
        };
        let read = || -> io::Result<_> {
            let input =
                Input::from_file(&name, &File::open(self.copy)?).map_err(io::Error::other)?;
            let bar = progress_bar(&input);
            Ok(bar.wrap_read(input.into_reader()))
        };
        let memory = self.memory.or_else(free_bytes).unwrap_or(1 << 30) / 2;
        let proof = prove(self.original, read, self.policy, memory, &mut each)?;
        let tail = json!({"summary": proof, "is_clean": proof.is_clean()}).to_string();
        writeln!(out, "\n],\n{}", tail.trim_start_matches('{'))?;
        Ok(proof)
    }
}

/// Says whether the copy is clean.
pub(super) fn say(copy: &Path, path: &Path, proof: &Proof) {
    let allowed: u64 = proof.allowed.values().map(|tally| tally.runs).sum();
    let size: u64 = proof.allowed.values().map(|tally| tally.bytes).sum();
    tell!(
        "{}: {} of the original ({}) are in the copy, and the policy allows them",
        path.display(),
        plural(allowed, "run", "runs"),
        bytes(size),
    );
    if !proof.is_clean() {
        tell!(
            "hprof-rs: {} of the original ({}) are in {} and no policy allows them: do not give it \
             away (the entries of {} without `allowed_by` say where)",
            plural(proof.forbidden.runs, "run", "runs"),
            bytes(proof.forbidden.bytes),
            copy.display(),
            path.display(),
        );
    }
}
