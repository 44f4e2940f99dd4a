//! The files in `distribution/deploy/` name options that the command has, and kustomize takes them.

#![allow(clippy::disallowed_macros)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Scene, run, stdout};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../distribution/deploy")
}

/// The sub-commands of `args:` and `command:` lists, each with the names of its options.
fn invocations(text: &str) -> Vec<(String, BTreeSet<String>)> {
    let items = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let mut found: Vec<(String, BTreeSet<String>)> = Vec::new();
    for item in items {
        if ["serve", "worker", "capture"].contains(&item) {
            found.push((item.to_owned(), BTreeSet::new()));
        } else if let (Some(option), Some((_, options))) =
            (item.strip_prefix("--"), found.last_mut())
        {
            options.insert(option.split('=').next().unwrap_or_default().to_owned());
        }
    }
    found
}

#[test]
fn containers_are_started_with_options_that_exist() {
    let scene = Scene::new();
    let files = [
        "compose.yaml",
        "kubernetes/server.yaml",
        "kubernetes/worker.yaml",
        "profiled-service/deployment.yaml",
    ];
    let mut checked = 0;
    for file in files {
        let text = fs::read_to_string(deploy().join(file)).expect("the file");
        for (command, options) in invocations(&text) {
            let help = stdout(&run(&mut scene.hprof_rs(&[&command, "--help"]), ""));
            for option in options {
                let name = format!("--{option}");
                let has = |line: &str| line.trim_start().split([' ', ',']).any(|word| word == name);
                assert!(help.lines().any(has), "{file}: {command} has no {name}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 20, "{checked}");
}

#[test]
fn kustomize_takes_the_manifests() {
    let has_kubectl = Command::new("kubectl")
        .arg("version")
        .arg("--client")
        .output();
    if !has_kubectl.is_ok_and(|output| output.status.success()) {
        println!("skipped: no kubectl");
        return;
    }
    let scene = Scene::new();
    let copy = scene.path("kubernetes");
    fs::create_dir(&copy).expect("a folder");
    for entry in fs::read_dir(deploy().join("kubernetes"))
        .expect("the folder")
        .flatten()
    {
        fs::copy(entry.path(), copy.join(entry.file_name())).expect("a copy");
    }
    fs::copy(copy.join("secrets.example.env"), copy.join("secrets.env")).expect("a copy");
    let output = Command::new("kubectl")
        .arg("kustomize")
        .arg(&copy)
        .output()
        .expect("kubectl");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let kinds: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("kind: "))
        .collect();
    for kind in [
        "Deployment",
        "StatefulSet",
        "HorizontalPodAutoscaler",
        "NetworkPolicy",
        "Secret",
    ] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
}
