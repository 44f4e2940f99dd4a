//! The integrations with build tools: Gradle, Maven, JUnit 5, JMH, as far as Debian has them.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use java_test_harness::{Jdk, Run, each_jdk};
use support::{Scene, java};

/// Debian's jars.
const JARS: &str = "/usr/share/java";
/// Debian's repository of Maven.
const REPOSITORY: &str = "/usr/share/maven-repo";
/// How long a build may take.
const PATIENCE: Duration = Duration::from_secs(300);

fn integrations() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../distribution/integrations")
}

/// True if these files are there; says what would bring them otherwise. Continuous integration
/// requires them.
#[allow(clippy::disallowed_macros)]
fn has(files: &[&str]) -> bool {
    let missing: Vec<&&str> = files
        .iter()
        .filter(|file| !Path::new(file).exists())
        .collect();
    if missing.is_empty() {
        return true;
    }
    let required = std::env::var_os("HPROF_RS_BUILD_TOOLS").is_some_and(|it| it == "required");
    assert!(
        !required,
        "{missing:?} is missing; run `scripts/setup integrations`"
    );
    println!("skipped, as {missing:?} is missing; `scripts/setup integrations` installs it");
    false
}

/// The sources that all builds have in common.
fn common() -> PathBuf {
    integrations().join("tests/common")
}

/// Copies a folder of sources.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("sources") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}

/// All sources below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("sources") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false => found.push(path),
        }
    }
    found.retain(|path| path.extension().is_some_and(|it| it == "java"));
    found
}

/// Compiles the sources of some folders.
fn compile(folders: &[PathBuf], class_path: &str, to: &Path) {
    let compiler = Jdk::compiler().home().join("bin/javac");
    let files = folders.iter().flat_map(|folder| sources(folder));
    let output = Command::new(compiler)
        .args([
            "--release",
            "11",
            "-Xlint:all,-options,-classfile,-path,-processing",
            "-Werror",
            "-cp",
            class_path,
            "-d",
        ])
        .arg(to)
        .args(files)
        .output()
        .expect("javac");
    assert!(output.status.success(), "{}", said(&output));
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Runs a build to its end, or ends it.
fn build(command: &mut Command) -> String {
    let log = tempfile::NamedTempFile::new().expect("a file");
    // Both write to one place in the file.
    let output = log.reopen().expect("a file");
    let errors = output.try_clone().expect("a file");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .expect("the build starts");
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a status") {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().expect("it runs");
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let text = fs::read_to_string(log.path()).expect("a log");
    assert!(status.success(), "{status}: {text}");
    text
}

/// The files of a folder whose names begin and end in a way.
fn files(folder: &Path, begin: &str, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(begin) && name.ends_with(end)
    };
    paths.filter(is_it).collect()
}

/// Collapsed stacks in which a method and another that it calls cost something.
fn assert_calls(file: &Path, caller: &str, callee: &str) {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let calls = |line: &str| {
        let (outer, inner) = (line.find(caller), line.find(callee));
        outer.is_some() && outer < inner
    };
    assert!(text.lines().any(calls), "{caller} calls {callee}: {text}");
}

/// The command with the agent under test.
fn command(scene: &Scene, program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("HPROF_RS", env!("CARGO_BIN_EXE_hprof-rs"))
        .env("XDG_CACHE_HOME", scene.cache())
        .env("JAVA_HOME", Jdk::compiler().home());
    for variable in [
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "MAVEN_OPTS",
        "GRADLE_OPTS",
    ] {
        command.env_remove(variable);
    }
    command
}

#[test]
fn gradle_profiles_tests_and_programs_of_an_unchanged_build() {
    if !has(&["/usr/bin/gradle", "/usr/share/java/junit4.jar"]) {
        return;
    }
    let scene = Scene::new();
    let project = scene.path("shop");
    copy(&integrations().join("tests/gradle"), &project);
    copy(&common(), &project.join("src/main/java"));
    let script = integrations().join("gradle/hprof-rs.gradle");
    let mut gradle = command(&scene, "gradle");
    gradle
        .args(["--offline", "--no-daemon", "--quiet", "--init-script"])
        .arg(&script)
        .args(["-Dhprof.format=collapsed", "-Dhprof.tasks=:(test|run)"])
        .arg("--gradle-user-home")
        .arg(scene.path("gradle-home"))
        .args(["test", "run"])
        .current_dir(&project);
    build(&mut gradle);
    let folder = project.join("build/hprof-rs");
    for (task, caller) in [("test-", "BusyTest.sortsALot"), ("run-", "shop.Main.main")] {
        let found = files(&folder, task, ".collapsed");
        assert_eq!(found.len(), 1, "{task}: {:?}", files(&folder, "", ""));
        assert_calls(&found[0], caller, "Work.spin");
    }
}

#[test]
fn maven_profiles_the_tests_of_an_unchanged_build() {
    let jar = "/usr/share/java/junit-jupiter.jar";
    let surefire = "/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin";
    if !has(&["/usr/bin/mvn", jar, surefire]) {
        return;
    }
    let scene = Scene::new();
    let project = scene.path("shop");
    copy(&integrations().join("tests/maven"), &project);
    copy(&common(), &project.join("src/test/java"));
    compile(
        &[project.join("src")],
        &jupiter(),
        &project.join("target/test-classes"),
    );
    // Maven writes to its repository, which is Debian's.
    let repository = scene.path("repository");
    let mut copy = Command::new("cp");
    copy.arg("-rs")
        .args([REPOSITORY.as_ref(), repository.as_os_str()]);
    assert!(copy.status().expect("cp").success());
    let agent = Command::new(env!("CARGO_BIN_EXE_hprof-rs"))
        .arg("agent-path")
        .env("XDG_CACHE_HOME", scene.cache())
        .output()
        .expect("the agent's path");
    let agent = String::from_utf8(agent.stdout).expect("text");
    let agent = agent.trim();
    let mut maven = command(&scene, "mvn");
    maven
        .args(["--offline", "--quiet", "surefire:test"])
        .arg(format!("-Dmaven.repo.local={}", repository.display()))
        .arg(format!(
            "-DargLine=-agentpath:{agent}=cpu=samples,depth=64,file=target/cpu-%p.collapsed"
        ))
        .current_dir(&project);
    build(&mut maven);
    let found = files(&project.join("target"), "cpu-", ".collapsed");
    assert_eq!(found.len(), 1);
    assert_calls(&found[0], "BusyTest.sortsALot", "Work.spin");
}

/// The class path of JUnit 5.
fn jupiter() -> String {
    let jars = [
        "junit-jupiter-api",
        "junit-jupiter-engine",
        "junit-jupiter-params",
        "junit-platform-commons",
        "junit-platform-console",
        "junit-platform-engine",
        "junit-platform-launcher",
        "junit-platform-reporting",
        "opentest4j",
        "apiguardian-api",
        "picocli",
    ];
    let jars = jars.map(|jar| format!("{JARS}/{jar}.jar"));
    jars.join(":")
}

#[test]
fn junit_records_the_tests_that_are_marked() {
    if !has(&[
        "/usr/share/java/junit-jupiter-api.jar",
        "/usr/share/java/picocli.jar",
    ]) {
        return;
    }
    let scene = Scene::new();
    let classes = scene.path("classes");
    let folders = [
        integrations().join("junit"),
        integrations().join("tests/junit"),
        common(),
    ];
    compile(&folders, &jupiter(), &classes);
    each_jdk(|jdk| {
        let run = Run::new(jdk)
            .jvm_arg(format!(
                "-Dhprof.command={}",
                env!("CARGO_BIN_EXE_hprof-rs")
            ))
            .jvm_arg("-Dhprof.output=out")
            .class_path(Path::new(&format!("{}:{}", classes.display(), jupiter())))
            .class("org.junit.platform.console.ConsoleLauncher")
            .args([
                "--disable-banner",
                "--select-package",
                "shop",
                "--details",
                "tree",
            ])
            .env("XDG_CACHE_HOME", scene.cache());
        let outcome = run.run().expect_status(0);
        let out = outcome.path("out");
        assert_calls(
            &out.join("shop.ProfiledTest.one.collapsed"),
            "ProfiledTest.one",
            "Work.spin",
        );
        for name in ["two-1", "two-2"] {
            let page = out.join(format!("shop.ProfiledTest.{name}.html"));
            let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(page.contains("ProfiledTest.two"), "{name}");
        }
        let class = out.join("shop.ProfiledClassTest.collapsed");
        assert_calls(&class, "ProfiledClassTest.one", "Work.spin");
        assert_calls(&class, "ProfiledClassTest.two", "Work.spin");
        assert_eq!(files(&out, "", "").len(), 4, "{:?}", files(&out, "", ""));
        // The plug-in reports a test that it cannot record, and fails no test.
        let told = &outcome.stderr;
        assert!(
            told.contains("ProfiledTest.wrong is not recorded: "),
            "{told}"
        );
        assert!(told.contains("interval"), "{told}");
        assert!(
            told.contains("ProfiledClassTest.two is not recorded by itself"),
            "{told}"
        );
    });
}

#[test]
fn jmh_forks_are_profiled() {
    let scene = Scene::new();
    let classes = scene.path("classes");
    let folders = [
        integrations().join("jmh"),
        integrations().join("tests/jmh"),
        common(),
    ];
    compile(&folders, "", &classes);
    let run = |argument: &str| {
        let mut fork = command(&scene, &java());
        fork.args(["-cp".as_ref(), classes.as_os_str()])
            .args(["shop.Forks", argument])
            .current_dir(classes.parent().expect("a folder"))
            .output()
            .expect("java")
    };
    let output = run("dir=profiles;format=collapsed;options=cpu=samples,interval=1,depth=200");
    let text = said(&output);
    assert!(text.contains("status 0, results 0"), "{text}");
    assert!(text.contains("hprof-rs: profile in "), "{text}");
    let found = files(
        &scene.path("profiles"),
        "shop.Bench.spin-Throughput-size-10-",
        ".collapsed",
    );
    assert_eq!(found.len(), 1, "{text}");
    assert_calls(&found[0], "shop.Main.main", "Work.spin");
    let text = said(&run("folder=x"));
    assert!(
        text.contains("hprof-rs has no argument folder; it has [options, dir"),
        "{text}"
    );
    let text = said(&run("command=/no/such"));
    assert!(text.contains("put hprof-rs on PATH"), "{text}");
}
