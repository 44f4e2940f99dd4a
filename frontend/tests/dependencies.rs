//! Licences, bans and sources of all dependencies, as deny.toml states them.
//!
//! cargo-deny makes these checks too, and more; compiling it takes longer than all tests of a fresh clone
//! may. This test reads the keys of its configuration that deny.toml uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use spdx::{Expression, LicenseItem, ParseMode};

#[derive(Deserialize)]
struct Deny {
    licenses: Licences,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
    exceptions: Vec<LicenceException>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct LicenceException {
    #[serde(rename = "crate")]
    name: String,
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
    skip: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    /// A crate, or `crate@version` with as many parts of the version as matter.
    #[serde(rename = "crate")]
    spec: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: BTreeSet<String>,
}

/// A package of the dependency graph for this machine.
#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// None for the crates of the workspace.
    source: Option<String>,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn deny() -> Deny {
    let text = fs::read_to_string(workspace().join("deny.toml")).expect("deny.toml");
    toml::from_str(&text).expect("the configuration of cargo-deny")
}

fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .current_dir(workspace())
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", "host-tuple"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages: Vec<Package> =
        serde_json::from_value(metadata["packages"].clone()).expect("packages");
    assert!(packages.len() > 100, "{} packages", packages.len());
    packages
}

/// The licences in an expression by which it can be satisfied with those that are allowed.
fn accepted(licence: &str, allowed: &BTreeSet<&str>) -> Option<BTreeSet<String>> {
    let expression = Expression::parse_mode(licence, ParseMode::LAX).ok()?;
    let mut used = BTreeSet::new();
    expression
        .evaluate(|term| match &term.license {
            LicenseItem::Spdx { id, .. } if term.addition.is_none() => {
                let is_allowed = allowed.contains(id.name);
                if is_allowed {
                    used.insert(id.name.to_owned());
                }
                is_allowed
            }
            _ => false,
        })
        .then_some(used)
}

fn matches(spec: &str, package: &Package) -> bool {
    let (name, version) = spec.split_once('@').unwrap_or((spec, ""));
    name == package.name
        && package
            .version
            .strip_prefix(version)
            .is_some_and(|rest| version.is_empty() || rest.is_empty() || rest.starts_with('.'))
}

#[test]
fn every_licence_is_allowed() {
    let Licences { allow, exceptions } = deny().licenses;
    let mut seen = BTreeSet::new();
    for package in packages() {
        let own = exceptions.iter().filter(|it| it.name == package.name);
        let allowed = allow
            .iter()
            .chain(own.flat_map(|it| &it.allow))
            .map(String::as_str)
            .collect();
        let licence = package.license.as_deref().unwrap_or("none");
        let used = accepted(licence, &allowed);
        seen.extend(used.unwrap_or_else(|| {
            panic!(
                "{} {} has the licence {licence}",
                package.name, package.version
            )
        }));
    }
    let unused: Vec<&String> = allow.difference(&seen).collect();
    assert!(unused.is_empty(), "no crate has {unused:?}");
}

#[test]
fn licences_that_put_conditions_on_users_are_refused() {
    let allowed = BTreeSet::from(["MIT", "Apache-2.0"]);
    for licence in ["GPL-3.0-only", "MIT AND AGPL-3.0-only", "none", ""] {
        assert_eq!(accepted(licence, &allowed), None, "{licence}");
    }
    for licence in ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT"] {
        assert!(accepted(licence, &allowed).is_some(), "{licence}");
    }
}

#[test]
fn no_crate_is_banned_or_there_in_two_versions() {
    let Bans { deny, skip } = deny().bans;
    let packages = packages();
    for package in &packages {
        let banned = deny.iter().find(|ban| matches(&ban.spec, package));
        assert!(banned.is_none(), "{} is banned", package.name);
    }
    let mut versions: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
    for package in &packages {
        versions.entry(&package.name).or_default().push(package);
    }
    let repeated: Vec<&Package> = versions
        .into_values()
        .filter(|these| these.len() > 1)
        .flatten()
        .collect();
    for ban in &skip {
        assert!(
            repeated.iter().any(|package| matches(&ban.spec, package)),
            "{} need not be skipped any more",
            ban.spec
        );
    }
    let mut left = BTreeMap::new();
    for package in repeated {
        if !skip.iter().any(|ban| matches(&ban.spec, package)) {
            left.entry(&package.name)
                .or_insert_with(Vec::new)
                .push(&package.version);
        }
    }
    left.retain(|_, versions| versions.len() > 1);
    assert!(left.is_empty(), "more than one version of {left:?}");
}

#[test]
fn every_crate_comes_from_an_allowed_registry() {
    let allowed = deny().sources.allow_registry;
    for package in packages() {
        let Some(source) = package.source else {
            continue;
        };
        assert!(
            source
                .strip_prefix("registry+")
                .is_some_and(|registry| allowed.contains(registry)),
            "{} comes from {source}",
            package.name
        );
    }
}
