//! The library inside the command is made anew whenever a file it is made of changes.

#[path = "../agent_inputs.rs"]
mod agent_inputs;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .args(arguments)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Cargo's dependency tree is the independent witness.
#[test]
fn sources_of_every_crate_in_the_agent_make_the_library_anew() {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1", "--locked"]);
    let inputs = agent_inputs::agent_inputs(&metadata, "hprof-agent").expect("inputs");
    let tree = cargo(&[
        "tree",
        "--locked",
        "--offline",
        "-p",
        "hprof-agent",
        "-e",
        "normal,build",
        "--prefix",
        "none",
        "-f",
        "{p}",
    ]);
    let folders: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| {
            line.trim_end_matches(" (*)")
                .split_once(" (")?
                .1
                .strip_suffix(')')
        })
        .filter(|place| place.starts_with('/'))
        .collect();
    assert!(folders.len() >= 7, "{tree}");
    for folder in folders {
        for file in ["src", "Cargo.toml"] {
            let path = Path::new(folder).join(file);
            assert!(
                inputs.contains(&path),
                "{} is no input: {inputs:?}",
                path.display()
            );
        }
    }
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent/hooks");
    let hooks = hooks.canonicalize().expect("the hook classes");
    assert!(inputs.contains(&hooks), "{inputs:?}");
}
