//! The commands of the JDK's own regression tests of its HPROF agent, on a copy of a JDK 17 with the agent
//! installed as `libhprof.so`: the program ends with status 0, and `ERROR` stands nowhere in its
//! output. (The programs are new; the modes are those this version has.)

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use java_test_harness::{
    Jdk, Outcome, Run, agent_library, classes, classes_compiled_with, each_release, workspace,
};

/// Runs `scripts/install` with the library under test; returns what it said.
fn install(arguments: &[&str], jdk: &Path) -> Result<String, String> {
    let mut install = Command::new(workspace().join("scripts/install"));
    install
        .args(arguments)
        .arg("--jdk")
        .arg(jdk)
        .env("HPROF_RS_AGENT", agent_library());
    let done = install.output().expect("scripts/install runs");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() {
        Ok(said)
    } else {
        Err(said)
    }
}

/// The home of a copy of JDK 17 with the agent installed. It is kept between runs of the tests.
///
/// It has to be a copy of all files, for a JVM finds its own through the real path of its library.
fn jdk_with_agent() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let original = Jdk::feature_release(17);
        // Beside the classes, which are in cargo's target folder.
        let folder = classes()
            .ancestors()
            .nth(2)
            .expect("a target folder")
            .join("java-homes");
        let home = folder.join(original.version());
        if !home.is_dir() {
            std::fs::create_dir_all(&folder).expect("a folder for the copy");
            let temporary = tempfile::tempdir_in(&folder).expect("a folder for the copy");
            let parts = ["bin", "conf", "lib", "release"].map(|part| original.home().join(part));
            let mut copy = Command::new("cp");
            copy.args(["--archive", "--reflink=auto"])
                .args(parts)
                .arg(temporary.path());
            assert!(copy.status().expect("cp runs").success(), "{copy:?} failed");
            // Should another process have been faster, its copy is as good.
            let renamed = std::fs::rename(temporary.path(), &home);
            assert!(renamed.is_ok() || home.is_dir(), "{renamed:?}");
        }
        install(&[], &home).expect("the agent can be installed");
        home
    })
}

/// The common frame of these tests.
fn regression(run: Run) -> Outcome {
    let outcome = run
        .jvm_args(["-Xcheck:jni", "-Xverify:all"])
        .run()
        .expect_status(0);
    for text in [&outcome.stdout, &outcome.stderr] {
        assert!(!text.contains("ERROR"), "ERROR was printed");
    }
    assert_eq!(outcome.profile().tables.len(), 1);
    outcome
}

fn installed(options: &str, class: &str) -> Run {
    let run = Run::new(Jdk::feature_release(17)).home(jdk_with_agent());
    run.jvm_arg(format!("-agentlib:hprof{options}"))
        .class(class)
}

#[test]
fn cpu_samples() {
    let lines_only = classes_compiled_with(&["--release", "11", "-g:lines"]);
    let run = installed("=cpu=samples", "HelloWorld").class_path(&lines_only);
    assert!(regression(run).stdout.starts_with("Hello, world\n"));
}

#[test]
fn cpu_samples_without_debugging_information() {
    let bare = classes_compiled_with(&["--release", "11", "-g:none"]);
    let run = installed("=cpu=samples,interval=1", "Spin")
        .class_path(&bare)
        .args(["1"]);
    let profile = regression(run).profile();
    let traces = profile.traces.values().flat_map(|trace| &trace.frames);
    let own: Vec<&String> = traces.filter(|frame| frame.starts_with("Spin.")).collect();
    assert!(
        own.contains(&&"Spin.hot(<Unknown Source>:Unknown line)".to_owned()),
        "{own:?}"
    );
}

#[test]
fn cpu_samples_at_depth_0() {
    let lines_only = classes_compiled_with(&["--release", "11", "-g:lines"]);
    regression(installed("=cpu=samples,depth=0", "HelloWorld").class_path(&lines_only));
}

#[test]
fn classes_defined_without_a_name() {
    assert_eq!(
        regression(installed("=cpu=samples", "DefineClass")).stdout,
        "HelloWorld\n"
    );
}

#[test]
fn threads_taking_turns() {
    assert_eq!(
        regression(installed("=cpu=samples", "Context")).stdout,
        "turns=50\n"
    );
}

#[test]
fn xrun_means_the_same() {
    let run = Run::new(Jdk::feature_release(17)).home(jdk_with_agent());
    regression(run.jvm_arg("-Xrunhprof:cpu=samples").class("HelloWorld"));
    let run = Run::new(Jdk::feature_release(17)).home(jdk_with_agent());
    let outcome = run
        .jvm_arg("-Xrunhprof:help")
        .class("HelloWorld")
        .run()
        .expect_status(0);
    assert!(
        outcome
            .stdout
            .contains("hprof usage: java -agentlib:hprof=")
    );
}

#[test]
fn every_jdk_finds_the_library_by_the_loaders_path() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libhprof.so", "libhprof_rs.so"] {
        std::os::unix::fs::symlink(agent_library(), folder.path().join(name)).unwrap();
    }
    each_release(|jdk| {
        for argument in [
            "-agentlib:hprof=cpu=samples",
            "-agentlib:hprof_rs=cpu=samples",
            "-agentpath:libhprof_rs.so=cpu=samples",
            "-Xrunhprof:cpu=samples",
        ] {
            let run = Run::new(jdk)
                .env("LD_LIBRARY_PATH", folder.path())
                .jvm_arg(argument);
            regression(run.class("HelloWorld"));
        }
    });
}

#[test]
fn install_leaves_foreign_libraries_alone() {
    let jdk = tempfile::tempdir().unwrap();
    let path = |name: &str| jdk.path().join(name);
    assert!(install(&[], jdk.path()).unwrap_err().contains("is no JDK"));
    std::fs::create_dir(path("bin")).unwrap();
    std::fs::create_dir(path("lib")).unwrap();
    std::fs::copy("/bin/true", path("bin/java")).unwrap();
    std::fs::write(path("lib/libhprof.so"), "another agent").unwrap();
    for arguments in [&[] as &[&str], &["--uninstall"]] {
        assert!(
            install(arguments, jdk.path())
                .unwrap_err()
                .contains("is not this agent")
        );
        assert_eq!(
            std::fs::read(path("lib/libhprof.so")).unwrap(),
            b"another agent"
        );
    }

    std::fs::remove_file(path("lib/libhprof.so")).unwrap();
    install(&[], jdk.path()).unwrap();
    // Again, over what is there.
    install(&[], jdk.path()).unwrap();
    let library = std::fs::read(agent_library()).unwrap();
    assert_eq!(std::fs::read(path("lib/libhprof.so")).unwrap(), library);
    assert_eq!(std::fs::read(path("lib/libhprof_rs.so")).unwrap(), library);
    install(&["--uninstall"], jdk.path()).unwrap();
    assert_eq!(std::fs::read_dir(path("lib")).unwrap().count(), 0);
}
