//! The VM's own dump, in a file that nobody else can see into.

use std::ffi::CString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::vm::{Jni, VmDumper};

/// HotSpot wants this ending.
const FILE: &str = "heap.hprof";

/// Lets the VM dump its heap, and returns the file, which has no name any more: it goes when it is
/// closed, whatever happens to this process.
///
/// While the VM writes, the file is in a folder of its own beside `output`, that only this user
/// can read: on the same file system, as a dump is large.
///
/// # Errors
/// Why there is no dump, as text.
pub fn take(dumper: VmDumper, jni: &Jni, output: &Path, live: bool) -> Result<File, String> {
    let folder = Folder::create(output)
        .map_err(|error| format!("cannot make a folder for it beside {}: {error}", output.display()))?;
    let open = folder.open().map_err(|error| error.to_string())?;
    // The way through the descriptor is plain ASCII, whatever the folder's name is: the VM could
    // not write a name that the locale does not have.
    let through = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    let place = if through.is_dir() { through } else { folder.path.clone() };
    let name = CString::new(place.join(FILE).as_os_str().as_bytes())
        .map_err(|error| error.to_string())?;
    dumper.dump(jni, &name, live)?;
    File::open(folder.path.join(FILE)).map_err(|error| format!("the VM left no file: {error}"))
}

/// A folder that goes with all that is in it.
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

    fn open(&self) -> io::Result<File> {
        File::open(&self.path)
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
