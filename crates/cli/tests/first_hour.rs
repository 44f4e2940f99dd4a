//! Messages for newcomers: which file was written and how to use it, what a wrong file is, which
//! flag was meant, that callers are missing.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::{Scene, data, run, stderr, stdout};

fn tried(scene: &Scene, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run(&mut scene.hprof_rs(arguments), "");
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn what_is_written_is_announced_and_its_owners_alone() {
    let scene = Scene::new();
    let (profile, heap) = (data("cpu-samples-b.hprof"), data("hprof-32.bin"));
    for (arguments, file, next) in [
        (
            vec!["convert", &profile, "-o", "p.html"],
            "p.html",
            "browser",
        ),
        (
            vec!["convert", &profile, "-o", "p.pb.gz"],
            "p.pb.gz",
            "go tool pprof -http :8000 p.pb.gz",
        ),
        (
            vec!["convert", &profile, "-o", "p.txt"],
            "p.txt",
            "hprof-rs summary p.txt",
        ),
        (vec!["report", &heap, "-o", "r.html"], "r.html", "browser"),
        (vec!["report", &heap, "-o", "r.md"], "r.md", "ticket"),
        (vec!["report", &heap, "-o", "r.json"], "r.json", "jq"),
        (
            vec!["strip", &heap, "-o", "s.hprof"],
            "s.hprof",
            "hprof-rs summary s.hprof",
        ),
        (
            vec!["diff", &profile, &profile, "--flamegraph", "d.svg"],
            "d.svg",
            "browser",
        ),
    ] {
        let (status, _, told) = tried(&scene, &arguments);
        assert_eq!(status, Some(0), "{told}");
        let line = told
            .lines()
            .find(|line| line.contains(&format!("wrote {file} (")));
        assert!(
            line.is_some_and(|line| line.contains(next)),
            "{arguments:?}: {told}"
        );
        let mode = fs::metadata(scene.path(file))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    // A file that others may read stays so.
    fs::set_permissions(scene.path("p.html"), fs::Permissions::from_mode(0o644)).expect("a mode");
    tried(&scene, &["convert", &profile, "-o", "p.html"]);
    let mode = fs::metadata(scene.path("p.html"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn the_name_of_a_report_decides_its_format_or_is_refused() {
    let scene = Scene::new();
    let heap = data("hprof-32.bin");
    tried(&scene, &["report", &heap, "-o", "r.md"]);
    assert!(scene.profile("r.md").starts_with("# Heap report"));
    tried(&scene, &["report", &heap, "-o", "r.json"]);
    assert!(scene.profile("r.json").starts_with('{'));
    let (status, _, told) = tried(&scene, &["report", &heap, "-o", "r.pdf"]);
    assert_eq!(status, Some(1));
    assert!(told.contains(".html") && told.contains("PDF"), "{told}");
    assert!(!scene.path("r.pdf").exists());
    let (status, _, told) = tried(&scene, &["report", "--json", &heap, "-o", "r.html"]);
    assert_eq!(status, Some(1), "{told}");
}

#[test]
fn a_file_that_is_no_dump_is_named() {
    let scene = Scene::new();
    let elf = |kind: u8| [&b"\x7fELF\x02\x01"[..], &[0; 10], &[kind, 0], &[0; 100]].concat();
    for (contents, what, advice) in [
        (elf(4), "core dump", "jhsdb"),
        (elf(3), "ELF", "hprof-rs run"),
        (b"<!DOCTYPE html><html>".repeat(5), "HTML", "browser"),
        (b"\x89PNG\r\n\x1a\n".repeat(20), "PNG", "profile"),
        (
            b"\xca\xfe\xba\xbe\0\0\0\x41".repeat(20),
            "Java class",
            "javap",
        ),
        (b"{\"a\": [1, 2, 3]}\n".repeat(5), "JSON", "jq"),
        (
            b"[0.010s][info][gc] GC(0) Pause Young\n".repeat(5),
            "garbage collector",
            "hprof-rs gc",
        ),
        (
            b"Full thread dump OpenJDK 64-Bit\n\"main\"\n".repeat(5),
            "thread dump",
            "hprof-rs stacks",
        ),
        (
            b"Dear diary, this is long enough.\n".repeat(5),
            "plain text",
            "JAVA PROFILE",
        ),
    ] {
        fs::write(scene.path("file"), contents).expect("a file");
        for command in [
            &["summary", "file"][..],
            &["histogram", "file"],
            &["leaks", "file"],
            &["records", "file"],
            &["check", "file"],
            &["threads", "file"],
            &["strip", "file", "-o", "out"],
        ] {
            let (status, _, told) = tried(&scene, command);
            assert_ne!(status, Some(0), "{command:?}");
            assert!(
                told.contains(what) && told.contains(advice),
                "{command:?}: {what}: {told}"
            );
        }
    }
}

#[test]
fn a_flag_that_is_nearly_right_is_suggested() {
    let scene = Scene::new();
    for given in ["--tp", "--topp", "--to"] {
        let (status, _, told) = tried(&scene, &["histogram", given, "3", "file"]);
        assert_eq!(status, Some(2));
        assert!(told.contains("'--top'"), "{told}");
    }
}

#[test]
fn stacks_that_were_cut_are_said_to_be() {
    let scene = Scene::new();
    let deep = fs::read_to_string(data("cpu-samples.txt")).expect("test data");
    // Without its callers each stack ends in the middle.
    let is_caller = |line: &&str| {
        [
            "lambda$main$0",
            "Lambda",
            "java.lang.Thread.run",
            "nanoTime",
        ]
        .iter()
        .any(|name| line.contains(name))
            && line.starts_with('\t')
    };
    let flat: String = deep
        .lines()
        .filter(|line| !is_caller(line))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(scene.path("flat.txt"), &flat).expect("a file");
    fs::write(scene.path("deep.txt"), &deep).expect("a file");
    let (_, _, told) = tried(&scene, &["convert", "flat.txt", "-o", "p.html"]);
    assert!(
        told.contains("lack their callers") && told.contains("depth=64"),
        "{told}"
    );
    let (_, _, told) = tried(&scene, &["convert", "deep.txt", "-o", "p.html"]);
    assert!(!told.contains("lack their callers"), "{told}");
    let (_, _, told) = tried(
        &scene,
        &["diff", "flat.txt", "deep.txt", "--flamegraph", "d.html"],
    );
    assert!(told.contains("of both are compared"), "{told}");
    let (_, _, told) = tried(&scene, &["diff", "deep.txt", "deep.txt"]);
    assert_eq!(told, "");
}

#[test]
fn what_the_profiler_left_out_is_said() {
    let scene = Scene::new();
    let text = fs::read_to_string(data("cpu-samples.txt")).expect("test data");
    let remark = "hprof-rs: table=cpu_samples rows_below_cutoff=7 below_cutoff_share=0.01";
    let text = format!("{text}# {remark}\n");
    fs::write(scene.path("p.txt"), &text).expect("a file");
    let (_, shown, _) = tried(&scene, &["samples", "p.txt"]);
    assert!(shown.contains("7 rows below the cutoff"), "{shown}");
}

#[test]
fn a_format_that_contradicts_the_name_is_refused() {
    let scene = Scene::new();
    fs::copy(data("cpu-samples.txt"), scene.path("p.txt")).expect("a copy");
    for (to, name) in [("svg", "p.html"), ("pprof", "p.hprof"), ("html", "p.svg")] {
        let (status, _, told) = tried(&scene, &["convert", "--to", to, "-o", name, "p.txt"]);
        assert_ne!(status, Some(0), "{to} {name}");
        assert!(told.contains("change one of them"), "{told}");
        assert!(!scene.path(name).exists());
    }
    for (to, name) in [
        ("speedscope", "p.json"),
        ("collapsed", "q.txt"),
        ("svg", "p.out"),
    ] {
        let (status, _, told) = tried(&scene, &["convert", "--to", to, "-o", name, "p.txt"]);
        assert_eq!(status, Some(0), "{told}");
    }
}

#[test]
fn the_head_of_sites_has_the_totals_of_the_program() {
    let scene = Scene::new();
    let text = fs::read_to_string(data("heap-sites-thread.txt")).expect("test data");
    let remark = "hprof-rs: table=sites rows_below_cutoff=7 below_cutoff_share=0.5 \
                  live_bytes_below_cutoff=5 allocated_bytes_below_cutoff=5 live_bytes=123456789012 \
                  live_objects=9 allocated_bytes=987654321012 allocated_objects=9";
    fs::write(scene.path("p.txt"), format!("{text}# {remark}\n")).expect("a file");
    let (_, shown, told) = tried(&scene, &["sites", "p.txt"]);
    let head = shown.lines().next().unwrap_or_default();
    assert!(
        head.contains("123.5 GB") && head.contains("987.7 GB"),
        "{head} {told}"
    );
    assert!(shown.contains("7 sites below the cutoff"), "{shown}");
}

#[test]
fn lambdas_are_one_row_of_a_histogram_unless_classes_are_asked_for() {
    let scene = Scene::new();
    let text = fs::read_to_string(data("heap-dump-excerpt.txt")).expect("test data");
    let text = text
        .replacen("class=java.lang.Thread@", "class=a.B$$Lambda$1/0x0800@", 1)
        .replacen("class=java.lang.Thread@", "class=a.B$$Lambda$2/0x0900@", 1);
    fs::write(scene.path("h.txt"), text).expect("a file");
    let rows = |arguments: &[&str]| {
        let (_, shown, _) = tried(&scene, arguments);
        let rows = shown.lines().filter(|line| line.contains("$$Lambda"));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    let families = rows(&["histogram", "--top", "0", "h.txt"]);
    assert_eq!(families.len(), 1, "{families:?}");
    assert!(families[0].ends_with("  2  a.B$$Lambda"), "{families:?}");
    assert_eq!(
        rows(&["histogram", "--by", "class", "--top", "0", "h.txt"]).len(),
        2
    );
    assert_eq!(
        rows(&["histogram", "--json", "--top", "0", "h.txt"]).len(),
        2
    );
    assert!(rows(&["summary", "--top", "500", "h.txt"]).len() <= 1);
}

#[test]
fn a_value_that_is_no_number_is_told_in_plain_words() {
    let scene = Scene::new();
    let file = data("hprof-32.bin");
    for (arguments, words) in [
        (
            &["top", "--top", "x"][..],
            "'x' for '--top <N>': give a whole number such as 10",
        ),
        (&["top", "--top=-1"], "give a whole number such as 10"),
        (
            &["top", "--top", "99999999999999999999"],
            "the number is too large",
        ),
        (&["report", "--fail-above", "much", "--top", "x"], "error: "),
        (
            &["serve", "--listen", "here"],
            "give an address and a port, such as 127.0.0.1:8080",
        ),
    ] {
        let arguments = [arguments, &[&*file]].concat();
        let (status, _, told) = tried(&scene, &arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {told}");
        assert!(told.contains(words), "{arguments:?}: {told}");
        assert!(
            !told.contains("invalid digit") && !told.contains("syntax"),
            "{told}"
        );
    }
}

#[test]
fn records_are_chosen_by_names_that_there_are() {
    let scene = Scene::new();
    let file = data("hprof-32.bin");
    for (wrong, words) in [
        ("FOO", "records are UTF8, LOAD_CLASS"),
        ("0xzz", "a tag is 0x00 to 0xff"),
    ] {
        let (status, _, told) = tried(&scene, &["records", "--only", wrong, &file]);
        assert_eq!(status, Some(2), "{told}");
        assert!(told.contains(words), "{told}");
    }
    // The name of a part of a heap dump says that parts are wanted.
    let only = ["records", "--only", "class_dump", "--top", "3", &file];
    let (status, listed, _) = tried(&scene, &only);
    assert_eq!((status, listed.matches("CLASS_DUMP").count()), (Some(0), 3));
}

#[test]
fn what_gives_nothing_says_so() {
    let scene = Scene::new();
    let (heap, profile) = (data("hprof-32.bin"), data("cpu-samples-b.hprof"));
    for (arguments, status, words) in [
        (
            &["growth", &heap, &heap][..],
            0,
            "No class keeps more memory alive at the end than at the start.\n",
        ),
        (
            &["ps", "no program has this in it"],
            0,
            "No JVM found whose program or arguments contain no program has this in it.\n",
        ),
        (
            &["diff", "-", "-"],
            2,
            "hprof-rs: standard input can be one of the two files only\n",
        ),
        (
            &["strip", "nothing.hprof", "-o", "copy.hprof"],
            1,
            "hprof-rs: cannot read nothing.hprof: No such file or directory (os error 2)\n",
        ),
        (
            &["android", &heap],
            0,
            "is no dump of Android, by what it holds\n",
        ),
        (&["leaks", &profile], 1, "holds no binary heap dump"),
        (
            &["leaks", "--dump", "5", &heap],
            1,
            "holds 1 heap dump, not 5\n",
        ),
        (
            &["histogram", "--dump", "5", &heap],
            1,
            "holds 1 heap dump, not 5\n",
        ),
        (
            &["top", "--top", "0", &heap],
            1,
            "hprof-rs: --top 0: give the number of arrays to show\n",
        ),
        (
            &["strip", &heap, "-o", "nowhere/copy.hprof"],
            1,
            "hprof-rs: cannot write nowhere/copy.hprof: there is no folder nowhere",
        ),
    ] {
        let (found, said, told) = tried(&scene, arguments);
        assert_eq!(found, Some(status), "{arguments:?}: {told}");
        let said = said + &told;
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let (_, _, told) = tried(&scene, &["strip", "nothing.hprof", "-o", "copy.hprof"]);
    assert!(told.starts_with("hprof-rs: cannot read"), "{told}");
}
