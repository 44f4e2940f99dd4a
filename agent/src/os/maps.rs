//! Which files the code of this process comes from, by `/proc/self/maps`.

use std::fs;
use std::ops::Range;

/// A mapping with code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    start: usize,
    end: usize,
    /// The offset of its first byte in the file.
    offset: u64,
    /// The path of the file; `[vdso]` and the like in brackets.
    pub path: String,
}

/// The mappings with code of this moment that have a name, in the order of their addresses.
pub fn mappings() -> Vec<Mapping> {
    let text = fs::read("/proc/self/maps").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(Mapping::parse).collect()
}

impl Mapping {
    /// A line such as `7f00-7f80 r-xp 00001000 08:01 42   /lib/libc.so.6`.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut rest = line;
        let mut field = || {
            let (field, after) = rest.trim_start().split_once(' ')?;
            rest = after;
            Some(field)
        };
        let (range, rights, offset) = (field()?, field()?, field()?);
        let (_device, _inode) = (field()?, field()?);
        let path = rest.trim_start();
        let (start, end) = range.split_once('-')?;
        (rights.contains('x') && !path.is_empty()).then_some(())?;
        Some(Self {
            start: usize::from_str_radix(start, 16).ok()?,
            end: usize::from_str_radix(end, 16).ok()?,
            offset: u64::from_str_radix(offset, 16).ok()?,
            path: path.to_owned(),
        })
    }

    /// The mapping of an address, in a list in order.
    pub fn of(mappings: &[Self], address: usize) -> Option<&Self> {
        let after = mappings.partition_point(|mapping| mapping.start <= address);
        let mapping = mappings.get(after.checked_sub(1)?)?;
        (address < mapping.end).then_some(mapping)
    }

    /// Its addresses.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The place in the file of an address of the mapping.
    pub fn offset_of(&self, address: usize) -> u64 {
        let offset = address.saturating_sub(self.start);
        self.offset
            .saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// The address of a place in the file, if the mapping has it.
    pub fn address_of(&self, offset: u64) -> Option<usize> {
        let inside = usize::try_from(offset.checked_sub(self.offset)?).ok()?;
        let address = self.start.checked_add(inside)?;
        (address < self.end).then_some(address)
    }

    /// The last part of the path.
    pub fn file_name(&self) -> &str {
        let path = self.path.strip_suffix(" (deleted)").unwrap_or(&self.path);
        path.rsplit('/').next().unwrap_or(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_files_is_found() {
        let lines = [
            "1000-2000 r--p 00000000 08:01 42                         /lib/a b.so",
            "2000-3000 r-xp 00001000 08:01 42                         /lib/a b.so (deleted)",
            "3000-4000 rwxp 00000000 00:00 0 ",
            "7000-8000 r-xp 00000000 00:00 0                          [vdso]",
            "broken",
            "x-y r-xp 0 0 0 /z",
        ];
        let found: Vec<Mapping> = lines.into_iter().filter_map(Mapping::parse).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        let at = |address| Mapping::of(&found, address);
        for address in [0, 0x1fff, 0x3000, 0x8000, usize::MAX] {
            assert_eq!(at(address), None, "{address:x}");
        }
        let first = at(0x2fff).unwrap();
        assert_eq!(
            (first.file_name(), first.offset_of(0x2004)),
            ("a b.so", 0x1004)
        );
        assert_eq!(first.address_of(0x1004), Some(0x2004));
        assert!(first.address_of(0xfff).is_none() && first.address_of(0x2000).is_none());
        assert_eq!(at(0x7000).unwrap().file_name(), "[vdso]");
    }
}
