//! The pages of another process: which are resident, and what is in a few of them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A page of the tables below, in bytes.
pub const PAGE: u64 = 4096;
/// Bit of `/proc/PID/pagemap`: the page is in memory.
const PRESENT: u64 = 1 << 63;
/// Pages whose entries are read at once.
const AT_ONCE: u64 = 8192;

/// Access to the memory of a process, to read alone.
pub trait Memory {
    /// Fills the buffer from an address; false if that cannot be read.
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool;

    /// True if each page from one address to another is resident; `None` if that cannot be seen.
    fn present(&self, start: u64, end: u64) -> Option<Vec<bool>>;

    /// A number of eight bytes.
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)
            .then(|| u64::from_ne_bytes(bytes))
    }

    /// The number of resident pages that lie wholly between two addresses.
    fn whole_pages(&self, start: u64, end: u64) -> u64 {
        let (start, end) = (start.next_multiple_of(PAGE), end / PAGE * PAGE);
        if start >= end {
            return 0;
        }
        let pages = self.present(start, end).unwrap_or_default();
        pages.into_iter().filter(|&is_there| is_there).count() as u64
    }
}

/// `/proc/PID/mem` and `/proc/PID/pagemap`, which those may read who may trace the process.
#[derive(Debug)]
pub struct ProcessMemory {
    bytes: File,
    pages: File,
}

impl ProcessMemory {
    /// Opens both files in a folder such as `/proc/42`.
    ///
    /// # Errors
    /// `PermissionDenied` where the process must not be traced.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            bytes: File::open(folder.join("mem"))?,
            pages: File::open(folder.join("pagemap"))?,
        })
    }
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.bytes.read_exact_at(buffer, address).is_ok()
    }

    fn present(&self, start: u64, end: u64) -> Option<Vec<bool>> {
        let mut found = Vec::new();
        let mut at = start / PAGE;
        let end = end.div_ceil(PAGE);
        while at < end {
            let count = (end - at).min(AT_ONCE);
            let mut bytes = vec![0; (count * 8) as usize];
            self.pages.read_exact_at(&mut bytes, at * 8).ok()?;
            let entries = bytes.chunks_exact(8);
            found.extend(entries.filter_map(|entry| {
                let entry = u64::from_ne_bytes(entry.try_into().ok()?);
                Some(entry & PRESENT != 0)
            }));
            at += count;
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_sees_its_own_pages() {
        let memory = ProcessMemory::open(Path::new("/proc/self")).unwrap();
        let value = Box::new(0x1234_5678_9abc_u64);
        let address = std::ptr::from_ref(&*value) as u64;
        assert_eq!(memory.word(address), Some(*value));
        assert_eq!(memory.word(8), None, "nothing is mapped there");
        assert_eq!(memory.present(address, address + 8), Some(vec![true]));
        let pages = vec![1_u8; 64 * PAGE as usize];
        let start = pages.as_ptr() as u64;
        let whole = memory.whole_pages(start, start + pages.len() as u64);
        assert!((63..=64).contains(&whole), "{whole}");
    }
}
