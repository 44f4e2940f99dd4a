//! Names and texts that a terminal would obey, in every place of a file, shown by every command.

mod support;

use std::fs;
use std::process::Output;

use support::{Scene, data, run, stderr, stdout};

/// The title of a terminal, colours, directions, nothing to see, a line of its own.
const EVIL: &str =
    "\x1b]0;x\x07\x1b[31m\u{9b}2J\u{7f}\r\u{202e}\u{2066}\u{200f}\u{200b}\u{2028}\nFORGED";

/// Names that analyses look up in dumps, which `strip` therefore keeps.
const NEEDED: &[&str] = &[
    "value",
    "count",
    "offset",
    "hash",
    "name",
    "group",
    "parent",
    "referent",
    "queue",
    "next",
    "threadStatus",
    "tid",
    "key",
    "table",
    "size",
    "elementData",
    "priority",
    "daemon",
    "props",
    "defaults",
    "val",
    "left",
    "right",
];

/// A binary file whose names end in [`EVIL`], and whose texts have such characters in them.
fn poisoned(name: &str) -> Vec<u8> {
    let file = fs::read(data(name)).expect("test data");
    let head = file.iter().position(|&byte| byte == 0).expect("a header") + 1 + 4 + 8;
    let mut poisoned = file[..head].to_vec();
    let mut rest = &file[head..];
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes")) as usize;
    while rest.len() >= 9 {
        let length = number(&rest[5..9]);
        let (record, after) = rest.split_at(9 + length);
        rest = after;
        match record[0] {
            0x01 => poisoned.extend(renamed(record)),
            0x0c | 0x1c => {
                let mut heap = record.to_vec();
                poison_texts(&mut heap);
                poisoned.extend(heap);
            }
            _ => poisoned.extend_from_slice(record),
        }
    }
    poisoned
}

/// A record of a string, of a file with identifiers of four bytes.
fn renamed(record: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(&record[13..]).into_owned();
    let is_needed = NEEDED.contains(&&*text) || text.starts_with(['[', '(', '<']);
    let evil = match is_needed || text.starts_with("java/") {
        true => "",
        false => EVIL,
    };
    let mut renamed = record[..5].to_vec();
    renamed.extend(((4 + text.len() + evil.len()) as u32).to_be_bytes());
    renamed.extend_from_slice(&record[9..13]);
    renamed.extend_from_slice(text.as_bytes());
    renamed.extend_from_slice(evil.as_bytes());
    renamed
}

/// In characters between letters: a dot becomes ESC, a slash turns the line round, a colon ends it.
fn poison_texts(heap: &mut [u8]) {
    for at in 0..heap.len().saturating_sub(6) {
        let [0, before, high, low, 0, after] = heap[at..at + 6] else {
            continue;
        };
        if !before.is_ascii_alphanumeric() || !after.is_ascii_alphanumeric() {
            continue;
        }
        let evil: u16 = match (high, low) {
            (0, b'.') => 0x1b,
            (0, b'/') => 0x202e,
            (0, b':' | b' ' | b'_' | b'-') => 0x0a,
            _ => continue,
        };
        heap[at + 2..at + 4].copy_from_slice(&evil.to_be_bytes());
    }
}

struct Files {
    scene: Scene,
    heap: String,
    profiles: Vec<String>,
}

fn files() -> Files {
    let scene = Scene::new();
    let evil_name = EVIL.replace('/', "");
    let write = |name: &str, contents: &[u8]| {
        let name = format!("{name}{evil_name}.hprof");
        fs::write(scene.path(&name), contents).expect("a file");
        name
    };
    let heap = write("heap", &poisoned("hprof-32.bin"));
    let mut profiles = vec![
        write("cpu", &poisoned("cpu-samples-b.hprof")),
        write("sites", &poisoned("heap-sites-b.hprof")),
    ];
    let on_one_line = EVIL.replace(['\n', '\r', '\u{2028}'], "");
    for (name, word) in [
        ("cpu-old-excerpt.txt", "String"),
        ("cpu-samples-thread.txt", "main"),
        ("cpu-times-thread.txt", "main"),
        ("heap-sites-thread.txt", "main"),
        ("monitor-time.txt", "java"),
    ] {
        let text = fs::read_to_string(data(name)).expect("test data");
        let text = text.replace(word, &format!("{word}{on_one_line}"));
        profiles.push(write(name, text.as_bytes()));
    }
    Files {
        scene,
        heap,
        profiles,
    }
}

/// A log of garbage collections with such characters in all its names.
fn evil_log() -> String {
    let evil = EVIL.replace(['\n', '\r'], "");
    format!(
        "[0.1s][info][gc,init] Version: {evil}\n\
         [0.2s][info][gc] GC(0) Pause Young (Normal{evil}) (G1 {evil}) 24M->3M(256M) 2.3ms\n\
         [0.3s][info][gc] GC(1) Garbage Collection ({evil}) 24M(9%)->3M(1%)\n\
         [0.4s][info][safepoint] Safepoint \"{evil}\", Reaching safepoint: 1 ns, Total: 2 ns\n\
         {evil} of the program\n"
    )
}

/// A thread dump with such characters in all its names.
fn evil_dump() -> String {
    let evil = EVIL.replace(['\n', '\r'], "");
    format!(
        "Full thread dump {evil}:\n\n\
         \"a{evil}\" #1 prio=5 tid=0x1 nid=17 waiting for monitor entry\n   \
         java.lang.Thread.State: BLOCKED (on object monitor)\n\tat App.{evil}(App.java:7)\n\t\
         - waiting to lock <0x1> (a java.{evil})\n\t- locked <0x2> (a java.{evil})\n\n\
         \"b{evil}\" #2 prio=5 tid=0x2 nid=18 waiting for monitor entry\n   \
         java.lang.Thread.State: BLOCKED (on object monitor)\n\tat App.{evil}(App.java:7)\n\t\
         - waiting to lock <0x2> (a java.{evil})\n\t- locked <0x1> (a java.{evil})\n\n\
         Found one Java-level deadlock:\n=====\n\"c{evil}\":\n  waiting to lock monitor 0x1 (object 0x1, a \
         java.{evil}),\n  which is held by \"d{evil}\"\n"
    )
}

/// The faults of an output.
fn faults(arguments: &[&str], output: &Output) -> Vec<String> {
    let is_hostile = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut faults = Vec::new();
    for (stream, text) in [("stdout", stdout(output)), ("stderr", stderr(output))] {
        let mut before = "";
        for line in text.lines() {
            // A message is set in where it continues.
            let is_forged = match stream {
                // Lines mean nothing there.
                "stdout" if arguments.contains(&"html") => false,
                "stdout" => line.trim_start().starts_with("FORGED"),
                _ => line.starts_with("FORGED"),
            };
            if is_forged || line.contains(is_hostile) {
                faults.push(format!("{arguments:?}: {stream}: {before:?} {line:?}"));
                break;
            }
            before = line;
        }
    }
    faults
}

#[test]
fn no_command_lets_control_or_bidi_characters_through() {
    let files = files();
    let Files {
        scene,
        heap,
        profiles,
    } = &files;
    let heap_page = format!("{EVIL}x.html");
    let mut seen: Vec<String> = Vec::new();
    let mut found: Vec<String> = Vec::new();
    let mut all = |arguments: &[&str]| {
        seen.push(arguments[0].to_owned());
        let output = run(&mut scene.hprof_rs(arguments), "");
        found.extend(faults(arguments, &output));
        output
    };
    // What has many rows is shown whole.
    for command in [
        &["summary", "--top", "0"][..],
        &["summary", "--json"],
        &["histogram", "--top", "0"],
        &["histogram", "--json", "--top", "0"],
        &["histogram", "--by", "package", "--top", "0"],
        &["histogram", "--by", "loader"],
        &["top"],
        &["top", "--json"],
        &["strings", "--top", "0"],
        &["strings", "--json", "--top", "0"],
        &["threads", "--locals"],
        &["threads", "--json"],
        &["threads", "--retained"],
        &["report", "--md"],
        &["report", "--json"],
        &["report", "-o", "-"],
        &["leaks"],
        &["leaks", "--json"],
        &["collections"],
        &["collections", "--json"],
        &["duplicates", "--top", "0"],
        &["duplicates", "--json"],
        &["finalizers"],
        &["classloaders"],
        &["classloaders", "--json"],
        &["android"],
        &["dominators"],
        &["dominators", "--json"],
        &["retained"],
        &["retained", "--by", "package"],
        &["check"],
        &["check", "--json"],
        &["records", "--sub"],
        &["records", "--json"],
        &["convert", "--to", "csv"],
        &["convert", "--to", "json"],
        &["convert", "--to", "html"],
        &["convert", "--to", "svg"],
        &["convert", "--to", "collapsed"],
        &["samples"],
        &["sites"],
    ] {
        let mut arguments = command.to_vec();
        arguments.push(heap);
        all(&arguments);
    }
    all(&["growth", heap, heap, heap]);
    all(&["diff", heap, &profiles[0]]);
    all(&["diff", heap, heap]);
    for flags in [&[][..], &["--csv"], &["--json"]] {
        for sql in [
            "SELECT * FROM objects LIMIT 500",
            "SELECT * FROM classes",
            "SELECT * FROM strings",
            "SELECT * FROM fields LIMIT 2000",
            "SELECT * FROM references LIMIT 500",
            "SELECT * FROM roots",
            "SELECT * FROM threads",
            "SELECT name AS \"a\u{1b}\u{202e}\nFORGED\" FROM classes LIMIT 1",
            "SELECT nothing\u{1b}\u{202e} FROM classes",
        ] {
            let mut arguments = vec!["query", heap, sql];
            arguments.extend(flags);
            all(&arguments);
        }
    }
    let ids = all(&[
        "query",
        "--csv",
        heap,
        "SELECT min(id) FROM objects GROUP BY class LIMIT 12",
    ]);
    let ids = stdout(&ids);
    for id in ids.lines().skip(1) {
        all(&["object", heap, id]);
        all(&["object", "--json", heap, id]);
        all(&["referrers", heap, id]);
        all(&["references", heap, id]);
        all(&["paths", heap, id]);
        all(&["retained", heap, id]);
        all(&["dominators", "--of", id, heap]);
    }
    all(&["paths", heap, "java.lang.*"]);
    // A recording of Flight Recorder with such names.
    let recording = format!("recording{EVIL}.jfr").replace(['/', '\n'], "");
    all(&["convert", &profiles[0], "-o", &recording]);
    let written = fs::read(scene.path(&recording)).expect("a recording");
    let hostile = "\u{202e}".as_bytes();
    assert!(written.windows(3).any(|bytes| bytes == hostile));
    for profile in profiles.iter().chain([&recording]) {
        for command in [
            &["summary", "--top", "0"][..],
            &["summary", "--json"],
            &["samples", "--top", "0"],
            &["samples", "--by", "trace", "--top", "0"],
            &["samples", "--by", "thread"],
            &["samples", "--by", "tree", "--min", "0"],
            &["samples", "--json"],
            &["events"],
            &["events", "--json"],
            &["events", "--event", "jdk.ExecutionSample", "--top", "0"],
            &["events", "--event", "jdk.ExecutionSample", "--json"],
            &["samples", "--event", "jdk.ExecutionSample"],
            &["samples", "--event", "jdk.ExecutionSample", "--json"],
            &["query", "--tables"],
            &["slow"],
            &["slow", "--json"],
            &["sites", "--stacks"],
            &["sites", "--json"],
            &["threads"],
            &["threads", "--json"],
            &["check"],
            &["records"],
            &["histogram"],
            &["convert", "--to", "collapsed"],
            &["convert", "--to", "svg"],
            &["convert", "--to", "html"],
            &["convert", "--to", "speedscope"],
            &["convert", "--to", "firefox"],
            &["convert", "--to", "csv"],
            &["convert", "--to", "json"],
            &["convert", "--to", "text"],
        ] {
            let mut arguments = command.to_vec();
            arguments.push(profile);
            all(&arguments);
        }
        all(&["diff", profile, profile]);
        all(&["diff", &profiles[0], profile]);
    }
    // An assistant gets names and texts in JSON, twice encoded; nothing in them is hidden from it.
    let call = |id: u32, tool: &str, arguments: serde_json::Value| {
        let params = serde_json::json!({"name": tool, "arguments": arguments});
        serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    let hello = serde_json::json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    });
    let lines = [
        serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        serde_json::json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(2, "list_files", serde_json::json!({})),
        call(
            3,
            "histogram",
            serde_json::json!({"file": heap, "limit": 200}),
        ),
        call(4, "open", serde_json::json!({"file": heap})),
        call(5, "threads", serde_json::json!({"file": heap})),
        call(6, "methods", serde_json::json!({"file": profiles[0]})),
        call(7, "open", serde_json::json!({"file": EVIL})),
    ];
    let input = lines.map(|line| line.to_string()).join("\n") + "\n";
    let output = run(&mut scene.hprof_rs(&["mcp"]), &input);
    let of_mcp = faults(&["mcp"], &output);
    assert!(of_mcp.is_empty(), "{of_mcp:?}");
    assert_eq!(stdout(&output).lines().count(), 7, "{}", stdout(&output));
    for line in stdout(&output).lines() {
        let answer: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        let is_hidden = |c: char| {
            c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        };
        assert!(!text.contains(is_hidden), "{text:?}");
    }
    let log = files.scene.path("gc.log");
    fs::write(&log, evil_log()).expect("a file");
    for flags in [
        &[][..],
        &["gc.log"],
        &["--json"],
        &["-o", "-"],
        &["-o", &heap_page],
    ] {
        all(&[&["gc", "gc.log"][..], flags].concat());
    }
    fs::write(files.scene.path("stacks.txt"), evil_dump()).expect("a file");
    for flags in [
        &[][..],
        &["stacks.txt"],
        &["--json"],
        &["-o", "-"],
        &["-o", &heap_page],
    ] {
        all(&[&["stacks", "stacks.txt"][..], flags].concat());
    }
    let copy = format!("copy{EVIL}.hprof");
    all(&["strip", heap, "-o", &copy]);
    let (list, proof) = (format!("list{EVIL}.json"), format!("proof{EVIL}.json"));
    all(&[
        "strip",
        "--redact",
        "--redact-list",
        &list,
        "--prove",
        &proof,
        heap,
        "-o",
        &copy,
    ]);
    all(&[
        "strip",
        "--redact-pattern",
        &format!("({EVIL}"),
        heap,
        "-o",
        &copy,
    ]);
    let lake = format!("lake{EVIL}");
    all(&["export", heap, "--parquet", &lake]);
    all(&[
        "export",
        &profiles[0],
        "--parquet",
        &lake,
        "--service",
        EVIL,
    ]);
    for output in ["x.html", "x.md", "x.json"] {
        let output = format!("{EVIL}{output}");
        all(&["report", heap, "-o", &output]);
    }
    for output in [
        "x.svg", "x.html", "x.csv", "x.pb.gz", "x.otlp", "x.hprof", "x.exe",
    ] {
        let output = format!("{EVIL}{output}");
        all(&["convert", &profiles[0], "-o", &output]);
        all(&["convert", "-o", &format!("no{EVIL}/{output}"), &profiles[0]]);
    }
    // Nothing but a name is there, or something else than the flags say.
    let missing = format!("missing{EVIL}");
    let junk = format!("junk{EVIL}");
    fs::write(scene.path(&junk), EVIL).expect("a file");
    for command in [
        "summary",
        "histogram",
        "top",
        "strings",
        "threads",
        "report",
        "leaks",
        "collections",
        "duplicates",
        "finalizers",
        "classloaders",
        "growth",
        "android",
        "dominators",
        "retained",
        "check",
        "records",
        "samples",
        "events",
        "sites",
    ] {
        all(&[command, &missing]);
        all(&[command, &junk]);
        all(&[command, heap, &format!("--{missing}")]);
    }
    for command in ["object", "referrers", "references", "paths"] {
        all(&[command, &missing, "0x1"]);
        all(&[command, heap, &missing]);
    }
    all(&["run", "--agent", &format!("cpu={missing}"), "--", &missing]);
    all(&["run", "--", &missing]);
    all(&["attach", "1", &format!("file={missing}")]);
    all(&["metrics", &missing]);
    all(&["control", &missing, &missing]);
    all(&["control", "1", "object", &missing]);
    all(&["dump", &missing]);
    all(&["dump", "1", "-o", &missing]);
    all(&["memory", &missing]);
    all(&["memory", "--post-mortem", &missing]);
    all(&["record", &missing]);
    all(&["record", "1", "-o", &missing]);
    all(&["live", &missing]);
    all(&["listen", &format!("unix:{missing}/x"), "--run", &missing]);
    all(&["serve", "--listen", &missing]);
    all(&["worker", "--database", &missing, "--store", heap]);
    all(&["worker", "--database-file", &missing, "--store", heap]);
    all(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        &format!("ftp://{missing}"),
    ]);
    all(&[
        "capture",
        &missing,
        "--watch",
        "--server",
        "http://127.0.0.1:1/?token=x",
        "--patience",
        "0",
    ]);
    // No folder can be made below a file.
    let below = format!("{heap}/{missing}");
    all(&["serve", "--listen", "127.0.0.1:0", "--folder", &below]);
    all(&[
        "capture",
        &missing,
        "--server",
        "http://127.0.0.1:1/?token=x",
    ]);
    all(&["capture", heap, "--server", &missing]);
    let nobody = ["--server", "http://127.0.0.1:1/?token=x", "--patience", "0"];
    all(&[&["capture", heap, "--name", &missing][..], &nobody].concat());
    all(&[&["capture", heap, "--fail-above", &missing][..], &nobody].concat());
    let receiver = ["http://127.0.0.1:1", "--push-patience", "0"];
    all(&[&["push", &profiles[0]][..], &receiver].concat());
    all(&["push", &profiles[0], &missing]);
    all(&[
        "push",
        &missing,
        "http://127.0.0.1:1",
        "--push-headers",
        &junk,
    ]);
    all(&["mcp", &missing]);
    all(&["ps"]);
    all(&["options"]);
    all(&["completions", "bash"]);
    all(&["man", &below]);
    all(&["agent-path", "--dir", &format!("{missing}/x")]);
    all(&[&missing]);
    // So that every new command gets a case here.
    let help = stdout(&all(&["help"]));
    let commands = help.lines().skip_while(|line| *line != "Running JVMs:");
    for line in commands.take_while(|line| *line != "Options:") {
        let Some(command) = line
            .strip_prefix("  ")
            .filter(|line| !line.starts_with(' '))
        else {
            continue;
        };
        let command = command.split_whitespace().next().unwrap_or_default();
        assert!(seen.iter().any(|it| it == command), "{command}");
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_name_is_printed_as_it_is_if_that_is_asked_for() {
    let Files { scene, heap, .. } = files();
    let histogram = ["histogram", "--top", "0", "--raw", &heap];
    let raw = run(&mut scene.hprof_rs(&histogram), "");
    assert!(stdout(&raw).contains(EVIL));
    let shown = run(
        &mut scene.hprof_rs(&[&histogram[..3], &[&*heap]].concat()),
        "",
    );
    let visible =
        r"\x1b]0;x\x07\x1b[31m\x9b2J\x7f\x0d\u{202e}\u{2066}\u{200f}\u{200b}\u{2028}\x0aFORGED";
    assert!(stdout(&shown).contains(visible), "{}", stdout(&shown));
}

#[test]
fn no_cell_of_a_spreadsheet_is_a_formula() {
    let scene = Scene::new();
    let name = "=cmd|' C calc'!A0";
    let text = fs::read_to_string(data("cpu-samples.txt")).expect("test data");
    let profile = scene.path("java.hprof.txt");
    fs::write(&profile, text.replace("Spin", name)).expect("a file");
    let output = run(
        &mut scene.hprof_rs(&["convert", "--to", "csv", "java.hprof.txt"]),
        "",
    );
    let csv = stdout(&output);
    assert!(csv.contains(name), "{csv}");
    for cell in csv.split([',', '\n']) {
        assert!(!cell.trim_matches('"').starts_with('='), "{csv}");
    }
    let sql = "SELECT -1 AS number, '-1' AS text, '=1+1' AS formula";
    let output = run(
        &mut scene.hprof_rs(&["query", "--csv", &data("hprof-32.bin"), sql]),
        "",
    );
    assert_eq!(stdout(&output), "number,text,formula\n-1,'-1,'=1+1\n");
}

#[test]
fn a_name_is_escaped_once_whatever_formats_it_has_passed() {
    let scene = Scene::new();
    let name = "A\u{202e}b\u{e0041}c\\u001bd\\\\u202ee";
    let text = format!(
        "JAVA PROFILE 1.0.1, created Sun Jul 12 20:10:11 2026\n\nTRACE 300001:\n\tapp.{name}.run(A.java:3)\n\
         CPU SAMPLES BEGIN (total = 10) Sun Jul 12 20:10:12 2026\n\
         rank   self  accum   count trace method\n   1 100.00% 100.00%      10 300001 app.{name}.run\n\
         CPU SAMPLES END\n"
    );
    fs::write(scene.path("a.txt"), text).expect("a profile");
    let shown = r"app.A\u{202e}b\u{e0041}c\x1bd\u202ee";
    let of = |arguments: &[&str]| stdout(&run(&mut scene.hprof_rs(arguments), ""));
    for file in ["b.txt", "c.hprof"] {
        run(&mut scene.hprof_rs(&["convert", "a.txt", "-o", file]), "");
        let said = of(&["samples", file]);
        assert!(said.contains(&format!("  {shown}.run\n")), "{file}: {said}");
    }
    let written = fs::read_to_string(scene.path("b.txt")).expect("text");
    assert!(
        !written.contains(['\u{202e}', '\u{e0041}', '\x1b']),
        "{written}"
    );
    // Within quotes a backslash has another before it.
    let records = of(&["records", "--only", "UTF8", "c.hprof"]);
    let quoted = r#""app.A\u{202e}b\u{e0041}c\x1bd\\u202ee""#;
    assert!(records.contains(quoted), "{records}");
}
