//! Which files the agent library is made of, from cargo's own list of the workspace's packages, so that
//! no crate the agent comes to depend on can be forgotten.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Folders of a package that its library is not made of.
const NOT_BUILT: [&str; 6] = [
    "tests",
    "examples",
    "benches",
    "fuzz",
    "proptest-regressions",
    "verify",
];

/// The files and folders whose change makes another agent library, from the text that `cargo metadata
/// --no-deps --format-version 1` prints: those of the package `agent` and of the workspace's packages
/// it depends on, and the workspace's manifest and lock file.
///
/// # Errors
///
/// If the text or a folder cannot be read.
pub fn agent_inputs(metadata: &str, agent: &str) -> Result<BTreeSet<PathBuf>, String> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("no packages")?;
    let mut inputs = BTreeSet::new();
    let mut open = vec![agent.to_owned()];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let package = packages
            .iter()
            .find(|package| package["name"] == *name)
            .ok_or_else(|| format!("no package {name} in the workspace"))?;
        inputs.extend(files_of(package)?);
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        open.extend(
            dependencies
                .filter(|dependency| !dependency["path"].is_null() && dependency["kind"] != "dev")
                .filter_map(|dependency| dependency["name"].as_str())
                .map(str::to_owned),
        );
    }
    let root = metadata["workspace_root"].as_str().ok_or("no root")?;
    inputs.extend(["Cargo.toml", "Cargo.lock"].map(|file| Path::new(root).join(file)));
    Ok(inputs)
}

fn files_of(package: &Value) -> Result<Vec<PathBuf>, String> {
    let manifest = package["manifest_path"].as_str().ok_or("no manifest")?;
    let folder = Path::new(manifest).parent().ok_or("no folder")?;
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            !NOT_BUILT.iter().any(|other| name == *other)
                && !name.as_encoded_bytes().starts_with(b".")
        })
        .map(|entry| entry.path())
        .collect())
}
