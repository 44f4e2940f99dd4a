//! Builds the agent library that the command carries inside itself.
//!
//! Cargo gives a binary no way to depend on the file of a `cdylib` (artifact
//! dependencies are unstable), so this runs cargo once more, in a target folder
//! of its own: the outer cargo holds the lock of the usual one. Whatever profile
//! the command is built in, the library inside is the optimised one.

#![allow(clippy::disallowed_macros)]

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha2::{Digest, Sha256};

mod agent_inputs;
#[path = "../stacks/policy.rs"]
mod policy;

const LIBRARY: &str = "libhprof_rs.so";

/// The library as the command carries it, compressed: two fifths of its size.
const PACKED: &str = "libhprof_rs.so.z";

/// The profile of the agent, which has all optimization in whatever profile the command is built.
const PROFILE: &str = "agent";

/// The variable that names a library to embed instead of building one: for packages whose agent is built
/// elsewhere, and for work on the command alone.
const GIVEN: &str = "HPROF_RS_EMBED";

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={}", error.replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let workspace = manifest
        .ancestors()
        .nth(2)
        .ok_or("the command is built from the workspace, which is two folders up")?;
    let out = PathBuf::from(variable("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    if variable("PROFILE")? == "release" && variable("DEBUG")? == "false" {
        // A quarter of a release's file would be names of functions. Cargo forgets a profile's `strip` for a package
        // whose level of optimization is set.
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
        // Instances of generic functions for different types are often equal.
        if takes_link_argument("-Wl,--icf=all", &out) {
            println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        }
    }
    println!("cargo::rerun-if-changed=agent_inputs.rs");
    println!("cargo::rerun-if-env-changed={GIVEN}");
    write_policy(&out, "report", &["report/page.css"], &["report/page.js"])?;
    let style = ["report/page.css", "sheet/page.css"];
    for (name, scripts) in [
        ("gc", &["common.js", "chart.js", "gc.js"][..]),
        ("stacks", &["common.js", "stacks.js"]),
        ("memory", &["common.js", "chart.js", "memory.js"]),
        ("findings", &["common.js", "findings.js"]),
    ] {
        let scripts = scripts.iter().map(|script| format!("sheet/{script}"));
        write_policy(&out, name, &style, &scripts.collect::<Vec<_>>())?;
    }
    if let Some(given) = env::var_os(GIVEN) {
        let given = PathBuf::from(given);
        println!("cargo::rerun-if-changed={}", given.display());
        return embed(&given, &out.join(PACKED));
    }
    for input in agent_inputs::agent_inputs(&metadata(workspace)?, "hprof-agent")? {
        println!("cargo::rerun-if-changed={}", input.display());
    }
    let built = build_agent(workspace, &out.join("agent"))?;
    embed(&built, &out.join(PACKED))
}

/// Writes the content security policy of a page, whose style and script are made of these files.
fn write_policy(
    out: &Path,
    name: &str,
    styles: &[impl AsRef<str>],
    scripts: &[impl AsRef<str>],
) -> Result<(), String> {
    println!("cargo::rerun-if-changed=../stacks/policy.rs");
    let policy = policy::policy(&joined(styles)?, &joined(scripts)?);
    let to = out.join(format!("{name}-policy.txt"));
    fs::write(&to, policy).map_err(|error| format!("{}: {error}", to.display()))
}

/// Files below `src`, one after the other.
fn joined(names: &[impl AsRef<str>]) -> Result<String, String> {
    let read = |name: &str| {
        let path = format!("src/{name}");
        println!("cargo::rerun-if-changed={path}");
        fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
    };
    names.iter().map(|name| read(name.as_ref())).collect()
}

/// Cargo's list of the workspace's packages.
fn metadata(workspace: &Path) -> Result<String, String> {
    let output = Command::new(variable("CARGO")?)
        .current_dir(workspace)
        .args(["metadata", "--no-deps", "--format-version", "1", "--locked"])
        .output()
        .map_err(|error| format!("cannot ask cargo for the workspace's packages: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo does not list the workspace's packages: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

/// Runs the inner cargo; returns where it put the library.
fn build_agent(workspace: &Path, target_dir: &Path) -> Result<PathBuf, String> {
    let target = variable("TARGET")?;
    let mut cargo = Command::new(variable("CARGO")?);
    cargo
        .current_dir(workspace)
        .args([
            "build",
            "--profile",
            PROFILE,
            "--locked",
            "--package",
            "hprof-agent",
            "--lib",
        ])
        // Named even where it is the host's, so that the library's place is known.
        .arg("--target")
        .arg(&target)
        .arg("--target-dir")
        .arg(target_dir)
        // Nothing reads the symbols of a library in a program's body.
        .args(["--config", &format!("profile.{PROFILE}.strip=\"symbols\"")])
        // A build folder that the user shares between projects is locked by the
        // outer cargo.
        .env("CARGO_BUILD_BUILD_DIR", target_dir);
    for (name, _) in env::vars_os().filter(|(name, _)| speaks_of_this_crate(name)) {
        cargo.env_remove(name);
    }
    let output = cargo
        .output()
        .map_err(|error| format!("cannot run cargo for the agent library: {error}"))?;
    if !output.status.success() {
        // Cargo shows what a failed build script printed.
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        return Err(format!(
            "the agent library could not be built ({}); cargo's messages are below",
            output.status
        ));
    }
    Ok(target_dir.join(target).join(PROFILE).join(LIBRARY))
}

/// Returns true if a variable tells about the build of this crate. The inner cargo must
/// not see those; it inherits what the user set, the job server and the flags.
fn speaks_of_this_crate(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    const PREFIXES: &[&str] = &["CARGO_CFG_", "CARGO_FEATURE_", "CARGO_PKG_", "DEP_"];
    const NAMES: &[&str] = &[
        // Set by `cargo clippy`: its driver in the place of the compiler.
        "RUSTC_WORKSPACE_WRAPPER",
        "CLIPPY_ARGS",
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "CARGO_MANIFEST_LINKS",
        "CARGO_PRIMARY_PACKAGE",
        "CARGO_BUILD_TARGET",
        "CARGO_BUILD_TARGET_DIR",
        "CARGO_TARGET_DIR",
        "OUT_DIR",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || NAMES.contains(&name.as_ref())
}

/// Returns true if the linker takes an argument: LLD folds equal functions, GNU's linker refuses to.
fn takes_link_argument(argument: &str, out: &Path) -> bool {
    let (Ok(rustc), Ok(target)) = (variable("RUSTC"), variable("TARGET")) else {
        return false;
    };
    let (source, program) = (out.join("linked.rs"), out.join("linked"));
    let mut command = Command::new(rustc);
    command.arg("--target").arg(target).arg("-o").arg(&program);
    command.arg(format!("-Clink-arg={argument}"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = OsString::from("-Clinker=");
        option.push(linker);
        command.arg(option);
    }
    for flag in env::var("CARGO_ENCODED_RUSTFLAGS")
        .unwrap_or_default()
        .split('\u{1f}')
        .filter(|flag| !flag.is_empty())
    {
        command.arg(flag);
    }
    let linked = fs::write(&source, "fn main() {}")
        .and_then(|()| command.arg(&source).output())
        .is_ok_and(|output| output.status.success());
    let _ = fs::remove_file(&program);
    linked
}

/// Puts the library, compressed, where the source includes it, and tells its hash.
fn embed(built: &Path, to: &Path) -> Result<(), String> {
    let describe = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    let library = fs::read(built).map_err(|error| describe(built, error))?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let packed = packed
        .write_all(&library)
        .and_then(|()| packed.finish())
        .map_err(|error| describe(built, error))?;
    // Written only if it changed, since cargo rebuilds the command by its time stamp.
    if fs::read(to).ok().as_deref() != Some(&packed) {
        fs::write(to, &packed).map_err(|error| describe(to, error))?;
    }
    println!("cargo::rustc-env=HPROF_RS_AGENT_BYTES={}", library.len());
    let hash: String = Sha256::digest(&library)
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo::rustc-env=HPROF_RS_AGENT_HASH={hash}");
    Ok(())
}

fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name).ok_or_else(|| format!("cargo did not set {name}"))
}
