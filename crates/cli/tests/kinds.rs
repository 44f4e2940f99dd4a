//! Every reading command and every kind of file: the command reads it, or fails and names one that does.

mod support;

use std::fs;
use std::process::Output;

use support::{Scene, data, run, stderr, stdout};

/// A command with what stands before and behind the name of a file.
struct Reader {
    name: &'static str,
    before: &'static [&'static str],
    behind: &'static [&'static str],
}

const fn reader(
    name: &'static str,
    before: &'static [&'static str],
    behind: &'static [&'static str],
) -> Reader {
    Reader {
        name,
        before,
        behind,
    }
}

/// The commands that read a file.
const READERS: [Reader; 29] = [
    reader("summary", &[], &[]),
    reader("check", &[], &[]),
    reader("samples", &[], &[]),
    reader("convert", &[], &["--to", "collapsed"]),
    reader("threads", &[], &[]),
    reader("sites", &[], &[]),
    reader("histogram", &[], &[]),
    reader("top", &[], &[]),
    reader("strings", &[], &[]),
    reader("report", &[], &["--md"]),
    reader("leaks", &[], &[]),
    reader("collections", &[], &[]),
    reader("duplicates", &[], &[]),
    reader("finalizers", &[], &[]),
    reader("classloaders", &[], &[]),
    reader("growth", &["OTHER"], &[]),
    reader("android", &[], &[]),
    reader("paths", &[], &["java.lang.Thread"]),
    reader("dominators", &[], &[]),
    reader("retained", &[], &[]),
    reader("object", &[], &["0x1"]),
    reader("referrers", &[], &["0x1"]),
    reader("references", &[], &["0x1"]),
    reader("query", &[], &["SELECT count(*) FROM classes"]),
    reader("strip", &[], &["-o", "stripped.hprof"]),
    reader("diff", &["OTHER"], &[]),
    reader("records", &[], &[]),
    reader("gc", &[], &[]),
    reader("stacks", &[], &[]),
];

impl Reader {
    fn run(&self, scene: &Scene, file: &str) -> Output {
        let mut arguments = vec![self.name];
        // Of two files both are of the kind.
        arguments.extend(self.before.iter().map(|_| file));
        arguments.push(file);
        arguments.extend(self.behind);
        run(&mut scene.hprof_rs(&arguments), "")
    }
}

/// The commands that a message names as readers.
fn named(message: &str) -> Vec<&'static Reader> {
    let is_named = |it: &&Reader| {
        let words = [
            format!("`hprof-rs {}`", it.name),
            format!("`hprof-rs {} FILE`", it.name),
        ];
        words.iter().any(|word| message.contains(word.as_str()))
    };
    READERS.iter().filter(is_named).collect()
}

fn unpacked(name: &str) -> Vec<u8> {
    let path = format!(
        "{}/../foreign/tests/data/{name}.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut bytes = Vec::new();
    let mut file = flate2::read::GzDecoder::new(fs::File::open(path).expect("a sample"));
    std::io::Read::read_to_end(&mut file, &mut bytes).expect("it is whole");
    bytes
}

fn of_crate(path: &str) -> Vec<u8> {
    fs::read(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).expect("test data")
}

/// Files that a command reads.
fn files_that_are_read(scene: &Scene) -> Vec<&'static str> {
    let collapsed = b"a.B.main;a.B.work 7\na.B.main 3\n";
    let perf = b"java 7/8 [000] 1.5: 1 cycles:\n\t7f00 a (/x)\n\n";
    let files: [(&str, Vec<u8>); 8] = [
        (
            "heap.hprof",
            fs::read(data("hprof-32.bin")).expect("a dump"),
        ),
        (
            "cpu.hprof",
            fs::read(data("cpu-samples-b.hprof")).expect("a profile"),
        ),
        (
            "profile.txt",
            fs::read(data("cpu-samples.txt")).expect("a profile"),
        ),
        ("recording.jfr", unpacked("jdk17.jfr")),
        ("stacks.collapsed", collapsed.to_vec()),
        ("perf.script", perf.to_vec()),
        (
            "threads.txt",
            of_crate("crates/thread-dumps/tests/data/jdk8-in-log.txt"),
        ),
        ("gc.log", of_crate("crates/gclog/tests/data/unified-g1.log")),
    ];
    for (name, bytes) in &files {
        fs::write(scene.path(name), bytes).expect("a file");
    }
    let made = run(
        &mut scene.hprof_rs(&["convert", "profile.txt", "-o", "profile.pb.gz"]),
        "",
    );
    assert!(made.status.success(), "{}", stderr(&made));
    let names = files.iter().map(|(name, _)| *name);
    names.chain(["profile.pb.gz"]).collect()
}

#[test]
fn a_command_reads_a_file_or_names_one_that_does() {
    let scene = Scene::new();
    for file in files_that_are_read(&scene) {
        let read: Vec<(&Reader, Output)> = READERS
            .iter()
            .map(|it| (it, it.run(&scene, file)))
            .collect();
        let reads = |name: &str| {
            let found = read.iter().find(|(it, _)| it.name == name);
            found.is_some_and(|(_, output)| output.status.success())
        };
        for (reader, output) in read.iter().filter(|(_, output)| !output.status.success()) {
            let message = stderr(output);
            let what = format!("{} {file}: {message}", reader.name);
            // A class or an object that the dump does not have.
            if file == "heap.hprof" && message.contains("no object") || message.contains("0x1") {
                continue;
            }
            // A recording has tables, too, but not that of a dump.
            if file.ends_with(".jfr") && message.contains("no table classes") {
                continue;
            }
            assert!(!message.contains("panicked"), "{what}");
            let named = named(&message);
            assert!(!named.is_empty(), "it names no command: {what}");
            for other in named {
                assert_ne!(other.name, reader.name, "in a circle: {what}");
                assert!(reads(other.name), "{} does not read it: {what}", other.name);
            }
        }
        assert!(
            read.iter().any(|(_, output)| output.status.success()),
            "{file}"
        );
    }
}

/// Files that no command reads, with words of what is said.
fn files_of_others() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let dump = fs::read(data("hprof-32.bin")).expect("a dump");
    let prefixed = [b"Dumping heap to standard output ...\n", &dump[..]].concat();
    vec![
        ("heap.phd", b"\0\x12portable heap dump\0\0\0\x06\0\0\0\x05".to_vec(), "Eclipse MAT"),
        (
            "gc.xml",
            b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<verbosegc xmlns=\"http://www.ibm.com/j9/verbosegc\">\n\
              <gc-end id=\"5\" type=\"scavenge\" durationms=\"3.456\">\n</gc-end>\n</verbosegc>\n"
                .to_vec(),
            "GCMV",
        ),
        (
            "jrockit.log",
            b"[INFO ][memory ] [YC#1] 2.180-2.183: YC 524288KB->1234KB (1048576KB), 0.003 s\n".to_vec(),
            "GCViewer",
        ),
        ("zeros.hprof", vec![0; 100_000], "zeros"),
        ("prefixed.hprof", prefixed, "tail -c +37 FILE"),
        ("dump.b64", b"SkFWQSBQUk9GSUxFIDEuMC4yAAAAAAQAAAF\n".to_vec(), "base64 -d FILE"),
        ("dump.lz4", b"\x04\x22\x4d\x18\x64\x40\xa7rest".to_vec(), "lz4 -dc"),
        ("old.cpu", b"\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(), "pprof -proto"),
        ("Foo.class", b"\xca\xfe\xba\xbe\0\0\0\x41\0\x1d".to_vec(), "javap"),
        ("page.html", b"<!DOCTYPE html><title>a</title>".to_vec(), "browser"),
        ("data.json", b"{\"a\": 1}".to_vec(), "jq"),
        ("old.jfr", b"FLR\0\0\0\0\x09".repeat(40), "JDK Mission Control"),
    ]
}

#[test]
fn files_that_no_command_reads_are_named_with_what_does() {
    let scene = Scene::new();
    for (file, bytes, words) in files_of_others() {
        fs::write(scene.path(file), bytes).expect("a file");
        for name in [
            "summary",
            "samples",
            "check",
            "report",
            "strip",
            "histogram",
            "gc",
            "stacks",
        ] {
            let reader = READERS.iter().find(|it| it.name == name).expect("a reader");
            let output = reader.run(&scene, file);
            let message = stderr(&output);
            let what = format!("{name} {file}: {message}{}", stdout(&output));
            assert!(!output.status.success(), "{what}");
            assert!(message.contains(words), "{what}");
            assert!(named(&message).is_empty(), "no command reads it: {what}");
        }
    }
}

/// The head of a file in a tar archive, and its contents, filled up to whole blocks.
fn in_tar(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut file = vec![0; 512];
    file[..name.len()].copy_from_slice(name.as_bytes());
    file[124..135].copy_from_slice(format!("{:011o}", contents.len()).as_bytes());
    file[156] = b'0';
    file[257..262].copy_from_slice(b"ustar");
    file.extend_from_slice(contents);
    file.resize(file.len().next_multiple_of(512), 0);
    file
}

#[test]
fn the_only_dump_of_an_archive_is_read() {
    let scene = Scene::new();
    let dump = fs::read(data("hprof-32.bin")).expect("a dump");
    fs::write(scene.path("heap.hprof"), &dump).expect("a file");
    let end = vec![0; 1024];
    let notes = in_tar("notes.txt", b"see the dump\n");
    let one = [&notes[..], &in_tar("a/heap.hprof", &dump), &end].concat();
    let two = [
        &in_tar("one.hprof", &dump)[..],
        &in_tar("two.hprof", &dump),
        &end,
    ]
    .concat();
    fs::write(scene.path("one.tar"), &one).expect("a file");
    fs::write(scene.path("two.tar"), &two).expect("a file");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, &one).expect("memory");
    fs::write(scene.path("one.tar.gz"), packer.finish().expect("memory")).expect("a file");
    let histogram = |file: &str| {
        let output = run(&mut scene.hprof_rs(&["histogram", "--top", "0", file]), "");
        assert!(output.status.success(), "{file}: {}", stderr(&output));
        stdout(&output)
    };
    let expected = histogram("heap.hprof");
    assert_eq!(histogram("one.tar"), expected);
    assert_eq!(histogram("one.tar.gz"), expected);
    let leaks = run(&mut scene.hprof_rs(&["dominators", "one.tar.gz"]), "");
    assert!(leaks.status.success(), "{}", stderr(&leaks));
    let several = run(&mut scene.hprof_rs(&["summary", "two.tar"]), "");
    assert!(!several.status.success());
    assert!(
        stderr(&several).contains("one.hprof, two.hprof"),
        "{}",
        stderr(&several)
    );
}

#[test]
fn a_dump_that_went_through_a_terminal_says_so() {
    let scene = Scene::new();
    let dump = fs::read(data("hprof-32.bin")).expect("a dump");
    let mut changed = Vec::new();
    for byte in dump {
        if byte == b'\n' {
            changed.push(b'\r');
        }
        changed.push(byte);
    }
    fs::write(scene.path("ftp.hprof"), changed).expect("a file");
    let output = run(&mut scene.hprof_rs(&["check", "ftp.hprof"]), "");
    assert!(!output.status.success());
    let said = stdout(&output) + &stderr(&output);
    assert!(said.contains("copy it again in binary mode"), "{said}");
}

/// The command shows the part that was read, and the status says that something is missing.
#[test]
fn a_recording_that_is_read_in_part_fails() {
    let scene = Scene::new();
    let whole = unpacked("jdk17.jfr");
    fs::write(scene.path("whole.jfr"), &whole).expect("a file");
    fs::write(scene.path("part.jfr"), [&whole[..], &[7; 5000]].concat()).expect("a file");
    for command in ["summary", "samples"] {
        let output = run(&mut scene.hprof_rs(&[command, "whole.jfr"]), "");
        assert!(output.status.success(), "{}", stderr(&output));
        let part = run(&mut scene.hprof_rs(&[command, "part.jfr"]), "");
        assert_eq!(part.status.code(), Some(1));
        assert!(
            stderr(&part).contains("5.0 kB were not read"),
            "{}",
            stderr(&part)
        );
        assert!(stdout(&part).contains("Work.spin"), "{}", stdout(&part));
    }
    let json = run(&mut scene.hprof_rs(&["summary", "--json", "part.jfr"]), "");
    assert_eq!(json.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_str(&stdout(&json)).expect("JSON");
    assert_eq!(json["is_partly_read"], true);
    assert_eq!(json["damage"]["lost_bytes"], 5000);
}

/// Costs have no date in collapsed stacks, but no recording is of 1970.
#[test]
fn what_is_converted_is_not_of_1970() {
    let scene = Scene::new();
    fs::write(scene.path("a.collapsed"), "a.B.main;a.B.work 7\n").expect("a file");
    fs::copy(data("cpu-samples.txt"), scene.path("b.txt")).expect("a file");
    let created = |file: &str| {
        let output = run(&mut scene.hprof_rs(&["summary", "--json", file]), "");
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        json["created"].as_str().unwrap_or_default().to_owned()
    };
    for (from, to) in [
        ("a.collapsed", "a.jfr"),
        ("a.collapsed", "a.hprof"),
        ("b.txt", "b.jfr"),
    ] {
        let done = run(&mut scene.hprof_rs(&["convert", from, "-o", to]), "");
        assert!(done.status.success(), "{}", stderr(&done));
        let found = created(to);
        assert!(
            !found.is_empty() && !found.contains("1970"),
            "{from} {to}: {found}"
        );
    }
}

/// The counts are compared with the list of records, which is made without a census.
#[test]
fn check_counts_roots_by_kind() {
    let scene = Scene::new();
    let dump = fs::read(data("hprof-32.bin")).expect("a dump");
    fs::write(scene.path("heap.hprof"), &dump).expect("a file");
    let check = |file: &str| {
        let output = run(&mut scene.hprof_rs(&["check", "--json", file]), "");
        serde_json::from_str::<serde_json::Value>(&stdout(&output)).expect("JSON")
    };
    let counted = check("heap.hprof");
    let counted = counted["roots"][0].as_object().expect("kinds with numbers");
    assert!(counted.len() >= 7, "{counted:?}");
    let listed = run(&mut scene.hprof_rs(&["records", "--sub", "heap.hprof"]), "");
    let listed = stdout(&listed);
    let roots = listed.lines().filter(|line| line.contains("ROOT_")).count() as u64;
    assert_eq!(
        counted.values().filter_map(|it| it.as_u64()).sum::<u64>(),
        roots
    );
    // A segment with a root and a tag of no known kind behind it.
    let mut unknown = b"JAVA PROFILE 1.0.2\0\0\0\0\x04\0\0\0\0\0\0\0\0".to_vec();
    unknown.extend(b"\x1c\0\0\0\0\0\0\0\x0b\x05\0\0\0\x01\x55\0\0\0\x02\0");
    unknown.extend(b"\x2c\0\0\0\0\0\0\0\0");
    fs::write(scene.path("unknown.hprof"), unknown).expect("a file");
    let found = check("unknown.hprof");
    let message = found["damage"]["entries"][0]["message"]
        .as_str()
        .unwrap_or_default();
    assert!(message.contains("unknown sub-record (tag 0x55)"), "{found}");
    assert_eq!(found["roots"][0]["sticky class"], 1, "{found}");
}
