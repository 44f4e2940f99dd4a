//! A failure around heap profiles costs the profile at most, never the program.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use flate2::read::MultiGzDecoder;
use hprof_analysis::snapshot::{OpenOptions, Snapshot};
use java_test_harness::{Run, Signal, each_collector, each_jdk, rights};

const DUMP: &str = "heap dump: ";

/// The program runs out of memory, and ends well.
#[test]
fn the_program_survives_running_out_of_memory() {
    each_collector(|jdk, collector| {
        let outcome = Run::new(jdk)
            .jvm_args(collector.arguments())
            .jvm_arg("-Xmx48m")
            .agent("heap=all,cutoff=0")
            .class("OutOfMemory")
            .run()
            .expect_status(0);
        assert_eq!(outcome.stdout, "survived=6\n");
        let profile = outcome.profile();
        assert_eq!(profile.counter("internal_errors"), 0);
        assert!(profile.heap().objects > 1_000);
        let held = profile.sites_with("OutOfMemory.main");
        let held: Vec<_> = held.filter(|row| row.class == "OutOfMemory$Held").collect();
        assert_eq!(held.len(), 1);
        assert!(held[0].allocated_objects > 1_000, "{:?}", held[0]);
    });
}

/// No file may be larger than a part of the dump, neither the VM's nor the profile.
#[test]
fn a_full_disk_costs_the_dump_only() {
    each_jdk(|jdk| {
        for (options, mebibytes) in [
            ("heap=dump,format=b", 1),
            ("heap=dump", 1),
            ("heap=all,format=b", 1),
            // Room for the VM's dump, not for the text.
            ("heap=all,cutoff=0", 2),
        ] {
            let running = Run::new(jdk)
                .agent(options)
                .class("Busy")
                .args(["5"])
                .start();
            running.wait_for_line("ready");
            limit_files(running.pid(), mebibytes << 20);
            running.jcmd(&["JVMTI.data_dump"]);
            std::fs::write(running.path("end"), "").unwrap();
            let outcome = running.finish().expect_status(0);
            assert!(outcome.stdout.ends_with("ended\n"), "{options}");
            let reports = [
                "no heap dump: ",
                "heap dump is cut off",
                "cannot write the profile",
            ];
            assert!(
                reports.iter().any(|it| outcome.stderr.contains(it)),
                "{options}: {}",
                outcome.stderr
            );
            // The VM's own file goes in any case.
            let left = outcome.files();
            assert!(!left.iter().any(|name| name.ends_with(".heap")), "{left:?}");
        }
    });
}

/// A failed dump keeps its temporary name, the agent prints it, and the next dump goes there.
#[test]
fn a_profile_whose_only_heap_dump_failed_gets_no_final_name() {
    each_jdk(|jdk| {
        for (bytes, is_room_made) in [(1 << 20, false), (32 << 10, false), (32 << 10, true)] {
            let running = Run::new(jdk)
                .agent("heap=dump,format=b")
                .class("Busy")
                .args(["5"])
                .start();
            running.wait_for_line("ready");
            limit_files(running.pid(), bytes);
            running.jcmd(&["JVMTI.data_dump"]);
            running.wait_until("the dump fails", |it| it.stderr().contains("the profile"));
            assert!(!running.files().iter().any(|name| name == "java.hprof"));
            assert!(!running.stderr().contains("done"), "{}", running.stderr());
            if is_room_made {
                limit_files(running.pid(), libc::RLIM_INFINITY);
            }
            std::fs::write(running.path("end"), "").unwrap();
            let outcome = running.finish().expect_status(0);
            assert!(outcome.stdout.ends_with("ended\n"));
            let (files, text) = (outcome.files(), &outcome.stderr);
            assert_eq!(text.contains("done"), is_room_made, "{text}");
            if is_room_made {
                assert!(files.iter().any(|name| name == "java.hprof"), "{files:?}");
                assert_eq!(hprof_check(&outcome.bytes("java.hprof")), 1);
                continue;
            }
            assert!(!files.iter().any(|name| name == "java.hprof"), "{files:?}");
            let left: Vec<_> = files.iter().filter(|it| it.ends_with(".tmp")).collect();
            let [left] = left.as_slice() else {
                panic!("{files:?}");
            };
            assert!(text.contains(left.as_str()), "{left}: {text}");
        }
    });
}

/// A disk that becomes full in the middle of a compressed dump: each member that is there is whole, and readers take them.
#[test]
fn a_full_disk_cuts_a_compressed_dump_between_members() {
    full_disk_cuts_a_compressed_dump("12m");
}

/// The VM fills the disk before the first member is compressed: members wait until what was read of the
/// VM's file is given back.
#[test]
fn a_disk_that_the_vm_fills_at_once_takes_a_compressed_dump() {
    full_disk_cuts_a_compressed_dump("6m");
}

fn full_disk_cuts_a_compressed_dump(size: &str) {
    let disk = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::of_size(size, disk.path()) else {
        return;
    };
    each_jdk(|jdk| {
        remove_files(disk.path());
        // The dump has 160 MB, and 17 MB compressed. The VM's own file holds a part of it for a while, on the same disk.
        let file = disk.path().join("java.hprof.gz");
        let outcome = Run::new(jdk)
            .agent(&format!("heap=dump,format=b,file={}", file.display()))
            .class("BigHeap")
            .args(["4000"])
            .run()
            .expect_status(0);
        assert_eq!(outcome.stdout, "full\n");
        let text = &outcome.stderr;
        let left: Vec<_> = fs::read_dir(disk.path()).unwrap().flatten().collect();
        let [left] = left.as_slice() else {
            panic!("{left:?} {text}");
        };
        let left = left.path();
        assert_ne!(left, file);
        assert!(text.contains(left.to_str().unwrap()), "{text}");
        let mut plain = Vec::new();
        MultiGzDecoder::new(fs::File::open(&left).unwrap())
            .read_to_end(&mut plain)
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        assert!(plain.starts_with(b"JAVA PROFILE 1.0.2\0"), "{text}");
        // JDK 22 and later write all objects into files of their own before the first one is read.
        if jdk.feature() >= 22 && text.contains("no heap dump: ") {
            return;
        }
        let reports = ["the heap dump is cut off", "cannot write the profile"];
        assert!(reports.iter().any(|it| text.contains(it)), "{text}");
        let cut = Snapshot::open(&left, &OpenOptions::default()).unwrap();
        let objects = cut.graph().objects().count();
        assert!(objects > 10_000, "{objects}");
    });
}

/// A disk that becomes full while the VM writes the file that is to become the profile: the program goes on, the
/// message says where the rest is, and readers take what is there.
#[test]
fn a_full_disk_cuts_a_large_plain_dump() {
    let disk = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::of_size("48m", disk.path()) else {
        return;
    };
    each_jdk(|jdk| {
        for level in [1, 2] {
            remove_files(disk.path());
            // The dump has 80 MB.
            let file = disk.path().join("java.hprof");
            let outcome = Run::new(jdk)
                .agent(&format!(
                    "heap=dump,dumplevel={level},format=b,file={}",
                    file.display()
                ))
                .class("BigHeap")
                .args(["2000"])
                .run()
                .expect_status(0);
            assert_eq!(outcome.stdout, "full\n");
            let text = &outcome.stderr;
            let left: Vec<_> = fs::read_dir(disk.path()).unwrap().flatten().collect();
            // The parts of a dump of JDK 27 leave no room for the head of a profile.
            if jdk.feature() >= 27 && left.is_empty() && text.contains("nothing was written to ") {
                continue;
            }
            let [left] = left.as_slice() else {
                panic!("{jdk}: {left:?} {text}");
            };
            let left = left.path();
            assert_ne!(left, file, "{jdk}: {text}");
            assert!(text.contains(left.to_str().unwrap()), "{jdk}: {text}");
            // JDK 22 and later write names last.
            if jdk.feature() >= 22 && text.contains("no heap dump: ") {
                continue;
            }
            let reports = ["the heap dump is cut off", "cannot write the profile"];
            assert!(reports.iter().any(|it| text.contains(it)), "{jdk}: {text}");
            let cut = Snapshot::open(&left, &OpenOptions::default()).unwrap();
            let objects = cut.graph().objects().count();
            assert!(objects > 200_000, "{jdk}: {objects} {text}");
        }
    });
}

/// A mounted file system.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// A file system in memory; `None` where the tests may not mount one.
    fn of_size(size: &str, folder: &'a Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]);
        rights::may(mount.arg(folder), "to mount a file system").then_some(Self(folder))
    }
}

fn remove_files(folder: &Path) {
    for file in fs::read_dir(folder).unwrap().flatten() {
        fs::remove_file(file.path()).unwrap();
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// A folder that takes no files is there all the same.
#[test]
fn a_current_folder_that_takes_no_files_is_named() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("heap=dump,file=/proc/java.hprof.txt")
            .class("Hello")
            .run();
        let wanted = "no file can be created in /proc; choose a writable place with file=";
        assert!(outcome.stderr.contains(wanted), "{}", outcome.stderr);
    });
}

/// Sets the largest size that a file of the process may get, for a while. Its signal does not end a JVM.
fn limit_files(pid: u32, bytes: u64) {
    let pid = libc::pid_t::try_from(pid).unwrap();
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both pointers are valid or null for the call.
    let result = unsafe { libc::prlimit(pid, libc::RLIMIT_FSIZE, std::ptr::null(), &mut limit) };
    assert_eq!(result, 0);
    limit.rlim_cur = bytes.min(limit.rlim_max);
    // SAFETY: as above.
    let result = unsafe { libc::prlimit(pid, libc::RLIMIT_FSIZE, &limit, std::ptr::null_mut()) };
    assert_eq!(result, 0);
}

/// A dump that is asked for while one is written is that one.
#[test]
fn dumps_asked_for_at_the_same_time_harm_nothing() {
    each_jdk(|jdk| {
        let running = Run::new(jdk)
            .agent("heap=all,format=b,doe=n")
            .class("Busy")
            .args(["20"])
            .start();
        running.wait_for_line("ready");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    running.signal(Signal::Quit);
                    running.jcmd(&["JVMTI.data_dump"]);
                    running.jcmd(&["GC.class_histogram"]);
                });
            }
        });
        running.wait_until("a dump", |it| it.stderr().contains(DUMP));
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        assert!(outcome.stdout.ends_with("ended\n"));
        // Nothing is cut off: it can be read to its end.
        let checked = hprof_check(&outcome.bytes("java.hprof"));
        assert!(checked >= 1, "{checked} dumps");
    });
}

/// Counts the ends of heap dumps in a file that is whole.
fn hprof_check(mut bytes: &[u8]) -> usize {
    bytes = &bytes[31..];
    let mut ends = 0;
    while !bytes.is_empty() {
        let length = u32::from_be_bytes(bytes[5..9].try_into().unwrap()) as usize;
        ends += usize::from(bytes[0] == 0x2c);
        bytes = &bytes[9 + length..];
    }
    ends
}

/// Dumps while classes come and go.
#[test]
fn classes_may_be_unloaded_during_dumps() {
    each_jdk(|jdk| {
        for format in ["a", "b"] {
            let running = Run::new(jdk)
                .agent(&format!("heap=all,doe=n,format={format}"))
                .class("ClassChurn")
                .args(["3"])
                .start();
            std::thread::sleep(std::time::Duration::from_millis(700));
            running.jcmd(&["JVMTI.data_dump"]);
            let outcome = running.finish().expect_status(0);
            assert!(outcome.stdout.contains("classes="), "{}", outcome.stdout);
            assert!(outcome.stderr.contains(DUMP), "{}", outcome.stderr);
            if format == "a" {
                assert_eq!(outcome.profile().counter("internal_errors"), 0);
            } else {
                assert!(outcome.binary_profile("java.hprof").heap().ended);
            }
        }
    });
}
