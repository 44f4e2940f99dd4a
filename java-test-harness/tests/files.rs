//! Which file a profile goes to, and what happens when it cannot be written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use java_test_harness::{Jdk, Run, each_jdk, rights};

fn hello(options: &str) -> Run {
    Run::new(Jdk::feature_release(17))
        .agent(options)
        .class("Hello")
}

#[test]
fn an_existing_profile_is_replaced() {
    let outcome = hello("cpu=samples")
        .file("java.hprof.txt", "old")
        .run()
        .expect_status(0);
    assert_eq!(outcome.files(), ["java.hprof.txt"]);
    assert_eq!(outcome.profile().tables.len(), 1);
    let mode = fs::metadata(outcome.path("java.hprof.txt"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777 & !0o044, 0o600);
}

#[test]
fn force_n_keeps_an_existing_profile() {
    for (options, existing, another) in [
        (
            "cpu=samples,force=n",
            "java.hprof.txt",
            "java.hprof.PID.txt",
        ),
        ("cpu=samples,force=n,file=foo.TXT", "foo.TXT", "foo.PID.TXT"),
        ("cpu=samples,force=n,file=foo", "foo", "foo.PID.txt"),
        (
            "cpu=samples,force=n,format=b",
            "java.hprof",
            "java.hprof.PID",
        ),
    ] {
        let outcome = hello(options).file(existing, "old").run().expect_status(0);
        let another = another.replace("PID", &outcome.pid.to_string());
        let mut expected = [existing.to_owned(), another.clone()];
        expected.sort();
        assert_eq!(outcome.files(), expected, "with {options}");
        assert_eq!(outcome.bytes(existing), b"old");
        if options.contains("format=b") {
            assert_eq!(outcome.binary_profile(&another).tables.len(), 1);
        } else {
            assert_eq!(outcome.text_profile(&another).tables.len(), 1);
        }
    }
    let outcome = hello("cpu=samples,force=n").run().expect_status(0);
    assert_eq!(outcome.files(), ["java.hprof.txt"]);
}

#[test]
fn the_name_can_hold_pid_and_time() {
    each_jdk(|jdk| {
        let run = Run::new(jdk)
            .agent("cpu=samples,file=a-%p-%t-100%%.out")
            .class("Hello")
            .run();
        let outcome = run.expect_status(0);
        let [name]: [String; 1] = outcome.files().try_into().expect("one file");
        let time = name.strip_prefix(&format!("a-{}-", outcome.pid));
        let time = time
            .and_then(|rest| rest.strip_suffix("-100%.out"))
            .expect("pid and percent");
        assert!(
            time.len() >= 10 && time.contains(|it: char| it.is_ascii_digit()),
            "{time}"
        );
    });
}

/// A daemon may start its JVM without standard input, output and error. The profile was the standard output
/// then, and took what the program printed.
#[test]
fn a_profile_is_not_the_standard_output_of_a_jvm_that_started_without_one() {
    each_jdk(|jdk| {
        let modes = [
            "cpu=samples",
            "heap=all,format=b",
            "heap=dump,format=b",
            "heap=all",
        ];
        let closed: [&[u8]; 4] = [&[0, 1, 2], &[1, 2], &[0, 2], &[1]];
        for (mode, closed) in modes.into_iter().zip(closed) {
            let run = Run::new(jdk).agent(&format!("{mode},file=profile"));
            let outcome = run.closed(closed).class("Speaks").run().expect_status(0);
            assert_eq!(outcome.files(), ["profile", "seen"], "{mode}");
            let seen = String::from_utf8(outcome.bytes("seen")).unwrap();
            assert!(!seen.contains("profile"), "{mode}: {seen}");
            // The program finds the streams as without the agent.
            for (number, name) in ["in", "out", "err"].into_iter().enumerate() {
                let is_closed = closed.contains(&(number as u8));
                // The VM's own file of classes may have taken the place of the input.
                if is_closed && number > 0 {
                    assert!(seen.contains(&format!("{name} fails")), "{mode}: {seen}");
                } else if !is_closed {
                    assert!(seen.contains(&format!("{name} works")), "{mode}: {seen}");
                }
            }
            if mode.contains("format=b") {
                // Reads it to its end.
                outcome.binary_profile("profile");
            } else {
                outcome.text_profile("profile");
                let text = String::from_utf8_lossy(&outcome.bytes("profile")).into_owned();
                assert!(!text.contains("foreign "), "{mode}");
            }
        }
    });
}

#[test]
fn a_closed_standard_output_takes_no_profile() {
    let run = hello("cpu=samples,file=/dev/stdout").closed(&[1]);
    let outcome = run.run().expect_status(1);
    let said = "can't create profile file: /dev/stdout: Bad file descriptor";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
}

/// A profile that cannot be created is an error in setting up.
#[track_caller]
fn expect_no_profile(options: &str, path: &str) {
    let outcome = hello(options).run().expect_status(1);
    assert_eq!((outcome.stdout.as_str(), outcome.files()), ("", vec![]));
    assert_eq!(outcome.stderr.lines().count(), 1);
    let start = format!("HPROF ERROR: can't create profile file: {path}");
    assert!(outcome.stderr.starts_with(&start), "not: {start}");
}

#[test]
fn a_missing_folder_and_a_folder_in_place_of_a_file() {
    expect_no_profile("cpu=samples,file=/nonexistent/x.txt", "/nonexistent/x.txt");
    expect_no_profile("cpu=samples,file=/proc/x.txt", "/proc/x.txt");
    expect_no_profile("cpu=samples,file=/tmp", "/tmp");
}

#[test]
fn an_unwritable_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(folder.path().join("probe"), "").is_ok() {
        // For root no folder is unwritable by its mode; /proc in the test above is.
        return;
    }
    let path = folder.path().join("x.txt").display().to_string();
    expect_no_profile(&format!("cpu=samples,file={path}"), &path);
}

/// Whatever the disk does, the program's own output and status stay.
fn expect_write_error(outcome: java_test_harness::Outcome) {
    let outcome = outcome.expect_status(7);
    let told = outcome
        .stderr
        .lines()
        .any(|line| line.starts_with("HPROF ERROR: "));
    assert!(told, "no line about the lost profile");
    assert!(
        outcome.stderr.contains("No space left on device"),
        "no reason"
    );
    assert!(!outcome.stderr.contains("done."), "success was claimed");
}

#[test]
fn a_full_device_costs_the_profile_only() {
    each_jdk(|jdk| {
        let run = Run::new(jdk).agent("cpu=samples,interval=1,force=y,file=/dev/full");
        expect_write_error(run.class("Exits").args(["exit", "7"]).run());
    });
}

#[test]
fn a_full_disk_costs_the_profile_only() {
    let Some(disk) = TinyDisk::mount() else {
        return;
    };
    let file = disk.folder.path().join("x.txt");
    let options = format!("cpu=samples,interval=1,file={}", file.display());
    let run = Run::new(Jdk::feature_release(17))
        .agent(&options)
        .class("Exits");
    let outcome = run.args(["exit", "7"]).run();
    assert!(
        !file.exists(),
        "half a profile stands there under its final name"
    );
    expect_write_error(outcome);
}

/// A file system of one page, for root in a place that allows mounting.
struct TinyDisk {
    folder: tempfile::TempDir,
}

impl TinyDisk {
    fn mount() -> Option<TinyDisk> {
        let folder = tempfile::tempdir().ok()?;
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=4k", "tmpfs"])
            .arg(folder.path());
        rights::may(&mut mount, "to mount a file system").then_some(TinyDisk { folder })
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).status();
    }
}

#[test]
fn a_folder_that_vanishes_costs_the_profile_only() {
    let run = Run::new(Jdk::feature_release(17)).agent("cpu=samples,file=gone/x.txt");
    let run = run.class("Exits").args(["wait"]);
    fs::create_dir(run.path("gone")).unwrap();
    let running = run.start();
    running.wait_for_line("ready");
    fs::remove_dir_all(running.path("gone")).unwrap();
    running.signal(java_test_harness::Signal::Terminate);
    let outcome = running.finish().expect_status(143);
    assert!(
        outcome.stderr.contains("HPROF ERROR: "),
        "no word of the lost profile"
    );
    assert!(!Path::new(&outcome.path("gone")).exists());
}

#[test]
fn a_fifo_stops_nothing_and_gets_a_profile_on_demand() {
    let fifo = |run: &Run| {
        let made = Command::new("mkfifo").arg(run.path("fifo")).status();
        assert!(made.is_ok_and(|status| status.success()), "no mkfifo");
    };
    for name in ["fifo", "link"] {
        let run = hello(&format!("cpu=samples,file={name}"));
        fifo(&run);
        std::os::unix::fs::symlink("fifo", run.path("link")).unwrap();
        let outcome = run.run().expect_status(1);
        assert_eq!(outcome.stdout, "");
        let start = format!("HPROF ERROR: can't create profile file: {name}: it is a");
        assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
    }
    let run = hello("cpu=samples,file=fifo,force=y");
    fifo(&run);
    let path = run.path("fifo");
    let reader = std::thread::spawn(move || fs::read_to_string(path));
    run.run().expect_status(0);
    let text = reader.join().unwrap().unwrap();
    assert!(text.starts_with("JAVA PROFILE 1.0.1"), "{text}");
    assert!(text.contains("CPU SAMPLES END"), "{text}");
}

#[test]
fn standard_output_takes_a_profile() {
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        let outcome = hello(&format!("cpu=samples,file={name}")).run();
        let outcome = outcome.expect_status(0);
        assert_eq!(outcome.files(), [""; 0]);
        assert!(outcome.stdout.contains("CPU SAMPLES END"), "{name}");
    }
}

#[test]
fn a_name_of_another_format_starts_nothing() {
    for name in ["a.json", "a.jfr", "java.txt.gz"] {
        let outcome = hello(&format!("cpu=samples,file={name}")).run();
        let outcome = outcome.expect_status(1);
        assert_eq!((outcome.stdout.as_str(), outcome.files()), ("", vec![]));
        let text = "HPROF ERROR: hprof option error: the agent does not write .";
        assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
    }
}
