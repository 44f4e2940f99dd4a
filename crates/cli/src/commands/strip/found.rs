//! The secrets that `hprof-rs strip --redact` has found, without their texts.

use std::path::Path;

use anyhow::Context;
use hprof_analysis::strip::{FoundSecret, Secrets, Stripped};
use serde_json::json;

use crate::commands::convert;
use crate::render::foreign::{json as safe, printable};
use crate::render::out::tell;
use crate::render::screen::{bytes, count, plural};

/// The secrets that are shown.
const SHOWN: usize = 20;
/// The characters of a hash that are shown.
const HASH: usize = 8;

/// Shows the secrets that were found most often.
pub(super) fn say(secrets: &Secrets, stripped: &Stripped) {
    let mut found: Vec<&FoundSecret> = secrets.found().iter().collect();
    found.sort_by_key(|secret| std::cmp::Reverse(secret.count));
    tell!(
        "{} found, {} overwritten",
        plural(found.len() as u64, "secret was", "secrets were"),
        bytes(stripped.redacted),
    );
    for secret in found.iter().take(SHOWN) {
        let name = secret.name.as_deref().map_or_else(String::new, |name| {
            format!(", by the name {}", printable(name))
        });
        tell!(
            "  {:<11} #{} of {}, {}, first in {}{name}",
            secret.kind.word(),
            &secret.hash[..HASH],
            plural(secret.length, "character", "characters"),
            plural(secret.count, "time", "times"),
            secret.places.first().map_or("", |place| place),
        );
    }
    if found.len() > SHOWN {
        tell!(
            "  ... {} more (--redact-list has all)",
            count((found.len() - SHOWN) as u64)
        );
    }
}

/// Writes the list of all secrets.
pub(super) fn write(path: &Path, name: &str, secrets: &Secrets) -> anyhow::Result<()> {
    let list = json!({"file": name, "found": secrets.found()});
    let text = format!("{}\n", serde_json::to_string_pretty(&list)?);
    convert::write_whole(path, safe(&text).as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
