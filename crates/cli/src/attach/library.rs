//! A place for the agent library that the JVM can load from.

use std::path::Path;

use super::{Limits, Loaded, Refusal, Request, Target, exchange, said};
use crate::agent_library::{self, User};
use crate::jvm::process::{Libraries, parse_maps};
use crate::render::screen::printable;

/// Folders that as a rule can be written to, also in containers with a read-only image.
pub(super) const INSIDE: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Where the JVM finds the library. One that has it already gets the same file again: a second
/// file would be a second agent, which knows nothing of the first.
///
/// # Errors
/// If there is no place.
pub fn place(target: &Target, limits: Limits) -> Result<Loaded, Refusal> {
    let pid = target.pid();
    let gone = |path: &Path| Refusal::AgentFileGone {
        pid,
        path: printable(&path.display().to_string()),
    };
    let shown = target.jvm.libraries.as_ref();
    let agent = match shown {
        Some(found) if found.agent.is_none() => None,
        Some(found) if found.agent_is_deleted => {
            return Err(gone(found.agent.as_deref().unwrap_or(Path::new("?"))));
        }
        // Seen from outside, a path need not be the one that the JVM has, as in a chroot.
        Some(Libraries {
            agent: Some(path), ..
        }) if !pid.is_chrooted() && target.root.handle(path).is_ok() => Some(path.clone()),
        _ => {
            let found = libraries(target, limits)?;
            match found.agent {
                Some(path) if found.agent_is_deleted => return Err(gone(&path)),
                agent => agent,
            }
        }
    };
    if let Some(path) = agent {
        return Ok(Loaded {
            library: path.display().to_string(),
            was_there: true,
        });
    }
    let mut reasons = String::new();
    let user = User(target.status().uid);
    // Another user cannot look into this user's cache.
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

/// The libraries of the JVM, by the paths that it has for them: it prints its own `/proc/self/maps`.
fn libraries(target: &Target, limits: Limits) -> Result<Libraries, Refusal> {
    let pid = target.pid();
    let answer = exchange(target, &Request::Diagnostic("VM.dynlibs"), limits)?;
    let found = parse_maps(answer.text.as_bytes()).unwrap_or_default();
    match answer.status == 0 && found.hotspot.is_some() {
        true => Ok(found),
        false => Err(Refusal::Refused {
            pid,
            message: format!("VM.dynlibs lists no libraries ({})", said(&answer)),
        }),
    }
}
