//! Shows which contents of a file are still in a copy of it, and which policy allows them there.
//!
//! All windows of eight bytes of the copy's contents go into a table, a slice of the copy at a time if they are too
//! many; those that the original's contents have too are marked; then the copy is read again, and
//! marked windows that overlap make a run. Windows are compared whole, so no run is there by accident
//! of a hash.

mod allowed;
mod runs;

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::Serialize;

pub use allowed::By;
pub use runs::Run;

use self::allowed::Allowed;
use self::runs::Runs;
use super::contents::{CHUNK, OVERLAP, walk};
use super::redact::Secrets;
use super::shapes::Shapes;
use super::windows::{WINDOW, WindowTable, each_window};
use super::{StripError, StripPolicy};

/// Runs and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// How many runs.
    pub runs: u64,
    /// The bytes of all.
    pub bytes: u64,
}

/// The contents of an original that are in a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Contents that a policy allows, by policy.
    pub allowed: BTreeMap<By, Tally>,
    /// Contents that no policy allows.
    pub forbidden: Tally,
    /// How often the original was read for this: once for each slice of the copy.
    pub slices: u64,
}

impl Proof {
    /// True if a policy allows all that is left.
    pub fn is_clean(&self) -> bool {
        self.forbidden.runs == 0
    }
}

/// Finds every run of eight or more bytes of the original's contents that is still in the contents of a
/// copy. `memory` bounds the bytes of the table of windows. `each` is called with each run
/// in the order of the copy, after those that detectors find in it.
///
/// Contents are strings outside of the heap, elements of primitive arrays, neighbouring fields of primitive
/// types, static fields, and records that cannot be read. Windows of equal bytes, or of two bytes that alternate, tell nothing and
/// are left out.
///
/// # Errors
/// If a file is no HPROF file, reading fails, or `each` fails.
pub fn prove<A: Read, B: Read>(
    mut original: impl FnMut() -> io::Result<A>,
    mut copy: impl FnMut() -> io::Result<B>,
    policy: &StripPolicy<'_>,
    memory: u64,
    each: &mut dyn FnMut(&Run) -> io::Result<()>,
) -> Result<Proof, StripError> {
    let original_shapes = Shapes::of(original()?)?;
    let shapes = Shapes::of(copy()?)?;
    let allowed = Allowed::of(&mut copy, &shapes, policy)?;
    let mut proof = Proof::default();
    let mut known = Secrets::default();
    if let Some(detectors) = policy.detectors {
        known = Secrets::of(&mut original, &original_shapes, detectors)?;
    }
    let mut runs = Runs::new(allowed, &shapes, &known, each);
    if let Some(detectors) = policy.detectors {
        runs.detected(&Secrets::of(&mut copy, &shapes, detectors)?, &mut proof)?;
    }
    let mut from = 0;
    loop {
        let mut table = WindowTable::new(memory, CHUNK + OVERLAP);
        let mut to = None;
        let mut number = 0u64;
        walk(copy()?, &shapes, &mut |_, chunk| {
            if number >= from {
                let mut has_room = true;
                let start = chunk.seen.saturating_sub(WINDOW - 1);
                each_window(chunk.bytes, start, |_, window| {
                    has_room &= table.insert(window);
                });
                if !has_room {
                    to = Some(number);
                    return Ok(false);
                }
            }
            number += 1;
            Ok(true)
        })?;
        proof.slices += 1;
        if !table.is_empty() {
            walk(original()?, &original_shapes, &mut |_, chunk| {
                let start = chunk.seen.saturating_sub(WINDOW - 1);
                each_window(chunk.bytes, start, |_, window| table.mark(window));
                Ok(true)
            })?;
            let slice = from..to.unwrap_or(u64::MAX);
            let mut number = 0u64;
            walk(copy()?, &shapes, &mut |place, chunk| {
                if number >= slice.end {
                    return Ok(false);
                }
                if slice.contains(&number) {
                    let is_last = chunk.is_last || number + 1 == slice.end;
                    runs.see(place, chunk, is_last, &table, &mut proof)?;
                }
                number += 1;
                Ok(true)
            })?;
        }
        match to {
            Some(next) => from = next,
            None => return Ok(proof),
        }
    }
}
