//! Tells the kind of a file by how it begins.

use hprof_foreign::Kind as Foreign;

use super::kind::FileKind;

/// Bytes at the start of a file that tell its kind.
const STARTS: [(&[u8], FileKind); 16] = [
    (b"FLR\0", FileKind::Foreign(Foreign::Jfr)),
    (b"\xca\xfe\xba\xbe", FileKind::Class),
    (b"\x89PNG", FileKind::Picture("a picture (PNG)")),
    (b"\xff\xd8\xff", FileKind::Picture("a picture (JPEG)")),
    (b"GIF8", FileKind::Picture("a picture (GIF)")),
    (b"%PDF", FileKind::Pdf),
    (b"MDMP", FileKind::Minidump),
    (b"SQLite format 3", FileKind::Sqlite),
    (b"PAR1", FileKind::Parquet),
    (b"hprof-rs", FileKind::Index),
    (b"heap profile: ", FileKind::LegacyPprof),
    (b"--- heapz", FileKind::LegacyPprof),
    (b"--- contentionz", FileKind::LegacyPprof),
    // Words of eight or four bytes: 0, the length of the head, 0 or 1 for Java.
    (
        b"\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0",
        FileKind::LegacyPprof,
    ),
    (b"\0\0\0\0\x03\0\0\0\0\0\0\0", FileKind::LegacyPprof),
    (b"\0\0\0\0\x03\0\0\0\x01\0\0\0", FileKind::LegacyPprof),
];

/// How a dump begins, of whatever version.
const HPROF: &[u8] = b"JAVA PROFILE 1.0.";
/// How base64 of dumps, recordings and gzip files begins.
const IN_BASE64: [&[u8]; 3] = [b"SkFWQSBQUk9GSUxF", b"RkxSA", b"H4sI"];
/// The number of line ends that show that a dump was changed.
const LINE_ENDS: usize = 16;
/// The number of zeros that show that a file is not only short.
const ZEROS: usize = 16;

/// True if bytes hold others.
pub fn contains(bytes: &[u8], text: &[u8]) -> bool {
    find(bytes, text).is_some()
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|at| at == text)
}

/// The kind of a file that begins like this.
pub fn of_bytes(head: &[u8]) -> Option<FileKind> {
    // Its magic and the first part of the version.
    if head.starts_with(b"FLR\0") && matches!(head.get(4..6), Some([0, 0 | 1])) {
        return Some(FileKind::OldRecording);
    }
    let found = STARTS.iter().find(|(start, _)| head.starts_with(start));
    if let Some(&(_, kind)) = found {
        return Some(kind);
    }
    if head.starts_with(HPROF) {
        let end = head.iter().position(|&byte| matches!(byte, 0 | b','));
        return Some(match end.map(|at| head[at]) {
            Some(b',') => FileKind::TextHprof,
            _ if is_translated(head) => FileKind::Translated,
            _ => FileKind::BinaryHprof,
        });
    }
    if head.starts_with(b"PK")
        && [&b"META-INF/"[..], b".class"]
            .iter()
            .any(|it| contains(head, it))
    {
        return Some(FileKind::Jar);
    }
    // Its length, of two or four bytes, and the name of the format.
    let phd: &[u8] = b"portable heap";
    if [2, 4]
        .iter()
        .any(|&at| head.get(at..).is_some_and(|it| it.starts_with(phd)))
    {
        return Some(FileKind::Phd);
    }
    if head.starts_with(b"\x7fELF") {
        return Some(elf(head));
    }
    if head.get(257..262).is_some_and(|it| it == b"ustar") {
        return Some(FileKind::Tar);
    }
    if head.len() >= ZEROS && head.iter().all(|&byte| byte == 0) {
        return Some(FileKind::Zeros);
    }
    if let Some(at) = find(head, HPROF)
        && head[at..]
            .iter()
            .take(HPROF.len() + 4)
            .any(|&byte| byte == 0)
    {
        return Some(FileKind::Prefixed(at));
    }
    if IN_BASE64.iter().any(|start| head.starts_with(start)) && is_base64(head) {
        return Some(FileKind::Base64);
    }
    // Shells of Windows write UTF-16.
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if is_utf16 && hprof_thread_dumps::begins_in(head) {
        return Some(FileKind::ThreadDump);
    }
    match Foreign::of(head) {
        Some(foreign) => Some(FileKind::Foreign(foreign)),
        None => of_text(head),
    }
}

/// True if every line feed of many has a carriage return before it, as after a transfer in text mode.
pub fn is_translated(head: &[u8]) -> bool {
    let feeds = head.iter().filter(|&&byte| byte == b'\n').count();
    let pairs = head.windows(2).filter(|at| at == b"\r\n").count();
    feeds >= LINE_ENDS && pairs == feeds
}

fn is_base64(head: &[u8]) -> bool {
    let is_of = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(byte);
    head.iter().all(is_of)
}

fn elf(head: &[u8]) -> FileKind {
    let is_little = head.get(5) == Some(&1);
    let kind = match (head.get(16), head.get(17)) {
        (Some(&low), Some(0)) if is_little => low,
        (Some(0), Some(&low)) => low,
        _ => 0,
    };
    match kind {
        4 => FileKind::CoreDump,
        _ => FileKind::Elf,
    }
}

fn of_text(head: &[u8]) -> Option<FileKind> {
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
    let has_any = |all: &[&str]| all.iter().any(|it| has(it));
    let is_json = start.starts_with(['{', '[']);
    Some(
        if small.starts_with("<!doctype html") || small.starts_with("<html") {
            FileKind::Html
        } else if small.starts_with("<svg") || small.starts_with("<?xml") && has("<svg") {
            FileKind::Svg
        } else if has("<verbosegc") {
            FileKind::VerboseGc
        } else if has_any(&["[memory ]", "[memory]"]) && has_any(&["YC", "OC", "GC"]) {
            FileKind::JRockitLog
        } else if hprof_thread_dumps::begins_in(head) {
            FileKind::ThreadDump
        } else if is_json && !has("[gc") && !has("[info]") {
            FileKind::Json
        } else if has("A fatal error has been detected by the Java Runtime") {
            FileKind::CrashReport
        } else if has_any(&["[gc", "[GC", "[Full GC"]) {
            FileKind::GcLog
        } else {
            FileKind::Text
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_are_recognised_by_what_is_in_them() {
        let elf = |kind: u8| [&b"\x7fELF\x02\x01"[..], &[0; 10], &[kind, 0, 0]].concat();
        let dump = b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\0".to_vec();
        let translated = [&dump[..], &b"\x01\0\0\r\n\0\0".repeat(40)].concat();
        for (head, kind) in [
            (b"FLR\0\0\x02".to_vec(), FileKind::Foreign(Foreign::Jfr)),
            (b"FLR\0\0\0\0\x09".to_vec(), FileKind::OldRecording),
            (elf(4), FileKind::CoreDump),
            (elf(3), FileKind::Elf),
            (b"\xca\xfe\xba\xbe\0\0\0\x41".to_vec(), FileKind::Class),
            (b"\n<!DOCTYPE html><title>".to_vec(), FileKind::Html),
            (b"<?xml version='1.0'?><svg>".to_vec(), FileKind::Svg),
            (b"{\"a\": 1}".to_vec(), FileKind::Json),
            (b"2026-01-01 10:00:00\nFull thread dump OpenJDK".to_vec(), FileKind::ThreadDump),
            (b"{\"threadDump\": {}}".to_vec(), FileKind::ThreadDump),
            (
                b"\"main\" - Thread t@1\n   java.lang.Thread.State: RUNNABLE\n".to_vec(),
                FileKind::ThreadDump,
            ),
            (
                b"{\"threads\":[{\"threadName\":\"main\",\"threadState\":\"RUNNABLE\"}]}".to_vec(),
                FileKind::ThreadDump,
            ),
            (
                b"0SECTION       TITLE subcomponent dump routine\n".to_vec(),
                FileKind::ThreadDump,
            ),
            (
                "\u{feff}Full thread dump OpenJDK"
                    .encode_utf16()
                    .flat_map(u16::to_le_bytes)
                    .collect(),
                FileKind::ThreadDump,
            ),
            (b"[0.005s][info][gc] Using G1\n".to_vec(), FileKind::GcLog),
            (
                b"# A fatal error has been detected by the Java Runtime Environment:".to_vec(),
                FileKind::CrashReport,
            ),
            (b"a;b;c 12\na;d 1\n".to_vec(), FileKind::Foreign(Foreign::Collapsed)),
            (b"hello".to_vec(), FileKind::Text),
            // Of OpenJ9 0.40, and of a description of the format.
            (b"\x00\x12portable heap dump\0\0\0\x06".to_vec(), FileKind::Phd),
            (b"\x00\x00\x00\x14portable heap dump".to_vec(), FileKind::Phd),
            (
                b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<verbosegc xmlns=\"x\">\n<gc-end id=\"5\"".to_vec(),
                FileKind::VerboseGc,
            ),
            (
                b"[INFO ][memory ] [YC#1] 2.180-2.183: YC 524288KB->1234KB (1048576KB), 0.003 s\n".to_vec(),
                FileKind::JRockitLog,
            ),
            (vec![0; 5000], FileKind::Zeros),
            (dump.clone(), FileKind::BinaryHprof),
            (translated, FileKind::Translated),
            ([b"Dumping heap ...\n", &dump[..]].concat(), FileKind::Prefixed(17)),
            (b"SkFWQSBQUk9GSUxFIDEuMC4yAAAAAAg\n".to_vec(), FileKind::Base64),
            (b"H4sIAAAAAAAAA+3OMQ0AAAgDsAv\r\n".to_vec(), FileKind::Base64),
            (b"JAVA PROFILE 1.0.1, created Thu".to_vec(), FileKind::TextHprof),
            (b"heap profile: 1: 2 [3: 4] @ heap/1".to_vec(), FileKind::LegacyPprof),
        ] {
            let text = String::from_utf8_lossy(&head);
            assert_eq!(of_bytes(&head), Some(kind), "{text}");
        }
        assert_eq!(of_bytes(&[0, 1, 2, 0xff]), None);
    }

    #[test]
    fn advice_on_text_before_a_dump_says_where_it_begins() {
        let advice = FileKind::Prefixed(17).advice();
        assert!(advice.starts_with("`tail -c +18 FILE"), "{advice}");
    }
}
