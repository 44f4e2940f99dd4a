//! The files of their own into which JDK 22 and later dump the objects (JDK-8306441).
//!
//! These VMs write names and stacks into the file of the dump, and objects into `heap.hprof.p0`, `.p1` and
//! so on, one file for each thread that dumps. When the program runs again, they copy all parts into the
//! first file, and append the end mark. That would take the time of a copy, and its disk space. So the
//! reader opens each part while the VM writes it, and gives its name to an empty file: the VM has nothing
//! to copy, and the part is read through the open descriptor.
//!
//! A part must not be taken while the VM copies it, or it would be read twice. The VM flushes the first
//! file between the dump and the copying; before, it has written whole buffers only.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::vm_dump::open;

/// HotSpot's `io_buffer_max_size`, in bytes.
const BUFFER: u64 = 1 << 20;

/// The parts of a dump that were taken: the first ones, as the first holds the classes.
pub struct Parts {
    /// The first file of the dump.
    dump: PathBuf,
    taken: Vec<File>,
    /// The VM may have copied the last that was taken.
    is_unsure: bool,
}

impl Parts {
    /// None yet; `dump` is the file that the VM was told to write.
    pub fn of(dump: &Path) -> Self {
        Self {
            dump: dump.to_owned(),
            taken: Vec::new(),
            is_unsure: false,
        }
    }

    /// Takes the parts that there are by now. One that cannot be taken is copied by the VM.
    pub fn look(&mut self) {
        while let Ok(Some(part)) = self.take(self.taken.len()) {
            self.taken.push(part);
        }
    }

    fn take(&mut self, number: usize) -> io::Result<Option<File>> {
        let name = self.named(&format!(".p{number}"));
        let part = match open(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            part => part?,
        };
        if self.is_unsure || !self.is_dumping()? {
            return Ok(None);
        }
        let empty = self.named(".empty");
        File::create(&empty)?;
        fs::rename(&empty, &name)?;
        self.is_unsure |= !self.is_dumping().unwrap_or(false);
        Ok(Some(part))
    }

    fn is_dumping(&self) -> io::Result<bool> {
        Ok(fs::metadata(&self.dump)?.len() % BUFFER == 0)
    }

    fn named(&self, end: &str) -> PathBuf {
        let mut name = self.dump.clone().into_os_string();
        name.push(end);
        name.into()
    }

    /// The taken parts in order. `rest` is what begins in the first file at the place to which the VM copies
    /// parts, [`Self::START`] bytes if there are as many.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn end(mut self, rest: &[u8]) -> io::Result<Vec<File>> {
        if let Some(last) = self.taken.pop_if(|_| self.is_unsure) {
            // The head of a segment and the id of an object: no other part begins like this.
            let mut start = [0; Self::START];
            let length = last.read_at(&mut start, 0)?;
            if length == 0 || !rest.starts_with(&start[..length]) {
                self.taken.push(last);
            }
        }
        Ok(self.taken)
    }

    /// How many bytes tell parts from each other.
    pub const START: usize = 64;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn parts_are_taken_while_the_vm_dumps() {
        let folder = tempfile::tempdir().unwrap();
        let dump = folder.path().join("heap.hprof");
        let part = |number: usize| folder.path().join(format!("heap.hprof.p{number}"));
        fs::write(&dump, vec![0; 2 * BUFFER as usize]).unwrap();
        let mut parts = Parts::of(&dump);
        parts.look();
        let mut first = File::create(part(0)).unwrap();
        parts.look();
        first.write_all(b"objects").unwrap();
        fs::write(part(1), "more").unwrap();
        parts.look();
        // The VM finds nothing to copy.
        assert_eq!(fs::read(part(0)).unwrap(), b"");
        assert_eq!(fs::read(part(1)).unwrap(), b"");
        // It has flushed the first file, and begun to copy.
        fs::write(&dump, vec![0; BUFFER as usize + 5]).unwrap();
        fs::write(part(2), "copied").unwrap();
        parts.look();
        assert_eq!(fs::read(part(2)).unwrap(), b"copied");
        assert_eq!(read(parts.end(b"copied").unwrap()), ["objects", "more"]);
    }

    fn read(parts: Vec<File>) -> Vec<String> {
        let read = |mut file: File| {
            let mut text = String::new();
            file.read_to_string(&mut text).map(|_| text)
        };
        let found: io::Result<_> = parts.into_iter().map(read).collect();
        found.unwrap()
    }

    /// The VM ended its dump at the moment in which a part was taken.
    #[test]
    fn what_was_copied_is_not_read_twice() {
        let folder = tempfile::tempdir().unwrap();
        for (rest, found) in [
            (&b"second, copied"[..], &["first"][..]),
            (b"third", &["first", "second"]),
            (b"", &["first", "second"]),
        ] {
            let mut parts = Parts::of(&folder.path().join("heap.hprof"));
            for text in ["first", "second"] {
                fs::write(folder.path().join(text), text).unwrap();
                parts.taken.push(open(&folder.path().join(text)).unwrap());
            }
            parts.is_unsure = true;
            assert_eq!(read(parts.end(rest).unwrap()), found);
        }
    }
}
