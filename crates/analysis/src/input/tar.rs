//! Tar archives: their files one after the other, and the only dump or profile of one.
//!
//! Sources: POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar's manual, "Basic Tar Format" (names and sizes of its
//! own).

use std::io::{self, Read};

use super::Compression;

/// Archives are made of blocks.
const BLOCK: usize = 512;
/// Where the mark of the format is in the head of a file.
const MARK: std::ops::Range<usize> = 257..262;
/// Files of an archive that are looked at.
const MAX_FILES: usize = 100_000;
/// Files whose names an error lists.
const LISTED: usize = 10;
/// As much of a file as tells what it is.
const HEAD: usize = 4096;
/// The longest name outside of a head that is read, in bytes.
const MAX_NAME: u64 = 4096;

/// The bytes at the start of a file by which an archive is known.
pub(super) const LOOKED_AT: usize = BLOCK;

/// True if a file that begins like this is an archive.
pub(super) fn is_at(head: &[u8]) -> bool {
    head.get(MARK).is_some_and(|mark| mark == b"ustar") && head.first() != Some(&0)
}

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    /// Where its contents begin, in bytes from the start of the archive.
    pub(super) at: u64,
    pub(super) bytes: u64,
}

/// Hands each regular file of an archive to `each`, in their order, until it returns false. False if nothing in the bytes is an
/// archive.
///
/// # Errors
/// If the archive cannot be read or is damaged, or those of `each`.
pub(super) fn walk(
    mut archive: impl Read,
    each: &mut dyn FnMut(&Member, &mut dyn Read) -> io::Result<bool>,
) -> io::Result<bool> {
    let mut is_archive = false;
    let mut long_name = None;
    let mut at = 0;
    while let Some(head) = next_head(&mut archive, is_archive)? {
        is_archive = true;
        at += BLOCK as u64;
        let bytes = size(&head[124..136]).ok_or_else(damaged_size)?;
        let padded = bytes.checked_next_multiple_of(BLOCK as u64);
        let next = padded.and_then(|padded| at.checked_add(padded));
        let next = next.ok_or_else(damaged_size)?;
        let mut contents = archive.by_ref().take(bytes);
        match head[156] {
            // The name of the next file, where that is too long for a head.
            b'L' => {
                let mut name = Vec::new();
                contents.by_ref().take(MAX_NAME).read_to_end(&mut name)?;
                long_name = Some(text(&name));
            }
            // `0`, NUL and `7` are files.
            b'0' | 0 | b'7' => {
                let name = long_name.take().unwrap_or_else(|| name(&head));
                if !each(&Member { name, at, bytes }, &mut contents)? {
                    return Ok(true);
                }
            }
            _ => {}
        }
        // The end of the last one may be missing.
        let rest = contents.limit() + (next - at - bytes);
        io::copy(&mut archive.by_ref().take(rest), &mut io::sink())?;
        at = next;
    }
    Ok(is_archive)
}

fn damaged_size() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the size of a file in it is damaged",
    )
}

/// Chooses the only file that a command reads, by its contents.
///
/// # Errors
/// A sentence, if the archive cannot be read, or holds no such file or several.
pub(super) fn choose(
    archive: impl Read,
    is_read: impl Fn(&[u8]) -> bool,
) -> Result<Member, String> {
    let mut files = Vec::new();
    let mut found: Vec<Member> = Vec::new();
    let walked = walk(archive, &mut |member, contents| {
        if member.bytes > 0 {
            let mut start = Vec::new();
            contents.take(HEAD as u64).read_to_end(&mut start)?;
            match is_read(&start) {
                true => found.push(member.clone()),
                false => files.push(member.clone()),
            }
        }
        Ok(found.len() + files.len() <= MAX_FILES)
    });
    walked.map_err(|error| format!("it is cut short or damaged: {error}"))?;
    if found.len() + files.len() > MAX_FILES {
        return Err("there are too many files in it; extract one".to_owned());
    }
    match (found.len(), files.len()) {
        (1, _) => Ok(found.remove(0)),
        (0, 0) => Err("there is no file in it".to_owned()),
        // Such as a log.
        (0, 1) => Ok(files.remove(0)),
        (0, _) => Err(format!(
            "there is no dump or profile in it, but {}; extract one with `tar -xf`",
            listed(&files)
        )),
        _ => Err(format!(
            "there are several dumps or profiles in it: {}; extract one with `tar -xf`",
            listed(&found)
        )),
    }
}

fn listed(files: &[Member]) -> String {
    let names = files.iter().take(LISTED).map(|it| it.name.as_str());
    let mut text = names.collect::<Vec<_>>().join(", ");
    if files.len() > LISTED {
        text.push_str(&format!(" and {} more", files.len() - LISTED));
    }
    text
}

/// The contents of a file in an archive that is read from its start.
///
/// # Errors
/// If what comes before it cannot be read.
pub(super) fn contents<R: Read>(mut archive: R, member: &Member) -> io::Result<io::Take<R>> {
    let passed = io::copy(&mut archive.by_ref().take(member.at), &mut io::sink())?;
    match passed == member.at {
        true => Ok(archive.take(member.bytes)),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// True for the contents of files that a command reads as dumps or profiles, compressed ones too.
pub(super) fn is_dump_or_profile(head: &[u8]) -> bool {
    head.starts_with(b"JAVA PROFILE 1.0.")
        || hprof_foreign::Kind::of(head).is_some()
        || Compression::of(head) != Compression::None
}

/// The head of the next file; `None` at the end, or where there is no archive.
fn next_head(archive: &mut impl Read, is_archive: bool) -> io::Result<Option<[u8; BLOCK]>> {
    let mut head = [0; BLOCK];
    let mut filled = 0;
    while filled < BLOCK {
        match archive.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if filled == BLOCK && is_at(&head) {
        return Ok(Some(head));
    }
    // Two blocks of zeros end an archive; some writers leave them out.
    match is_archive && head.iter().any(|byte| *byte != 0) {
        true => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the head of a file in it is damaged",
        )),
        false => Ok(None),
    }
}

/// The name in a head, whose first folders may have a field of their own.
fn name(head: &[u8; BLOCK]) -> String {
    let name = text(&head[..100]);
    // GNU tar has other things there.
    match head[262] {
        0 if head[345] != 0 => format!("{}/{name}", text(&head[345..500])),
        _ => name,
    }
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

/// A size in octal digits, or of 8 GiB and more in binary as GNU tar writes it.
fn size(field: &[u8]) -> Option<u64> {
    if field.first() == Some(&0x80) {
        let bytes = field.last_chunk::<8>()?;
        return Some(u64::from_be_bytes(*bytes)).filter(|&size| size <= i64::MAX as u64);
    }
    let digits = text(field);
    let digits = digits.trim_matches(' ');
    match digits.is_empty() {
        true => Some(0),
        false => u64::from_str_radix(digits, 8).ok(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An archive of files.
    pub(crate) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut all = Vec::new();
        for (name, contents) in files {
            let mut head = [0; BLOCK];
            head[..name.len()].copy_from_slice(name.as_bytes());
            let size = format!("{:011o}", contents.len());
            head[124..135].copy_from_slice(size.as_bytes());
            head[156] = b'0';
            head[MARK].copy_from_slice(b"ustar");
            all.extend(head);
            all.extend_from_slice(contents);
            all.resize(all.len().next_multiple_of(BLOCK), 0);
        }
        all.extend([0; 2 * BLOCK]);
        all
    }

    const DUMP: &[u8] = b"JAVA PROFILE 1.0.2\0 and so on";

    #[test]
    fn the_only_dump_is_chosen() {
        let long = vec![b'x'; 5000];
        let file = archive(&[("notes.txt", &long), ("a/heap.hprof", DUMP), ("empty", b"")]);
        assert!(is_at(&file));
        let member = choose(&file[..], is_dump_or_profile).expect("one dump");
        assert_eq!(
            (&*member.name, member.bytes),
            ("a/heap.hprof", DUMP.len() as u64)
        );
        let mut contents = Vec::new();
        self::contents(&file[..], &member)
            .expect("it is there")
            .read_to_end(&mut contents)
            .expect("a slice");
        assert_eq!(contents, DUMP);
        // A log that is alone.
        let log = archive(&[("gc.log", b"[0.005s][info][gc] Using G1\n")]);
        assert_eq!(
            choose(&log[..], is_dump_or_profile).expect("one file").name,
            "gc.log"
        );
    }

    #[test]
    fn several_dumps_are_listed() {
        let file = archive(&[("one.hprof", DUMP), ("two.hprof", DUMP)]);
        let error = choose(&file[..], is_dump_or_profile).expect_err("which one?");
        assert!(error.contains("one.hprof, two.hprof"), "{error}");
        let file = archive(&[("a.txt", b"a"), ("b.txt", b"b")]);
        let error = choose(&file[..], is_dump_or_profile).expect_err("none");
        assert!(
            error.contains("no dump or profile in it, but a.txt, b.txt"),
            "{error}"
        );
    }

    #[test]
    fn sizes_are_octal_or_binary() {
        assert_eq!(size(b"00000001750\0"), Some(1000));
        assert_eq!(size(b"\x80\0\0\0\0\0\0\x02\0\0\0\0"), Some(8 << 30));
        assert_eq!(size(b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"), None);
        assert_eq!(size(b"not a number"), None);
    }

    proptest! {
        #[test]
        fn any_archive_ends(
            spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..30),
            end in any::<prop::sample::Index>(),
        ) {
            let mut file = archive(&[("a", b"x"), ("one.hprof", DUMP), ("b", &[1; 2000])]);
            for (at, byte) in spoilt {
                let at = at.index(file.len());
                file[at] = byte;
            }
            file.truncate(end.index(file.len()));
            if let Ok(member) = choose(&file[..], is_dump_or_profile) {
                let _ = contents(&file[..], &member).map(|mut it| it.read_to_end(&mut Vec::new()));
            }
        }
    }
}
