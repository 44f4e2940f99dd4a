//! A place for the agent library that the JVM can load from.

use std::path::Path;

use super::{Loaded, Refusal, Target};
use crate::agent_library::{self, User};
use crate::render::screen::printable;

/// Folders that as a rule can be written to, also in containers with a read-only image.
pub(super) const INSIDE: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Where the JVM finds the library. One that has it already gets the same file again: a second
/// file would be a second agent, which knows nothing of the first.
///
/// # Errors
/// If there is no place.
pub fn place(target: &Target) -> Result<Loaded, Refusal> {
    let pid = target.pid();
    if let Some(path) = target
        .jvm
        .libraries
        .as_ref()
        .and_then(|found| found.agent.as_ref())
    {
        let library = path.display().to_string();
        let is_gone = target
            .jvm
            .libraries
            .as_ref()
            .is_some_and(|found| found.agent_is_deleted);
        if is_gone || target.root.handle(path).is_err() {
            return Err(Refusal::AgentFileGone {
                pid,
                path: printable(&library),
            });
        }
        return Ok(Loaded {
            library,
            was_there: true,
        });
    }
    let mut reasons = String::new();
    let user = User(target.status().uid);
    // Whoever is somebody else cannot look into this user's cache.
    let is_ours = User::login() == user;
    if is_ours && pid.sees_our_files().unwrap_or(false) {
        match agent_library::unpack() {
            Ok(path) => {
                return Ok(Loaded {
                    library: path.display().to_string(),
                    was_there: false,
                });
            }
            Err(error) => reasons = format!("\n  {error:#}"),
        }
    }
    for base in INSIDE {
        let base = Path::new(base);
        let unpacked = match target.root.folder(base) {
            Ok(handle) => {
                agent_library::unpack_below(handle, base, user).map_err(anyhow::Error::new)
            }
            Err(error) => Err(anyhow::Error::new(error).context(base.display().to_string())),
        };
        match unpacked {
            Ok(path) => {
                return Ok(Loaded {
                    library: path.display().to_string(),
                    was_there: false,
                });
            }
            Err(refusal) => reasons.push_str(&format!("\n  {refusal:#}")),
        }
    }
    Err(Refusal::NoPlaceForLibrary { pid, reasons })
}
