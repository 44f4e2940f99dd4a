//! Tells what a file is that is no dump and no profile, by how it begins, and who reads it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use hprof_analysis::input::Input;

/// As much as is looked at.
const HEAD: u64 = 64 << 10;

/// For an error that a file is no HPROF file: an error that names its kind.
pub fn explained(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let said = format!("{error:#}");
    let is_other = said.contains("not an HPROF file") || said.contains("zip archive");
    match recognised(path).filter(|_| is_other && path != Path::new("-")) {
        Some((what, advice)) => {
            anyhow::anyhow!("{} is {what}, not an HPROF file: {advice}", path.display())
        }
        None => error,
    }
}

/// For an error that a command finds nothing in a file: the kind of the file and who reads it, if that is another
/// command or tool. Empty otherwise.
pub fn hint(path: &Path, command: &str) -> String {
    let mut start = [0; 12];
    let is_hprof = File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start == *b"JAVA PROFILE";
    let found = match is_hprof {
        true => Some(("an HPROF file", "`hprof-rs summary FILE` shows it")),
        false => recognised(path),
    };
    match found.filter(|(what, _)| *what != "plain text") {
        Some((_, advice)) if advice.contains(&format!("hprof-rs {command}")) => String::new(),
        Some((what, advice)) => format!("; it is {what}: {advice}"),
        None => String::new(),
    }
}

/// The kind of a file, and the tool that reads it.
fn recognised(path: &Path) -> Option<(&'static str, &'static str)> {
    let mut head = Vec::new();
    File::open(path)
        .ok()?
        .take(HEAD)
        .read_to_end(&mut head)
        .ok()?;
    if head.starts_with(b"PK") {
        let is_jar = ["META-INF/", ".class"]
            .iter()
            .any(|name| contains(&head, name));
        if is_jar {
            return Some((
                "a jar",
                "start its program with `hprof-rs run -- java -jar FILE`, or give the dump",
            ));
        }
    }
    if let Some(found) = of_bytes(&head) {
        return Some(found);
    }
    // What is in a compressed file.
    let mut inside = Vec::new();
    let input = Input::open(path).ok()?;
    input
        .into_reader()
        .take(HEAD)
        .read_to_end(&mut inside)
        .ok()?;
    let is_packed = head.get(..16) != inside.get(..16);
    if is_packed && inside.first() == Some(&0x0a) && contains(&inside, "samples") {
        return Some((
            "a pprof profile",
            "`hprof-rs summary`, `samples` and `convert` show it",
        ));
    }
    of_bytes(&inside)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|at| at == text.as_bytes())
}

/// The kind of a file that begins like this, and the tool that reads it.
pub fn of_bytes(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let binary: [(&[u8], &str, &str); 9] = [
        (
            b"FLR\0",
            "a recording of the JDK Flight Recorder",
            "`hprof-rs summary`, `samples` and `convert` show its profile, `gc` its collections, `stacks` its thread \
             dumps",
        ),
        (
            b"\xca\xfe\xba\xbe",
            "a Java class",
            "`javap -v FILE` shows it; start its program with `hprof-rs run -- java CLASS`",
        ),
        (
            b"\x89PNG",
            "a picture (PNG)",
            "give the profile that it was made of",
        ),
        (
            b"\xff\xd8\xff",
            "a picture (JPEG)",
            "give the profile that it was made of",
        ),
        (
            b"%PDF",
            "a PDF document",
            "give the dump or profile that it is about",
        ),
        (
            b"MDMP",
            "a crash dump of Windows",
            "`jhsdb jmap --binaryheap --core FILE --exe JAVA` makes a heap dump of it",
        ),
        (
            b"\x00\x00\x00\x14portable heap dump",
            "a heap dump of OpenJ9 (PHD)",
            "Eclipse MAT with DTFJ reads it; `jcmd PID Dump.heap` of OpenJ9 has other formats",
        ),
        (
            b"SQLite format 3",
            "a database of SQLite",
            "`sqlite3 FILE` reads it",
        ),
        (
            b"hprof-rs",
            "an index of hprof-rs",
            "give the dump that it belongs to",
        ),
    ];
    let found = binary.iter().find(|(start, ..)| head.starts_with(start));
    if let Some(&(_, what, advice)) = found {
        return Some((what, advice));
    }
    if head.starts_with(b"\x7fELF") {
        let is_little = head.get(5) == Some(&1);
        let kind = match (head.get(16), head.get(17)) {
            (Some(&low), Some(0)) if is_little => low,
            (Some(0), Some(&low)) => low,
            _ => 0,
        };
        return Some(match kind {
            4 => (
                "a core dump",
                "`jhsdb jmap --binaryheap --core FILE --exe JAVA` makes a heap dump of it",
            ),
            _ => (
                "a program or library (ELF)",
                "give the dump or profile that a JVM wrote; `hprof-rs run -- java ...` makes one",
            ),
        });
    }
    // Shells of Windows write UTF-16.
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if is_utf16 && hprof_thread_dumps::begins_in(head) {
        return Some(THREAD_DUMP);
    }
    of_text(head)
}

/// Thread dumps of all forms, with the command that reads them.
const THREAD_DUMP: (&str, &str) = (
    "a thread dump (jstack)",
    "`hprof-rs stacks FILE` shows it; `threads` shows the threads of a heap dump",
);

fn of_text(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The last character may be cut.
        Err(error) if error.valid_up_to() + 4 > head.len() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    if text.contains('\0') {
        return None;
    }
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let small = start.get(..64).unwrap_or(start).to_ascii_lowercase();
    let has = |what: &str| text.contains(what);
    Some(
        if small.starts_with("<!doctype html") || small.starts_with("<html") {
            (
                "a page (HTML)",
                "open it in a browser, or give the dump or profile that it was made of",
            )
        } else if small.starts_with("<svg") || small.starts_with("<?xml") && has("<svg") {
            (
                "a picture (SVG)",
                "open it in a browser, or give the profile that it was made of",
            )
        } else if has("speedscope.app/file-format-schema") {
            (
                "a profile for speedscope",
                "`hprof-rs summary`, `samples` and `convert` show it",
            )
        } else if hprof_thread_dumps::begins_in(head) {
            THREAD_DUMP
        } else if start.starts_with(['{', '[']) && !has("[gc") && !has("[info]") {
            (
                "JSON",
                "`jq . FILE` shows it; give the dump or profile that it was made of",
            )
        } else if has("A fatal error has been detected by the Java Runtime") {
            (
                "a JVM's report of a crash (hs_err)",
                "it is text to be read; a heap dump is another file",
            )
        } else if has("[gc") || has("[GC") || has("[Full GC") || has("<verbosegc") {
            (
                "a log of the garbage collector",
                "`hprof-rs gc FILE` summarizes it; a heap dump is another file",
            )
        } else if is_collapsed(start) {
            (
                "collapsed stacks",
                "`hprof-rs summary`, `samples` and `convert` show them",
            )
        } else {
            (
                "plain text",
                "give a heap dump, or a profile that begins with JAVA PROFILE; `hprof-rs run` makes one",
            )
        },
    )
}

/// Lines of frames with semicolons between and a number at the end.
fn is_collapsed(text: &str) -> bool {
    let mut lines = text.lines().take(3).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            let cost = line.rsplit_once(' ');
            cost.is_some_and(|(stack, cost)| stack.contains(';') && cost.parse::<u64>().is_ok())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_are_recognised_by_what_is_in_them() {
        let elf = |kind: u8| [&b"\x7fELF\x02\x01"[..], &[0; 10], &[kind, 0, 0]].concat();
        for (head, what) in [
            (b"FLR\0\0\x02".to_vec(), "Flight Recorder"),
            (elf(4), "a core dump"),
            (elf(3), "(ELF)"),
            (b"\xca\xfe\xba\xbe\0\0\0\x41".to_vec(), "a Java class"),
            (b"\x89PNG\r\n".to_vec(), "PNG"),
            (b"\n<!DOCTYPE html><title>".to_vec(), "HTML"),
            (b"<?xml version='1.0'?><svg>".to_vec(), "SVG"),
            (b"{\"a\": 1}".to_vec(), "JSON"),
            (
                b"2026-01-01 10:00:00\nFull thread dump OpenJDK".to_vec(),
                "jstack",
            ),
            (
                b"\"main\" - Thread t@1\n   java.lang.Thread.State: RUNNABLE\n".to_vec(),
                "jstack",
            ),
            (
                b"{\"threads\":[{\"threadName\":\"main\",\"threadState\":\"RUNNABLE\"}]}".to_vec(),
                "jstack",
            ),
            (
                b"0SECTION       TITLE subcomponent dump routine\n".to_vec(),
                "jstack",
            ),
            (
                "\u{feff}Full thread dump OpenJDK"
                    .encode_utf16()
                    .flat_map(u16::to_le_bytes)
                    .collect(),
                "jstack",
            ),
            (
                b"[0.005s][info][gc] Using G1\n".to_vec(),
                "garbage collector",
            ),
            (
                b"# A fatal error has been detected by the Java Runtime Environment:".to_vec(),
                "hs_err",
            ),
            (b"a;b;c 12\na;d 1\n".to_vec(), "collapsed stacks"),
            (b"hello".to_vec(), "plain text"),
        ] {
            let found = of_bytes(&head).map_or("", |(what, _)| what);
            assert!(found.contains(what), "{what}: {found}");
        }
        assert_eq!(of_bytes(&[0, 1, 2, 0xff]), None);
    }
}
