//! The agent library inside this command, and its way into a file that a JVM
//! can load.
//!
//! A user who can change that file runs code as the user of the JVM. So it lies in
//! a folder that only this user can open, below a place where no other user can
//! exchange that folder, and a file that is found is used only if every byte is
//! right ([`mod@file`]). Places are tried in the order of [`places::in_order`].

mod file;
mod folder;
mod places;
mod refusal;

use crate::render::out::tell;
use std::env;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context;
use flate2::read::ZlibDecoder;

pub use folder::{Folder, User};
use places::{Environment, Place};
pub use refusal::Refusal;

/// The library, built, stripped and compressed by the build script.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libhprof_rs.so.z"));
/// The size of the library.
const BYTES: &str = env!("HPROF_RS_AGENT_BYTES");
/// Names the folder of this version of the library.
const HASH: &str = env!("HPROF_RS_AGENT_HASH");
/// The name of the file.
const FILE_NAME: &str = "libhprof_rs.so";

/// The library's bytes.
///
/// # Panics
/// If the bytes inside this program are not those that were put there: its file is damaged.
fn library() -> &'static [u8] {
    static LIBRARY: OnceLock<Vec<u8>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut library = Vec::with_capacity(BYTES.parse().unwrap_or(0));
        let whole = ZlibDecoder::new(PACKED).read_to_end(&mut library);
        assert!(
            whole.is_ok_and(|bytes| bytes.to_string() == BYTES),
            "the agent library inside this program is damaged: install hprof-rs again"
        );
        library
    })
}

/// Unpacks the library for this user, or finds it unpacked; returns its path.
/// Places that look tampered with are named on standard error.
///
/// # Errors
/// When no place will do: all of them, each with its reason.
pub fn unpack() -> anyhow::Result<PathBuf> {
    let places = places::in_order(&Environment::of_process());
    let (path, refusals) = unpack_into(&places, library(), HASH, User::current());
    for refusal in refusals.iter().filter(|refusal| refusal.is_suspicious()) {
        tell!("hprof-rs: passed over: {refusal}");
    }
    path.ok_or_else(|| {
        let reasons: String = refusals
            .iter()
            .map(|refusal| format!("\n  {refusal}"))
            .collect();
        anyhow::anyhow!(
            "there is no place for the agent library:{reasons}\nset XDG_CACHE_HOME to a folder of \
             your own, on a file system without the mount option noexec"
        )
    })
}

/// Writes the library into a folder that the user named, readable for everyone,
/// and returns its absolute path. A missing folder is created.
///
/// # Errors
/// When the folder cannot be written, or a JVM could not load from it.
pub fn copy_to(dir: &Path) -> anyhow::Result<PathBuf> {
    let dir = std::path::absolute(dir).context("the current folder has gone")?;
    std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    Folder::open(&dir)?.check_loadable()?;
    let path = dir.join(FILE_NAME);
    file::replace(&path, library(), 0o644).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// Unpacks the library below a folder that is open to several users, such as `/tmp`, into a folder
/// of `user` alone. `base` is the path of that folder for the JVM, and returned is that of the
/// library. A library that is there already keeps its file, which a JVM
/// may have loaded.
///
/// # Errors
/// If a JVM could not load from there, or others could change it.
pub fn unpack_below(handle: OwnedFd, base: &Path, user: User) -> Result<PathBuf, Refusal> {
    let place = Place::Shared {
        base: base.to_owned(),
    };
    write_in(&place, &Folder::new(handle, base), library(), HASH, user)
}

/// A folder of `user` alone in one that is open to several users, such as `/tmp`: the one that
/// [`unpack_below`] has. `base` is the path of the outer folder for the JVM.
///
/// # Errors
/// If others could change it.
pub fn private_folder(handle: OwnedFd, base: &Path, user: User) -> Result<Folder, Refusal> {
    let base = Folder::new(handle, base);
    base.check_base(user)?;
    own_folder(&base, user)
}

fn own_folder(base: &Folder, user: User) -> Result<Folder, Refusal> {
    let User(number) = user;
    base.create(&format!(".hprof-rs-{number}"), user, 0o077)
}

/// The path in the first place that will do, and why those before it did not.
fn unpack_into(
    places: &[Place],
    library: &[u8],
    hash: &str,
    user: User,
) -> (Option<PathBuf>, Vec<Refusal>) {
    let mut refusals = Vec::new();
    for place in places {
        match try_place(place, library, hash, user) {
            Ok(path) => return (Some(path), refusals),
            Err(refusal) => refusals.push(refusal),
        }
    }
    (None, refusals)
}

fn try_place(place: &Place, library: &[u8], hash: &str, user: User) -> Result<PathBuf, Refusal> {
    place.create_base()?;
    let base = Folder::open(place.base())?;
    write_in(place, &base, library, hash, user)
}

fn write_in(
    place: &Place,
    base: &Folder,
    library: &[u8],
    hash: &str,
    user: User,
) -> Result<PathBuf, Refusal> {
    base.check_base(user)?;
    base.check_loadable()?;
    match place {
        Place::Lasting { .. } => {
            // Other things may lie in the first folder, so others may look into it.
            let ours = base.create("hprof-rs", user, 0o022)?;
            let agents = ours.create("agent", user, 0o077)?;
            write_once(&agents, library, hash, user)
        }
        Place::Shared { .. } => write_once(&own_folder(base, user)?, library, hash, user),
        Place::Fresh { .. } => {
            let fresh = base.create_fresh()?;
            let name = fresh.path().file_name().unwrap_or_default();
            let path = base.path().join(name).join(FILE_NAME);
            file::replace(&fresh.path().join(FILE_NAME), library, 0o600)
                .map_err(|error| Refusal::io(&path, error))?;
            // The JVM needs it after this process has become the JVM.
            let _ = fresh.keep();
            Ok(path)
        }
    }
}

/// Writes the library into a folder named by its hash, unless it is there.
fn write_once(base: &Folder, library: &[u8], hash: &str, user: User) -> Result<PathBuf, Refusal> {
    let folder = base.create(hash, user, 0o077)?;
    let path = folder.path().join(FILE_NAME);
    let way = folder.way().join(FILE_NAME);
    let write = || -> io::Result<()> {
        if file::holds(&way, library, user)? {
            return Ok(());
        }
        file::replace(&way, library, 0o600)
    };
    write().map_err(|error| Refusal::io(&path, error))?;
    Ok(path)
}

#[cfg(test)]
mod tests;
