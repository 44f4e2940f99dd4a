//! Rewritten classes in a JVM: they verify, behave as before, and call their hooks exactly.
//!
//! Needs a JDK, at `$JAVA_HOME17` or where Debian puts its JDK 17.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use common::{ClassBuilder, CodeSpec, HOOKS};
use hprof_instrument::{Hooks, MethodHook, MethodInfo, MethodNumber, Rewriter, Shape};

fn jdk_program(name: &str) -> PathBuf {
    let home = std::env::var_os("JAVA_HOME17").map_or_else(
        || PathBuf::from("/usr/lib/jvm/java-17-openjdk-amd64"),
        PathBuf::from,
    );
    let program = home.join("bin").join(name);
    assert!(
        program.exists(),
        "no {}; set JAVA_HOME17 to a JDK",
        program.display()
    );
    program
}

/// Runs a program to its end and returns what it printed. One that hangs is killed.
fn run(command: &mut Command) -> String {
    let mut output = tempfile::tempfile().unwrap();
    let file = || output.try_clone().unwrap();
    let mut child = command
        .stdout(file())
        .stderr(file())
        .spawn()
        .expect("start");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let mut text = String::new();
    output.seek(SeekFrom::Start(0)).unwrap();
    output.read_to_string(&mut text).unwrap();
    assert!(
        status.is_some_and(|status| status.success()),
        "{status:?} {command:?}\n{text}"
    );
    text
}

fn sources(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

fn classes_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(classes_below(&path));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "class")
        {
            found.push(path);
        }
    }
    found
}

/// A method that is so long that its branches no longer reach their targets with the hooks in it.
fn huge_source() -> String {
    let mut source = "package test;\npublic final class Huge {\n".to_owned();
    source += "static int run(int n) { int x = n; int caught = 0; while (x < 2000000) {\n";
    for at in 0..2200 {
        match at {
            500 => source += "try { if (x == 700001) throw new RuntimeException();\n",
            900 => source += "} catch (RuntimeException problem) { caught++; }\n",
            _ => (),
        }
        writeln!(
            source,
            "if (x == {}) return {}; x += {};",
            200 + at,
            at,
            at % 7 + 1
        )
        .unwrap();
    }
    source += "} return x + caught; } }\n";
    source
}

/// A method of Java 1.4 with a subroutine that is called twice, in an exception range.
fn subroutine_class() -> Vec<u8> {
    let mut bytes = vec![26, 60, 168, 0, 9, 168, 0, 6, 27, 172, 0];
    bytes.extend([77, 132, 1, 5, 169, 2]);
    bytes.extend([87, 2, 172]);
    let code = CodeSpec {
        max_stack: 1,
        max_locals: 3,
        bytes,
        exceptions: vec![[2, 8, 17, 0]],
        attributes: vec![],
    };
    let mut class = ClassBuilder::new(48, "test/Subroutine");
    class.method(9, "run", "(I)I", Some(&code));
    class.build()
}

/// Rewrites the classes below `from` to `to`; returns the names of the methods by number.
fn rewrite_all(from: &Path, to: &Path, count_leaves: bool) -> BTreeMap<u32, String> {
    let mut rewriter = Rewriter::new();
    let mut names = BTreeMap::new();
    for path in classes_below(from) {
        let class = fs::read(&path).unwrap();
        let done = rewriter.rewrite(&class, &HOOKS, &mut |method: &MethodInfo<'_>| {
            let number = names.len() as u32;
            names.insert(number, format!("{}.{}", method.class, method.name));
            let leaf = count_leaves && method.is_leaf();
            let shape = if leaf { Shape::CountOnly } else { Shape::Full };
            Some(MethodHook {
                number: MethodNumber(number),
                shape,
            })
        });
        let bytes = done.map_or(class.clone(), |done| done.bytes.to_vec());
        assert!(
            rewriter.tally().skipped.is_empty(),
            "{:?}",
            rewriter.tally().skipped
        );
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, bytes).unwrap();
    }
    names
}

#[test]
fn programs_behave_as_before_and_every_call_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    let huge = folder.path().join("Huge.java");
    fs::write(&huge, huge_source()).unwrap();
    let mut javac = Command::new(jdk_program("javac"));
    javac
        .args(["--release", "11", "-g", "-d"])
        .arg(&plain)
        .arg(huge);
    run(javac.args(["Hooks.java", "Behaviour.java"].map(|name| sources("tests/java").join(name))));
    fs::write(plain.join("test/Subroutine.class"), subroutine_class()).unwrap();

    let start = |classes: &Path, mode: &[&str]| {
        let mut java = Command::new(jdk_program("java"));
        run(java
            .args(mode)
            .args(["-Xss512k", "-cp"])
            .arg(classes)
            .arg("test.Behaviour"))
    };
    // Where the stack is used up, it matters which code is compiled: only in the last mode a
    // program ever got into the loop that the guards of the repair hooks prevent.
    let modes: [&[&str]; 3] = [
        &["-Xmixed"],
        &["-Xint"],
        &[
            "-Xcomp",
            "-XX:CompileCommand=quiet",
            "-XX:CompileCommand=compileonly,test.*::*",
        ],
    ];
    let is_report = |line: &&str| line.starts_with('#');
    let plain_out = start(&plain, modes[0]);
    let wanted: Vec<&str> = plain_out.lines().filter(|line| !is_report(line)).collect();
    assert!(wanted.len() > 20, "{plain_out}");

    for count_leaves in [false, true] {
        let new = folder.path().join(format!("new-{count_leaves}"));
        let names = rewrite_all(&plain, &new, count_leaves);
        for mode in modes {
            let out = start(&new, mode);
            let found: Vec<&str> = out.lines().filter(|line| !is_report(line)).collect();
            assert_eq!(wanted, found, "{mode:?}");
            let report: Vec<&str> = out.lines().filter(is_report).collect();
            assert!(report.contains(&"#problem null"), "{report:?}");
            assert!(report.contains(&"#depth 1"), "only main runs: {report:?}");
            let mut counts = HashMap::new();
            for line in report {
                let (number, count) = line[1..].split_once(' ').unwrap();
                if let Ok(number) = number.parse::<u32>() {
                    *counts.entry(names[&number].as_str()).or_insert(0) +=
                        count.parse::<u64>().unwrap();
                }
            }
            for (name, count) in [
                // 1,973 for fib(15), 177 for fib(10), one for fib(1).
                ("test/Behaviour.fib", 2151),
                ("test/Behaviour.thrower", 35),
                ("test/Behaviour.catcher", 1),
                ("test/Behaviour.loopToStart", 2),
                ("test/Behaviour.switches", 16),
                ("test/Behaviour$Base.<init>", 3),
                ("test/Behaviour$Derived.<init>", 3),
                ("test/Huge.run", 1),
                ("test/Subroutine.run", 1),
            ] {
                assert_eq!(counts.get(name), Some(&count), "{name} {mode:?}");
            }
        }
    }
}

#[test]
fn all_of_java_base_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let [tools, image, new, hooks] =
        ["tools", "image", "new", "hooks"].map(|name| folder.path().join(name));
    let java_sources = sources("verify");
    let mut javac = Command::new(jdk_program("javac"));
    run(javac
        .args(["--release", "11", "-d"])
        .arg(&tools)
        .args(["VerifyClasses.java", "ExtractImage.java"].map(|name| java_sources.join(name))));
    let mut javac = Command::new(jdk_program("javac"));
    run(javac
        .arg(format!(
            "--patch-module=java.base={}",
            java_sources.display()
        ))
        .arg("-d")
        .arg(&hooks)
        .arg(java_sources.join("HprofHooks.java")));
    let mut extract = Command::new(jdk_program("java"));
    run(extract
        .arg("-cp")
        .arg(&tools)
        .arg("ExtractImage")
        .arg(&image)
        .arg("java.base"));

    let names = Hooks {
        class: b"java/lang/HprofHooks",
        ..HOOKS
    };
    let mut rewriter = Rewriter::new();
    let (mut number, mut hooked, mut skipped) = (0, 0, vec![]);
    for path in classes_below(&image) {
        let class = fs::read(&path).unwrap();
        let done = rewriter.rewrite(&class, &names, &mut |method: &MethodInfo<'_>| {
            number += 1;
            let shape = if method.is_leaf() {
                Shape::CountOnly
            } else {
                Shape::Full
            };
            Some(MethodHook {
                number: MethodNumber(number),
                shape,
            })
        });
        let bytes = done.map_or(class.clone(), |done| done.bytes.to_vec());
        hooked += rewriter.tally().hooked;
        skipped.extend(rewriter.tally().skipped.iter().cloned());
        let target = new.join(path.strip_prefix(&image).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, bytes).unwrap();
    }
    assert!(hooked > 50_000, "{hooked}");
    let unexpected = skipped.iter().find(|method| {
        use hprof_instrument::MethodSkip::{EmptyFinalizer, Reserved};
        !matches!(method.reason, EmptyFinalizer | Reserved)
    });
    assert_eq!(unexpected, None);

    let verify = |result: &str| {
        let result = folder.path().join(result);
        let patch = format!(
            "java.base={}:{}",
            hooks.display(),
            new.join("java.base").display()
        );
        let mut java = Command::new(jdk_program("java"));
        run(java
            .arg("-XX:+UnlockDiagnosticVMOptions")
            .args([
                "-XX:+BytecodeVerificationLocal",
                "-XX:+BytecodeVerificationRemote",
            ])
            .arg(format!("--patch-module={patch}"))
            .arg("-cp")
            .arg(&tools)
            .args(["VerifyClasses", "modules"])
            .args([&new, &result]));
        let lines = fs::read_to_string(result).unwrap();
        let (fine, bad): (Vec<String>, Vec<String>) = lines
            .lines()
            .map(str::to_owned)
            .partition(|line| line.starts_with("ok "));
        (fine.len(), bad)
    };
    let (fine, bad) = verify("result");
    assert!(fine > 5_000, "{fine}");
    assert!(bad.is_empty(), "{bad:?}");

    // The JVM does look: an int for the long in one place.
    let path = new.join("java.base/java/util/jar/JarOutputStream.class");
    let mut class = fs::read(&path).unwrap();
    let is_exit = |bytes: &[u8]| bytes[0] == 22 && bytes[2] == 184;
    let at = class
        .windows(3)
        .position(is_exit)
        .expect("lload and invokestatic");
    class[at] = 21;
    fs::write(&path, class).unwrap();
    let (_, bad) = verify("damaged");
    assert_eq!(bad.len(), 1);
    assert!(
        bad[0].starts_with("java.lang.VerifyError java.util.jar.JarOutputStream"),
        "{bad:?}"
    );
}
