//! The library inside the command is rebuilt whenever one of its sources changes.

#[path = "../agent_inputs.rs"]
mod agent_inputs;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use flate2::read::ZlibDecoder;

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(arguments)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The folders of the workspace's crates in the agent. Cargo's dependency tree is a witness apart from the
/// build script, which reads cargo's metadata.
fn crates_of_the_agent() -> BTreeSet<PathBuf> {
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
    let folders: BTreeSet<PathBuf> = tree
        .lines()
        .filter_map(|line| {
            line.trim_end_matches(" (*)")
                .split_once(" (")?
                .1
                .strip_suffix(')')
        })
        .filter(|place| place.starts_with('/'))
        .map(PathBuf::from)
        .collect();
    assert!(folders.len() >= 8, "{tree}");
    folders
}

#[test]
fn sources_of_every_crate_in_the_agent_are_inputs_of_the_library() {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1", "--locked"]);
    let inputs = agent_inputs::agent_inputs(&metadata, "hprof-agent").expect("inputs");
    for folder in crates_of_the_agent() {
        for file in ["src", "Cargo.toml"] {
            let path = folder.join(file);
            assert!(
                inputs.contains(&path),
                "{} is no input: {inputs:?}",
                path.display()
            );
        }
    }
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agent/hooks");
    let hooks = hooks.canonicalize().expect("the hook classes");
    assert!(inputs.contains(&hooks), "{inputs:?}");
}

/// Folders that no build of the agent reads.
const NOT_COPIED: [&str; 5] = ["target", "fuzz", "docs", ".git", "data"];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if !path.is_dir() {
            fs::copy(&path, to.join(&name)).expect("a copy");
        } else if !NOT_COPIED.iter().any(|other| name == *other) {
            copy(&path, &to.join(&name));
        }
    }
}

/// Leaves of the command its build script and a program that prints where that script has written.
fn cut_down(command: &Path) {
    let manifest = command.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("the manifest");
    let (head, rest) = text.split_once("[dependencies]").expect("dependencies");
    let (head, _) = head
        .split_once("[features]")
        .expect("features of dependencies");
    let (_, rest) = rest
        .split_once("[build-dependencies]")
        .expect("dependencies of the build script");
    let (build, _) = rest
        .split_once("[dev-dependencies]")
        .expect("dependencies of tests");
    fs::write(&manifest, format!("{head}[build-dependencies]{build}")).expect("a manifest");
    fs::remove_dir_all(command.join("tests")).expect("no tests");
    fs::write(
        command.join("src/main.rs"),
        "//! Prints the folder of the build script.\nfn main() { print!(\"{}\", env!(\"OUT_DIR\")) }\n",
    )
    .expect("a program");
}

/// Leaves of the agent a hook class and a crate that needs another one of the workspace: all crates of others would take
/// minutes, and no more is edited.
fn cut_down_agent(agent: &Path) {
    let manifest = agent.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("the manifest");
    let (head, _) = text.split_once("[features]").expect("features");
    let dependencies = "[dependencies]\nhprof-instrument.workspace = true\n";
    fs::write(&manifest, format!("{head}{dependencies}")).expect("a manifest");
    fs::remove_dir_all(agent.join("src")).expect("no sources");
    fs::create_dir(agent.join("src")).expect("a folder");
    fs::write(
        agent.join("src/lib.rs"),
        "//! Holds a hook class.\n\
         #[unsafe(no_mangle)]\n\
         static HOOK: &[u8] = include_bytes!(\"../hooks/classes/HprofHooks.thread.class\");\n",
    )
    .expect("a library");
}

fn append_a_line(file: &Path) {
    let mut text = fs::read(file).expect("a source file");
    text.push(b'\n');
    fs::write(file, text).expect("a source file");
}

/// Builds the command in a copy of the workspace, without optimisation, and returns when the agent
/// library inside was linked.
fn linked(workspace: &Path) -> SystemTime {
    let target = workspace.join("target");
    let output = Command::new(env!("CARGO"))
        .current_dir(workspace)
        .args(["run", "--quiet", "--offline", "-p", "hprof-rs"])
        .env("CARGO_TARGET_DIR", &target)
        .env("CARGO_PROFILE_AGENT_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_AGENT_LTO", "off")
        .env_remove("HPROF_RS_EMBED")
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let inner = fs::read_dir(Path::new(&out).join("agent")).expect("the inner target folder");
    let library = inner
        .flatten()
        .map(|entry| entry.path().join("agent/libhprof_rs.so"))
        .find(|path| path.exists())
        .expect("the agent library");
    let packed = File::open(Path::new(&out).join("libhprof_rs.so.z")).expect("the packed library");
    let mut embedded = Vec::new();
    ZlibDecoder::new(packed)
        .read_to_end(&mut embedded)
        .expect("the embedded library");
    assert!(
        fs::read(&library).expect("the library") == embedded,
        "the embedded library is another one"
    );
    let metadata = fs::metadata(&library).expect("the agent library");
    metadata.modified().expect("a time stamp")
}

/// The case that this fails for: take the line away in `agent_inputs.rs` that follows dependencies to
/// other crates. An edit in `crates/java-names/src/lib.rs` is then no reason for cargo to run the build script, the
/// command keeps the library linked before, and "the library is stale" is the answer. The test above
/// fails too, in a second instead of minutes.
#[test]
fn an_edit_in_a_crate_of_the_agent_makes_the_library_anew() {
    let temporary = tempfile::tempdir().expect("a folder");
    let workspace = temporary.path().join("workspace");
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."),
        &workspace,
    );
    cut_down(&workspace.join("crates/cli"));
    cut_down_agent(&workspace.join("agent"));
    let mut last = linked(&workspace);
    append_a_line(&workspace.join("crates/cli/src/main.rs"));
    assert_eq!(
        linked(&workspace),
        last,
        "no crate of the agent has changed"
    );
    // The crate on which most others depend; that each is an input is tested above.
    for file in [
        "crates/java-names/src/lib.rs",
        "agent/hooks/classes/HprofHooks.thread.class",
    ] {
        append_a_line(&workspace.join(file));
        let now = linked(&workspace);
        assert!(now > last, "{file}: the library is stale");
        last = now;
    }
}
