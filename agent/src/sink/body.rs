//! Bytes that are in a file already, which becomes the profile's.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;

use hprof_format::binary::fillers;

use crate::os::holes;

/// The end of a file, or all of it, that is to be a part of a profile in the binary format.
pub struct Body<'a> {
    /// The file.
    pub file: &'a File,
    /// Its name, on the profile's file system.
    pub path: &'a Path,
    /// The first byte.
    pub start: u64,
    /// The end. What is behind is cut off.
    pub end: u64,
    /// As many bytes at the end of what is in front of the body stay directly in front of it.
    pub attached: u64,
}

impl Body<'_> {
    /// Writes all that `front` has before the body, and records without meaning between. Returns a handle
    /// whose place is the end of the body.
    ///
    /// # Errors
    /// When there is no room, or the file system refuses.
    pub(super) fn lead_in(&self, front: &File) -> io::Result<File> {
        let whole = front.metadata()?.len();
        let full = || io::Error::from(io::ErrorKind::FileTooLarge);
        let gap = self.start.checked_sub(whole).ok_or_else(full)?;
        let split = whole.checked_sub(self.attached).ok_or_else(full)?;
        let mut options = OpenOptions::new();
        let mut new = options.read(true).write(true).open(self.path)?;
        let (found, meant) = (new.metadata()?, self.file.metadata()?);
        if (found.dev(), found.ino()) != (meant.dev(), meant.ino()) {
            return Err(io::Error::other("it is another file"));
        }
        if gap > 0 {
            let fillers = fillers(gap).ok_or_else(full)?;
            holes::clear(&new, split..self.start)?;
            for (at, head) in fillers {
                new.write_all_at(&head, split + at)?;
            }
        }
        holes::copy_backward(front, 0..split, &new, 0)?;
        holes::copy_backward(front, split..whole, &new, self.start - self.attached)?;
        new.set_len(self.end)?;
        // It holds what the program holds.
        new.set_permissions(Permissions::from_mode(0o600))?;
        new.seek(SeekFrom::Start(self.end))?;
        Ok(new)
    }
}

/// Copies a body, whose file has no more use then.
///
/// # Errors
/// Errors of both files.
pub(super) fn copy(body: &Body<'_>, to: &mut dyn Write) -> io::Result<()> {
    /// Disk space is given back in steps of this.
    const STEP: u64 = 32 << 20;
    let mut piece = vec![0; 256 << 10];
    let (mut at, mut freed) = (body.start, body.start.next_multiple_of(STEP));
    while at < body.end {
        let length = (body.end - at).min(piece.len() as u64) as usize;
        body.file.read_exact_at(&mut piece[..length], at)?;
        to.write_all(&piece[..length])?;
        at += length as u64;
        if at >= freed + STEP {
            // Where there are no holes, the space is freed with the file.
            let _ = holes::punch(body.file, freed..freed + STEP);
            freed += STEP;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A file whose bytes from `start` on are "body", and one with "front" and an attached "head".
    fn files(folder: &Path, start: usize) -> (File, File) {
        let bytes = [&vec![b'x'; start][..], b"body behind"].concat();
        fs::write(folder.join("body"), bytes).unwrap();
        fs::write(folder.join("front"), b"front head").unwrap();
        let open = |name| File::open(folder.join(name)).unwrap();
        (open("body"), open("front"))
    }

    fn led_in(start: usize) -> io::Result<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let (file, front) = files(folder.path(), start);
        let path = folder.path().join("body");
        let body = Body {
            file: &file,
            path: &path,
            start: start as u64,
            end: start as u64 + 4,
            attached: 4,
        };
        body.lead_in(&front)?.write_all(b" rest")?;
        Ok(fs::read(path).unwrap())
    }

    #[test]
    fn what_is_in_front_of_a_body_ends_where_it_starts() {
        assert_eq!(led_in(10).unwrap(), b"front headbody rest");
        for gap in [17, 5000, 100_000] {
            let found = led_in(10 + gap).unwrap();
            let filled = 6 + gap;
            assert_eq!(found[..6], *b"front ");
            // A name that nothing refers to.
            assert_eq!(found[6..11], [1, 0, 0, 0, 0]);
            assert_eq!(found[11..15], (gap as u32 - 9).to_be_bytes());
            assert!(found[23..filled].iter().all(|byte| *byte == 0));
            assert_eq!(found[filled..], *b"headbody rest");
        }
    }

    #[test]
    fn a_front_that_does_not_fit_changes_nothing() {
        for start in [4, 9, 11, 26] {
            let error = led_in(start).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge, "{start}");
        }
    }
}
