//! The memory that this process occupies.

use std::fs;

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
        let statm = fs::read_to_string("/proc/self/statm").ok()?;
        Self::parse(&statm, rustix::param::page_size() as u64)
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
