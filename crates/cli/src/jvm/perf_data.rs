//! The file of performance counters that HotSpot keeps for tools of the same machine,
//! `/tmp/hsperfdata_USER/PID`.
//!
//! Its layout is that of HotSpot's `perfMemory.hpp` (`PerfDataPrologue`, version 2.0, and
//! `PerfDataEntry`), which the JDK's `jps` and `jstat` read as well. The JVM writes to it all the
//! time and anybody who owns the folder can write anything, so nothing in it is trusted.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};

/// A file is 32 KiB unless the user chose another size (`-XX:PerfDataMemorySize`).
const MAX_SIZE: u64 = 4 << 20;
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const PROLOGUE: usize = 32;
const ENTRY: usize = 20;

/// Reads a number of four bytes in the byte order of the file.
type Four = fn([u8; 4]) -> u32;
/// Reads a number of eight bytes.
type Eight = fn([u8; 8]) -> i64;

/// The counters, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PerfData {
    texts: HashMap<String, String>,
    numbers: HashMap<String, i64>,
}

impl PerfData {
    /// Reads a file.
    ///
    /// # Errors
    /// Errors of the file; `InvalidData` if it is no such file.
    pub fn read(file: File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.take(MAX_SIZE).read_to_end(&mut bytes)?;
        Self::parse(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Reads the bytes of a file; `None` if it is no such file. A damaged entry ends the list.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let prologue = bytes.get(..PROLOGUE)?;
        if prologue[..4] != MAGIC || prologue[5] != 2 {
            return None;
        }
        let (order, long_order): (Four, Eight) = match prologue[4] {
            0 => (u32::from_be_bytes, i64::from_be_bytes),
            1 => (u32::from_le_bytes, i64::from_le_bytes),
            _ => return None,
        };
        let number = |bytes: &[u8], at: usize| -> Option<usize> {
            let four = bytes.get(at..)?.first_chunk()?;
            usize::try_from(order(*four)).ok()
        };
        let mut at = number(prologue, 24)?;
        let count = number(prologue, 28)?;
        let mut found = Self::default();
        for _ in 0..count {
            let Some(entry) = bytes.get(at..) else { break };
            let Some((length, next)) = number(entry, 0).map(|it| (it, at + it)) else {
                break;
            };
            let Some(entry) = entry.get(..length).filter(|entry| entry.len() >= ENTRY) else {
                break;
            };
            if let Some((name, text)) = text_entry(entry, number) {
                found.texts.insert(name, text);
            } else if let Some((name, eight)) = long_entry(entry, number) {
                found.numbers.insert(name, long_order(eight));
            }
            at = next;
        }
        Some(found)
    }

    /// A counter that is text and not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        let text = self.texts.get(name)?;
        (!text.is_empty()).then_some(text)
    }

    /// A counter that is a number.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.numbers.get(name).copied()
    }
}

/// The name of an entry that is a number, and its bytes.
fn long_entry(
    entry: &[u8],
    number: impl Fn(&[u8], usize) -> Option<usize>,
) -> Option<(String, [u8; 8])> {
    let (name_at, length, data_at) = (number(entry, 4)?, number(entry, 8)?, number(entry, 16)?);
    if entry[12] != b'J' || length != 0 {
        return None;
    }
    let eight = entry.get(data_at..)?.first_chunk()?;
    Some((until_nul(entry.get(name_at..)?), *eight))
}

/// The text in front of the first zero.
fn until_nul(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// The name and value of an entry that is an array of bytes.
fn text_entry(
    entry: &[u8],
    number: impl Fn(&[u8], usize) -> Option<usize>,
) -> Option<(String, String)> {
    let (name_at, length, kind, data_at) = (
        number(entry, 4)?,
        number(entry, 8)?,
        entry[12],
        number(entry, 16)?,
    );
    if kind != b'B' || length == 0 {
        return None;
    }
    let name = until_nul(entry.get(name_at..)?);
    let data = entry.get(data_at..)?;
    Some((name, until_nul(data.get(..length).unwrap_or(data))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file with these entries, in the byte order of x86.
    fn file(entries: &[(&str, u8, &[u8])]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 2, 0, 1]);
        bytes.extend([0; 16]);
        bytes.extend(32_u32.to_le_bytes());
        bytes.extend((entries.len() as u32).to_le_bytes());
        for (name, kind, value) in entries {
            let data_at = ENTRY + name.len() + 1;
            let vector = if *kind == b'B' { value.len() } else { 0 };
            for field in [data_at + value.len(), ENTRY, vector] {
                bytes.extend((field as u32).to_le_bytes());
            }
            bytes.extend([*kind, 0, 0, 0]);
            bytes.extend((data_at as u32).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.push(0);
            bytes.extend(*value);
        }
        bytes
    }

    #[test]
    fn texts_are_found_among_other_counters() {
        let bytes = file(&[
            ("sun.rt.javaCommand", b'B', b"App one two\0\0\0"),
            ("sun.gc.time", b'J', &[7, 0, 0, 0, 0, 0, 0, 0]),
            ("java.rt.vmArgs", b'B', b"\0"),
            ("java.property.java.version", b'B', b"17.0.1"),
        ]);
        let data = PerfData::parse(&bytes).unwrap();
        assert_eq!(data.text("sun.rt.javaCommand"), Some("App one two"));
        assert_eq!(data.text("java.property.java.version"), Some("17.0.1"));
        assert_eq!(data.text("java.rt.vmArgs"), None);
        assert_eq!(data.text("sun.gc.time"), None);
        assert_eq!(data.number("sun.gc.time"), Some(7));
        assert_eq!(data.number("sun.rt.javaCommand"), None);
    }

    #[test]
    fn what_comes_before_a_cut_counts() {
        let bytes = file(&[("a", b'B', b"x"), ("b", b'B', b"y")]);
        let data = PerfData::parse(&bytes[..bytes.len() - 1]).unwrap();
        assert_eq!((data.text("a"), data.text("b")), (Some("x"), None));
        assert_eq!(PerfData::parse(&bytes[..20]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(
            mut bytes in prop::collection::vec(any::<u8>(), 0..400),
            good_head in any::<bool>(),
        ) {
            if good_head && bytes.len() >= 8 {
                bytes[..6].copy_from_slice(&[0xca, 0xfe, 0xc0, 0xc0, 1, 2]);
            }
            let _ = PerfData::parse(&bytes);
        }

        #[test]
        fn damaged_files_do_no_harm(at in 0_usize..200, value in any::<u8>()) {
            let mut bytes = file(&[("name", b'B', b"value"), ("other", b'B', b"text")]);
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = PerfData::parse(&bytes);
        }
    }
}
