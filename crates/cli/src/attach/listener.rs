//! A socket in the file system of a JVM that sees another one, or that belongs to another user.
//!
//! A name of a Unix socket means the file that it leads to, whatever mounts and network the process at
//! the other end has. So a socket that is made below the JVM's root folder leads out of a container.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::library::INSIDE;
use super::{Refusal, Target, on_its_terms};
use crate::agent_library::{self, Folder, User};

/// A listening socket whose path means something to the JVM.
#[derive(Debug)]
pub struct Listening {
    /// The socket.
    pub listener: UnixListener,
    /// Its path for the JVM.
    pub path: PathBuf,
    /// Takes its name away when dropped.
    pub name: Name,
}

/// A name in an open folder.
#[derive(Debug)]
pub struct Name {
    folder: Folder,
    name: String,
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.folder.way().join(&self.name));
    }
}

/// Listens at a new socket in a folder of the JVM's user alone, with the rights of that user: the
/// agent connects to no other user.
///
/// # Errors
/// If there is no folder for it.
pub fn listen(target: &Target, name: &str) -> Result<Listening, Refusal> {
    on_its_terms(target, || {
        let pid = target.pid();
        let user = User(target.status().uid);
        let mut reasons = String::new();
        for base in INSIDE {
            match below(target, Path::new(base), user, name) {
                Ok(listening) => return Ok(listening),
                Err(error) => reasons.push_str(&format!("\n  {error:#}")),
            }
        }
        Err(Refusal::NoPlaceForSocket { pid, reasons })
    })
}

fn below(target: &Target, base: &Path, user: User, name: &str) -> anyhow::Result<Listening> {
    let handle = target.root.folder(base);
    let handle = handle.with_context(|| base.display().to_string())?;
    let folder = agent_library::private_folder(handle, base, user)?;
    let path = folder.path().join(name);
    let listener = UnixListener::bind(folder.way().join(name));
    Ok(Listening {
        listener: listener.with_context(|| path.display().to_string())?,
        path,
        name: Name {
            folder,
            name: name.to_owned(),
        },
    })
}
