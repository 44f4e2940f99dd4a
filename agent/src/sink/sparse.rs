//! A file with holes where zeros are. Readers see the zeros; the disk neither gets nor holds them. Only
//! whole pages can be holes, so what is saved is large arrays that were left out.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// The unit of holes, in bytes: a page of the memory and of nearly all file systems.
const PAGE: usize = 4096;
static ZEROS: [u8; PAGE] = [0; PAGE];

/// A file and the place of the next byte.
pub(super) struct Sparse {
    file: File,
    at: u64,
    /// The file may end in a hole, which it does not have yet.
    ends_in_hole: bool,
}

impl Sparse {
    /// Writes into `file`, which is empty.
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            at: 0,
            ends_in_hole: false,
        }
    }

    /// Writes on at `at`, the end of `file`.
    pub(super) fn at_end(file: File, at: u64) -> Self {
        Self {
            file,
            at,
            ends_in_hole: false,
        }
    }

    /// The file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its length.
    ///
    /// # Errors
    /// The file system's.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.ends_in_hole) {
            self.file.set_len(self.at)?;
        }
        Ok(())
    }
}

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let to_page = (PAGE - (self.at % PAGE as u64) as usize) % PAGE;
        let (first, pages) = bytes.split_at(to_page.min(bytes.len()));
        let zeros = pages.chunks_exact(PAGE);
        let zeros = zeros.take_while(|page| *page == ZEROS).count() * PAGE;
        if first.is_empty() && zeros > 0 {
            let end = self.at + zeros as u64;
            self.file.seek(SeekFrom::Start(end))?;
            (self.at, self.ends_in_hole) = (end, true);
            return Ok(zeros);
        }
        let mut data = pages.chunks(PAGE);
        let data = data.position(|page| *page == ZEROS);
        let length = data.map_or(bytes.len(), |pages| first.len() + pages * PAGE);
        let written = self.file.write(&bytes[..length])?;
        self.at += written as u64;
        self.ends_in_hole &= written == 0;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;

    use proptest::prelude::*;

    use super::*;

    fn written(pieces: &[&[u8]]) -> (Vec<u8>, u64) {
        let mut sparse = Sparse::new(tempfile::tempfile().unwrap());
        for piece in pieces {
            sparse.write_all(piece).unwrap();
        }
        sparse.finish().unwrap();
        let mut bytes = Vec::new();
        sparse.file.seek(SeekFrom::Start(0)).unwrap();
        sparse.file.read_to_end(&mut bytes).unwrap();
        (bytes, sparse.file.metadata().unwrap().blocks() * 512)
    }

    #[test]
    fn zeros_are_read_that_the_disk_does_not_hold() {
        let zeros = vec![0; 10 << 20];
        let (bytes, held) = written(&[b"head", &zeros, b"between", &zeros]);
        assert!(bytes == [b"head", &zeros[..], b"between", &zeros].concat());
        assert!(held <= 64 << 10, "{held}");
    }

    proptest! {
        #[test]
        fn a_file_holds_what_was_written(
            pieces in proptest::collection::vec((0..3 * PAGE, 0..2u8, any::<bool>()), 0..12),
        ) {
            let pieces: Vec<Vec<u8>> = pieces
                .into_iter()
                .map(|(length, byte, is_aligned)| {
                    vec![byte; if is_aligned { length / PAGE * PAGE } else { length }]
                })
                .collect();
            let slices: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            prop_assert!(written(&slices).0 == pieces.concat());
        }
    }
}
