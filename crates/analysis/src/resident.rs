//! The memory that this process occupies.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The resident memory of this process, in bytes (`/proc/self/statm`, proc(5)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resident {
    /// All of it.
    pub all: u64,
    /// That which is in no map of a file.
    pub other: u64,
}

impl Resident {
    /// Reads the current memory; `None` if `/proc` cannot be read.
    pub fn now() -> Option<Self> {
        Meter::open()?.now()
    }

    /// The second number is the resident size, the third the part in maps of files, in pages.
    fn parse(statm: &str, page: u64) -> Option<Self> {
        let mut numbers = statm.split_ascii_whitespace().skip(1);
        let mut bytes = || numbers.next()?.parse::<u64>().ok()?.checked_mul(page);
        let (all, mapped) = (bytes()?, bytes()?);
        Some(Self {
            all,
            other: all.saturating_sub(mapped),
        })
    }
}

/// Tells the memory again and again, in microseconds.
#[derive(Debug)]
pub struct Meter {
    statm: File,
    page: u64,
}

impl Meter {
    /// A meter for this process; `None` if `/proc` cannot be read.
    pub fn open() -> Option<Self> {
        let statm = File::open("/proc/self/statm").ok()?;
        let page = rustix::param::page_size() as u64;
        Some(Self { statm, page })
    }

    /// The current memory; `None` if it cannot be read.
    pub fn now(&self) -> Option<Resident> {
        // Seven numbers of at most 20 digits.
        let mut text = [0; 160];
        let length = self.statm.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        Resident::parse(text, self.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_files_are_told_apart() {
        let resident = Resident::parse("900 50 20 3 0 40 0\n", 4096);
        let (all, other) = (50 * 4096, 30 * 4096);
        assert_eq!(resident, Some(Resident { all, other }));
        assert_eq!(Resident::parse("900", 4096), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs /proc")]
    fn this_process_occupies_memory() {
        assert!(Resident::now().is_some_and(|it| it.other > 0 && it.other < it.all));
    }
}
