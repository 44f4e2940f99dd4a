//! The files of their own into which JDK 22 and later dump the objects (JDK-8306441).
//!
//! These VMs write names and stacks into the file of the dump, and objects into `heap.hprof.p0`, `.p1` and
//! so on, one file for each thread that dumps. When the program runs again, they copy all parts into the
//! first file, and append the end mark. That would take the time of a copy, and its disk space. So the
//! reader opens each part while the VM writes it, and gives its name to an empty file: the VM has nothing
//! to copy, and the part is read through the open descriptor.
//!
//! The first part keeps a second name, as it can become the profile's file ([`super::in_place`]). It lacks
//! the names and classes that stand before objects in a profile. [`Part::make_room`] leaves room for them: it moves
//! the VM's position in the file, where the VM continues to write.
//!
//! A part must not be taken while the VM copies it, or it would be read twice. The VM flushes the first
//! file between the dump and the copying; before, it has written whole buffers only.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crossbeam_channel::Sender;

use super::vm_dump::open;
use crate::os::holes;

/// HotSpot's `io_buffer_max_size`, in bytes.
const BUFFER: u64 = 1 << 20;

/// The parts of a dump that were taken: the first ones, as the first holds the classes.
pub struct Parts {
    /// The first file of the dump.
    dump: PathBuf,
    taken: Vec<Part>,
    /// Gets the first part when it is taken.
    first: Option<Sender<Part>>,
    /// The VM may have copied the last that was taken.
    is_unsure: bool,
    /// Done while a part is taken.
    #[cfg(test)]
    taking: Option<Box<dyn FnMut() + Send>>,
}

impl Parts {
    /// None yet; `dump` is the file that the VM was told to write.
    pub fn of(dump: &Path) -> Self {
        Self {
            dump: dump.to_owned(),
            taken: Vec::new(),
            first: None,
            is_unsure: false,
            #[cfg(test)]
            taking: None,
        }
    }

    /// The first part goes to `first` too, when it is taken.
    #[must_use]
    pub fn tell(mut self, first: Sender<Part>) -> Self {
        self.first = Some(first);
        self
    }

    /// Takes the parts that there are by now. One that cannot be taken is copied by the VM.
    pub fn look(&mut self) {
        while let Ok(Some(part)) = self.take(self.taken.len()) {
            // Its reader blanks values where they are, and then it would not begin like the VM's copy of it.
            if !self.is_unsure
                && let Some(first) = self.first.take()
                && let Ok(part) = part.try_clone()
            {
                // Without a reader it is read later.
                let _ = first.send(part);
            }
            self.taken.push(part);
        }
    }

    fn take(&mut self, number: usize) -> io::Result<Option<Part>> {
        let name = self.named(&format!(".p{number}"));
        let part = match open(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            part => part?,
        };
        if self.is_unsure || !self.is_dumping()? {
            return Ok(None);
        }
        let kept = self.named(".first");
        let is_kept = number == 0 && fs::hard_link(&name, &kept).is_ok();
        let empty = self.named(".empty");
        File::create(&empty)?;
        fs::rename(&empty, &name)?;
        #[cfg(test)]
        if let Some(taking) = &mut self.taking {
            taking();
        }
        self.is_unsure |= !self.is_dumping().unwrap_or(false);
        Ok(Some(Part {
            file: part,
            name: is_kept.then_some(kept),
        }))
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
    pub fn end(mut self, rest: &[u8]) -> io::Result<Vec<Part>> {
        if let Some(last) = self.taken.pop_if(|_| self.is_unsure) {
            // The head of a segment and the id of an object: no other part begins like this.
            let mut start = [0; Self::START];
            let length = last.file.read_at(&mut start, 0)?;
            if length == 0 || !rest.starts_with(&start[..length]) {
                self.taken.push(last);
            }
        }
        Ok(self.taken)
    }

    /// How many bytes tell parts from each other.
    pub const START: usize = 64;
}

/// A part of a dump, in which the VM may still write.
pub struct Part {
    /// The open file.
    pub file: File,
    /// A name of the file that the VM does not know.
    pub name: Option<PathBuf>,
}

impl Part {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            file: self.file.try_clone()?,
            name: self.name.clone(),
        })
    }

    /// Moves all that the VM has written, and what it will write, `room` bytes away from the start of the
    /// file. Returns false, and changes nothing, if the VM does not write it any more.
    ///
    /// # Errors
    /// The file system's.
    pub fn make_room(&self, room: u64) -> io::Result<bool> {
        let Some(writing) = self.vm_descriptor()? else {
            return Ok(false);
        };
        let by = libc::off_t::try_from(room).map_err(io::Error::other)?;
        // Once the VM's place has moved, what was in front must move too. A disk without space for that says
        // so now.
        let end = self.file.metadata()?.len();
        holes::reserve(&self.file, end..end + room)?;
        // SAFETY: the descriptor is open. It is a copy of the VM's, and so it shares its place in the file.
        // The kernel lets no write of the VM come between reading and changing that.
        let next = unsafe { libc::lseek(writing.as_raw_fd(), by, libc::SEEK_CUR) };
        let next = u64::try_from(next).map_err(|_| io::Error::last_os_error())?;
        holes::copy_backward(&self.file, 0..next - room, &self.file, room)?;
        Ok(true)
    }

    /// A copy of the descriptor through which the VM writes the file.
    fn vm_descriptor(&self) -> io::Result<Option<OwnedFd>> {
        let own = self.file.metadata()?;
        for entry in fs::read_dir("/proc/self/fd")? {
            let name = entry?.file_name();
            let Some(number) = name.to_str().and_then(|name| name.parse::<RawFd>().ok()) else {
                continue;
            };
            let path = format!("/proc/self/fd/{number}");
            let is_own = |found: &fs::Metadata| {
                (found.dev(), found.ino()) == (own.dev(), own.ino()) && found.is_file()
            };
            if !fs::metadata(path).is_ok_and(|found| is_own(&found)) {
                continue;
            }
            // SAFETY: the number is copied at once; if it has been closed by now, that fails, and if it is
            // another file by now, the next lines see that on the copy.
            let copy = unsafe { BorrowedFd::borrow_raw(number) }.try_clone_to_owned();
            let Ok(copy) = copy.map(File::from) else {
                continue;
            };
            // SAFETY: the descriptor is open.
            let flags = unsafe { libc::fcntl(copy.as_raw_fd(), libc::F_GETFL) };
            // This process's own descriptors can read.
            let writes_only = flags >= 0 && flags & libc::O_ACCMODE == libc::O_WRONLY;
            if writes_only && is_own(&copy.metadata()?) {
                return Ok(Some(copy.into()));
            }
        }
        Ok(None)
    }
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

    /// Its reader would change the bytes by which a copy of it is recognized.
    #[test]
    fn a_first_part_that_may_be_copied_has_no_reader_of_its_own() {
        for is_unsure in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let dump = folder.path().join("heap.hprof");
            fs::write(&dump, "").unwrap();
            let (tell, first) = crossbeam_channel::bounded(1);
            let mut parts = Parts::of(&dump).tell(tell);
            parts.taking = Some(Box::new({
                let dump = dump.clone();
                move || {
                    if is_unsure {
                        fs::write(&dump, "flushed").unwrap();
                    }
                }
            }));
            fs::write(folder.path().join("heap.hprof.p0"), "objects").unwrap();
            parts.look();
            assert_eq!(parts.taken.len(), 1);
            assert_eq!(parts.is_unsure, is_unsure);
            assert_eq!(first.try_recv().is_err(), is_unsure);
        }
    }

    /// The VM writes on behind the room, without a gap.
    #[test]
    fn room_is_made_in_front_of_what_the_vm_writes() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("heap.hprof.p0");
        let mut vm = File::create(&name).unwrap();
        vm.write_all(b"first ").unwrap();
        let file = open(&name).unwrap();
        let part = Part { file, name: None };
        assert!(part.make_room(5).unwrap());
        vm.write_all(b"second").unwrap();
        let found = fs::read(&name).unwrap();
        assert_eq!(found[5..], *b"first second");
        drop(vm);
        assert!(!part.make_room(5).unwrap());
        assert_eq!(fs::read(&name).unwrap(), found);
    }

    fn read(parts: Vec<Part>) -> Vec<String> {
        let read = |mut part: Part| {
            let mut text = String::new();
            part.file.read_to_string(&mut text).map(|_| text)
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
                let file = open(&folder.path().join(text)).unwrap();
                parts.taken.push(Part { file, name: None });
            }
            parts.is_unsure = true;
            assert_eq!(read(parts.end(rest).unwrap()), found);
        }
    }
}
