//! Compiles the Java programs, once per content of the sources.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::Jdk;
use crate::agent::{target_folder, workspace};

/// The folder with the programs' sources, one file per program, in the unnamed package. A folder in it is a package of another
/// project, with as much of its classes as a test needs.
pub fn java_sources() -> PathBuf {
    workspace().join("java-test-harness/java")
}

/// The folder with the compiled programs.
///
/// They are compiled when first asked for, for Java 11 with all debugging information; programs
/// that need something newer use reflection. The folder's name holds a hash of the sources and the
/// compiler's version, so it is never out of date, and several test processes at once at worst do
/// the same work twice.
///
/// # Panics
///
/// When the programs do not compile.
pub fn classes() -> &'static Path {
    static CLASSES: OnceLock<PathBuf> = OnceLock::new();
    CLASSES.get_or_init(|| {
        classes_compiled_with(&["--release", "11", "-g", "-Xlint:all,-options", "-Werror"])
    })
}

/// The folder with the programs for a JDK: for JDK 8 those that need nothing newer, compiled for it.
///
/// # Panics
///
/// When the programs do not compile.
pub fn classes_for(jdk: &Jdk) -> &'static Path {
    static CLASSES_OF_8: OnceLock<PathBuf> = OnceLock::new();
    if jdk.feature() > 8 {
        return classes();
    }
    CLASSES_OF_8.get_or_init(|| {
        let sources = sources_in(&java_sources()).into_iter().filter(|source| {
            let name = source.file_stem().and_then(|name| name.to_str());
            !name.is_some_and(|name| NEWER_THAN_8.contains(&name))
        });
        let flags = ["--release", "8", "-g", "-Xlint:all,-options", "-Werror"];
        compiled(&flags, sources.collect())
    })
}

/// The programs that use something newer than JDK 8, and those that use such programs.
const NEWER_THAN_8: [&str; 21] = [
    "ClassChurn",
    "CompileLoop",
    "DefineClass",
    "HealthyHeaps",
    "KnownCollections",
    "LeakFlows",
    "LeakLoader",
    "LeakNewer",
    "LeakRegistries",
    "LeakTasks",
    "LeakViews",
    "NativeCallers",
    "OneStackManyClasses",
    "RecordedEvents",
    "RedefinedDump",
    "RedefinedWhileAllocating",
    "ReusedClasses",
    "Speaks",
    "ThreadNames",
    "ThreadStates",
    "Together",
];

/// The Java agent that gives programs the means to redefine classes.
pub fn redefiner() -> PathBuf {
    classes().join(REDEFINER)
}

const REDEFINER: &str = "redefiner.jar";

/// The Java agent whose transformer loads classes of its own.
pub fn lazy_transformer() -> PathBuf {
    classes().join(LAZY_TRANSFORMER)
}

const LAZY_TRANSFORMER: &str = "lazy-transformer.jar";

/// The Java agent whose transformer is slow.
pub fn slow_transformer() -> PathBuf {
    classes().join(SLOW_TRANSFORMER)
}

const SLOW_TRANSFORMER: &str = "slow-transformer.jar";

/// The folder with the programs compiled with other flags than those of [`classes`].
///
/// # Panics
///
/// When the programs do not compile.
pub fn classes_compiled_with(flags: &[&str]) -> PathBuf {
    compiled(flags, sources_in(&java_sources()))
}

/// The folder with the program `PreviewCounts` as this compiler makes it, which uses a preview feature of the compiler's
/// release: the newest of `java-test-harness/java-preview` that is no newer than the compiler.
///
/// # Panics
///
/// When there is none, or it does not compile.
pub fn preview_classes(compiler: &Jdk) -> PathBuf {
    let all = workspace().join("java-test-harness/java-preview");
    let feature = compiler.feature();
    let folders = (0..=feature).rev().map(|it| all.join(it.to_string()));
    let folder = folders.into_iter().find(|folder| folder.is_dir());
    let folder = folder.unwrap_or_else(|| panic!("no program for {compiler}"));
    let release = feature.to_string();
    let flags = ["--enable-preview", "--release", &release, "-g"];
    compiled_by(compiler, &flags, &sources_in(&folder), |_| ())
}

/// The folder with these programs, compiled with these flags.
fn compiled(flags: &[&str], sources: Vec<PathBuf>) -> PathBuf {
    let jdk = Jdk::compiler();
    compiled_by(jdk, flags, &sources, |folder| {
        let redefiner = "Premain-Class: Redefiner\nCan-Redefine-Classes: true\n";
        make_agent(jdk, folder, REDEFINER, "Redefiner", redefiner);
        let transformer = "Premain-Class: LazyTransformer\n";
        make_agent(
            jdk,
            folder,
            LAZY_TRANSFORMER,
            "LazyTransformer",
            transformer,
        );
        let transformer = "Premain-Class: SlowTransformer\nCan-Retransform-Classes: true\n";
        make_agent(
            jdk,
            folder,
            SLOW_TRANSFORMER,
            "SlowTransformer",
            transformer,
        );
    })
}

/// The folder with these programs, compiled once by this JDK with these flags. `finish` adds to it.
fn compiled_by(
    jdk: &Jdk,
    flags: &[&str],
    sources: &[PathBuf],
    finish: impl FnOnce(&Path),
) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    (jdk.version(), flags).hash(&mut hasher);
    for source in sources {
        let text = fs::read(source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        (source.file_name(), text).hash(&mut hasher);
    }
    let all = target_folder().join("java-classes");
    let folder = all.join(format!("{:016x}", hasher.finish()));
    if folder.is_dir() {
        return folder;
    }
    fs::create_dir_all(&all).unwrap_or_else(|error| panic!("{}: {error}", all.display()));
    let temporary = tempfile::Builder::new()
        .prefix(".new")
        .tempdir_in(&all)
        .unwrap();
    run_tool(
        Command::new(jdk.tool("javac"))
            .args(flags)
            .arg("-d")
            .arg(temporary.path())
            .args(sources),
    );
    finish(temporary.path());
    // Should another process have been faster, its folder holds the same.
    if let Err(error) = fs::rename(temporary.path(), &folder) {
        assert!(folder.is_dir(), "{}: {error}", folder.display());
    }
    folder
}

/// Makes the jar of a Java agent. Its nested classes come from the program's class path, which has `folder`.
fn make_agent(jdk: &Jdk, folder: &Path, name: &str, class: &str, text: &str) {
    let manifest = folder.join(name).with_extension("manifest");
    fs::write(&manifest, text).unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
    let mut jar = Command::new(jdk.tool("jar"));
    jar.arg("--create")
        .arg("--file")
        .arg(folder.join(name))
        .arg("--manifest")
        .arg(&manifest);
    run_tool(jar.arg("-C").arg(folder).arg(format!("{class}.class")));
}

fn sources_in(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let (folders, files): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
    let mut sources: Vec<PathBuf> = folders.iter().flat_map(|it| sources_in(it)).collect();
    sources.extend(files.into_iter().filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "java")
    }));
    sources.sort();
    sources
}

/// Runs a command of the JDK that must succeed.
pub(crate) fn run_tool(command: &mut Command) {
    let done = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        done.status.success(),
        "{command:?} failed:\n{}{}",
        text(&done.stdout),
        text(&done.stderr)
    );
}
