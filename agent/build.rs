//! Compiles the Java class that rewritten methods call (`java/`), which the
//! library carries inside. Needs a JDK 11 or later, found at `JAVA_HOME`, on the
//! path, or where Linux distributions put them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const SOURCES: &str = "java";
/// One constant in two values, and where the classes compiled with it go: those for agents that are
/// there before `java.lang.Thread`, and those for agents that are attached later.
const VARIANTS: [(&str, &str); 2] = [("variants/early", ""), ("variants/late", "late")];

fn main() -> ExitCode {
    match compile() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("cargo::error={}", error.trim().replace('\n', " | "));
            ExitCode::FAILURE
        }
    }
}

fn compile() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-changed=variants");
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?);
    for (variant, folder) in VARIANTS {
        let out = out.join(folder);
        fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        compile_variant(variant, &out)?;
    }
    Ok(())
}

fn compile_variant(variant: &str, out: &Path) -> Result<(), String> {
    let sources = Path::new(SOURCES);
    let mut patch = OsString::from("java.base=");
    let joined = env::join_paths([sources, Path::new(variant)]);
    patch.push(joined.map_err(|error| error.to_string())?);
    let mut problems = Vec::new();
    for javac in compilers() {
        // With --release, javac refuses to patch java.base.
        let output = Command::new(&javac)
            .args(["-source", "11", "-target", "11", "-g:none", "-nowarn"])
            .arg("-Xlint:-options")
            .arg("--patch-module")
            .arg(&patch)
            .arg("-d")
            .arg(out)
            .arg(sources.join("java/lang/HprofHooks.java"))
            .arg(sources.join("java/lang/HprofLocks.java"))
            .output();
        match output {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => problems.push(format!(
                "{}: {}",
                javac.display(),
                String::from_utf8_lossy(&output.stderr)
            )),
            Err(error) => problems.push(format!("{}: {error}", javac.display())),
        }
    }
    Err(format!(
        "no javac of JDK 11 or later compiles the agent's Java class; install a JDK or set \
         JAVA_HOME. {}",
        problems.join("; ")
    ))
}

/// Every javac that is there, the preferred one first.
fn compilers() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    folders.extend(env::var_os("JAVA_HOME").map(|home| PathBuf::from(home).join("bin")));
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let mut homes: Vec<PathBuf> = fs::read_dir("/usr/lib/jvm")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    homes.sort();
    folders.extend(homes.into_iter().map(|home| home.join("bin")));
    folders
        .into_iter()
        .map(|folder| folder.join("javac"))
        .filter(|javac| javac.is_file())
        .collect()
}
