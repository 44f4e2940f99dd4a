//! The mappings of a process with their resident pages: `/proc/PID/smaps` (`proc_pid_smaps(5)`).

use serde::Serialize;

use crate::Bytes;

/// One mapping.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Mapping {
    /// The first address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
    /// True if its pages can be read.
    pub reads: bool,
    /// True if its pages can be written.
    pub writes: bool,
    /// True if its pages can be executed.
    pub executes: bool,
    /// True if writes are seen by other processes.
    pub is_shared: bool,
    /// The number of its file; 0 for none.
    pub inode: u64,
    /// Its file, or a name of the kernel such as `[heap]`; empty for neither.
    pub name: String,
    /// Pages in memory.
    pub resident: Bytes,
    /// Pages in memory, those shared with other mappings divided among them.
    pub proportional: Bytes,
    /// Pages in memory that belong to no file.
    pub anonymous: Bytes,
    /// Huge pages among them.
    pub huge: Bytes,
    /// Pages in the swap space.
    pub swapped: Bytes,
}

impl Mapping {
    /// Its length.
    pub fn size(&self) -> Bytes {
        Bytes(self.end.saturating_sub(self.start))
    }

    /// True if it has no file and no name of the kernel. Names that programs give (`[anon:...]`) count as none.
    pub fn is_anonymous(&self) -> bool {
        self.inode == 0 && (self.name.is_empty() || self.name.starts_with("[anon:"))
    }

    /// True if it only keeps addresses reserved.
    pub fn is_reserved(&self) -> bool {
        !self.reads && !self.writes && !self.executes
    }

    /// True if the address is in it.
    pub fn holds(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// Reads the text of `smaps`. Lines that make no sense are skipped.
pub fn parse(text: &str) -> Vec<Mapping> {
    let mut all: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        if let Some(mapping) = head(line) {
            all.push(mapping);
        } else if let Some(last) = all.last_mut() {
            field(last, line);
        }
    }
    all
}

/// A line such as `7f00-7f10 r-xp 00000000 08:01 42   /lib/x.so`.
fn head(line: &str) -> Option<Mapping> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let mut rest = rest;
    let mut word = || {
        let text = rest.trim_start();
        let (word, after) = text.split_once(' ').unwrap_or((text, ""));
        rest = after;
        word
    };
    let (rights, _offset, _device, inode) = (word(), word(), word(), word());
    if rights.len() != 4 {
        return None;
    }
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    (start <= end).then_some(())?;
    Some(Mapping {
        start,
        end,
        reads: rights.contains('r'),
        writes: rights.contains('w'),
        executes: rights.contains('x'),
        is_shared: rights.ends_with('s'),
        inode: inode.parse().ok()?,
        name: rest.trim().to_owned(),
        ..Mapping::default()
    })
}

/// A line such as `Rss:    12 kB`.
fn field(mapping: &mut Mapping, line: &str) {
    let Some((name, value)) = line.split_once(':') else {
        return;
    };
    let place = match name {
        "Rss" => &mut mapping.resident,
        "Pss" => &mut mapping.proportional,
        "Anonymous" => &mut mapping.anonymous,
        "AnonHugePages" => &mut mapping.huge,
        "Swap" => &mut mapping.swapped,
        _ => return,
    };
    let number = value.trim().trim_end_matches("kB").trim();
    if let Ok(number) = number.parse() {
        *place = Bytes::kib(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
7f0000000000-7f0000001000 r-xp 00000000 08:01 42                         /opt/a b/libjvm.so (deleted)\n\
Size:                  4 kB\nRss:                   4 kB\nPss:                   2 kB\nAnonymous:             0 kB\n\
AnonHugePages:         0 kB\nVmFlags: rd ex mr mw me\n\
7f0000001000-7f0000801000 rw-p 00000000 00:00 0 \n\
Rss:                8192 kB\nAnonHugePages:      2048 kB\nSwap:                 12 kB\n\
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\nRss: 8 kB\n";

    #[test]
    fn mappings_have_files_sizes_and_resident_pages() {
        let all = parse(TEXT);
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].name, "/opt/a b/libjvm.so (deleted)");
        assert!(all[0].executes && !all[0].writes && !all[0].is_anonymous());
        assert_eq!(
            (all[0].resident, all[0].proportional),
            (Bytes::kib(4), Bytes::kib(2))
        );
        assert!(all[1].is_anonymous() && all[1].writes);
        assert_eq!(all[1].size(), Bytes::mib(8));
        assert_eq!(
            (all[1].huge, all[1].swapped),
            (Bytes::mib(2), Bytes::kib(12))
        );
        assert!(!all[2].is_anonymous() && all[2].holds(0x7ffc_0000_0001));
    }

    #[test]
    fn this_process_is_read_whole() {
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let all = parse(&text);
        assert!(
            all.len().abs_diff(maps.lines().count()) <= 2,
            "{}",
            all.len()
        );
        assert!(all.iter().any(|mapping| mapping.name == "[heap]"));
        assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start));
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in "([0-9a-f]{1,17}-?|[rwxps-]{4}| |:|kB|Rss|\n|/x)*") {
            for mapping in parse(&text) {
                prop_assert!(mapping.start <= mapping.end);
            }
        }
    }
}
