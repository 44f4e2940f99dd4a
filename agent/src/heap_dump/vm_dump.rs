//! The VM's own dump, in a file that no other user can read.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::parts::Parts;
use super::reader::Growth;
use crate::os::descriptors;
use crate::vm::{Jni, VmDumper};

/// HotSpot wants this ending.
const FILE: &str = "heap.hprof";

/// A place for the VM's dump: a folder of its own beside the profile, that only this user can read;
/// on the same file system, as a dump is large. It goes with all that is in it.
pub struct Place {
    folder: Folder,
    /// The open folder.
    open: File,
}

impl Place {
    /// A place beside `output`.
    ///
    /// # Errors
    /// Why there is none, as text.
    pub fn create(output: &Path) -> Result<Self, String> {
        let fail = |error: io::Error| {
            let beside = output.display();
            format!("cannot make a folder for it beside {beside}: {error}")
        };
        let folder = Folder::create(output).map_err(fail)?;
        // The VM opens its file itself.
        descriptors::occupy_standard();
        let open = File::open(&folder.path).map_err(fail)?;
        Ok(Self { folder, open })
    }

    /// Lets the VM dump its heap, and tells `growth` when it has done so.
    ///
    /// # Errors
    /// The VM's error, as text.
    pub fn dump(
        &self,
        dumper: VmDumper,
        jni: &Jni,
        live: bool,
        growth: &Growth,
    ) -> Result<(), String> {
        // The way through the descriptor is plain ASCII, whatever the folder's name is: the VM could
        // not write a name that the locale does not have.
        let through = PathBuf::from(format!("/proc/self/fd/{}", self.open.as_raw_fd()));
        let place = if through.is_dir() {
            through
        } else {
            self.folder.path.clone()
        };
        let name = place.join(FILE).into_os_string().into_vec();
        let result = match CString::new(name) {
            Ok(name) => dumper.dump(jni, &name, live),
            Err(error) => Err(error.to_string()),
        };
        growth.finish();
        result
    }

    /// Returns true if the VM has written more than the head of a file. Until the pause in which it dumps the
    /// heap it writes nothing.
    pub fn has_content(&self) -> bool {
        const HEAD: u64 = 1 << 12;
        let files = fs::read_dir(&self.folder.path).into_iter().flatten();
        let lengths = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
        lengths.sum::<u64>() > HEAD
    }

    /// Where the VM writes its file.
    pub fn path(&self) -> PathBuf {
        self.folder.path.join(FILE)
    }

    /// The parts of the VM's file.
    pub fn parts(&self) -> Parts {
        Parts::of(&self.folder.path.join(FILE))
    }

    /// The VM's file, as soon as there is one. It loses its name, and so it goes when it is
    /// closed, whatever happens to this process.
    ///
    /// # Errors
    /// When the VM has finished without it.
    pub fn file(&self, growth: &Growth) -> io::Result<File> {
        loop {
            let is_finished = growth.is_finished();
            match open(&self.folder.path.join(FILE)) {
                Ok(file) => return Ok(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_finished => {
                    growth.wait();
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Opens a file of the VM to be read. Only a file that may be written to takes holes.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

struct Folder {
    path: PathBuf,
}

impl Folder {
    fn create(output: &Path) -> io::Result<Self> {
        let mut number = 0;
        loop {
            let mut name = output.as_os_str().to_owned();
            name.push(format!(".{}-{number}.heap", std::process::id()));
            let path = PathBuf::from(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                // Left by a process of that id which was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {
                    number += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Newer VMs write parts into files of their own, and leave them when that fails.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_private_new_and_goes_with_its_files() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("p.txt");
        let first = Folder::create(&output).unwrap();
        let second = Folder::create(&output).unwrap();
        assert_ne!(first.path, second.path);
        let mode = fs::metadata(&first.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(first.path.join("heap.hprof.p0"), "x").unwrap();
        drop((first, second));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
