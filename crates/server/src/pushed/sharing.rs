//! The servers of a fleet share pushed profiles: the files lie in the object storage, their list in PostgreSQL.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use hprof_pushed::{Fleet, FleetId, FleetSegment, Reservation, Retention, Window};

use crate::catalogue::CatalogueError;
use crate::catalogue::pushed::{PushedSegment, PushedSegments};
use crate::state::AppState;
use crate::store::{PartId, PushedFiles};
use crate::time::Millis;

/// How often the server looks for what others have.
pub(crate) const PAUSE: Duration = Duration::from_secs(10);
/// How old what is in memory becomes before others can have it.
pub(crate) const FRESHNESS: Duration = Duration::from_secs(20);
/// How long others need for it at most, as long as all works.
const LAG: Duration = Duration::from_secs(60);
const DAY: u64 = 24 * 60 * 60;

/// The state of sharing; it is there in a fleet only.
pub struct Sharing {
    /// The name of this server, which its folder keeps.
    server: String,
    /// When the last look began that succeeded, in milliseconds since 1970-01-01 UTC; 0 before.
    shared_at: AtomicI64,
    others: AtomicU64,
    /// Segments of others whose files are missing or damaged.
    unreadable: AtomicUsize,
    is_failing: AtomicBool,
}

/// Figures for `/metrics`.
#[derive(Debug, Clone, Copy)]
pub struct SharingFigures {
    /// Other servers that were there lately.
    pub others: u64,
    /// Seconds since the last look that succeeded; none before.
    pub age: Option<u64>,
}

impl Sharing {
    /// The state before the first look, of the server with this folder of pushed profiles.
    ///
    /// # Errors
    /// If the disk fails, or the system has no random numbers.
    pub fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            server: name_of(folder)?.as_str().to_owned(),
            shared_at: AtomicI64::new(0),
            others: AtomicU64::new(0),
            unreadable: AtomicUsize::new(0),
            is_failing: AtomicBool::new(false),
        })
    }

    /// Sends and takes segments, and notes how it went. Blocks.
    pub(crate) fn share(&self, state: &AppState, retention: Retention) {
        let (Some(list), Some(files)) = (state.catalogue().pushed(), state.store().pushed()) else {
            return;
        };
        let Some(pushed) = state.pushed() else {
            return;
        };
        let began = Millis::now();
        let now = u32::try_from(began.0 / 1000).unwrap_or(u32::MAX);
        let server = &self.server;
        let fleet = Shared {
            list,
            files,
            server,
        };
        let shared = list.note_pushed_server(server).map_err(failed);
        let shared = shared.and_then(|others| {
            self.others.store(others, Ordering::Relaxed);
            pushed.store.share(&fleet, retention, now)
        });
        match shared {
            Ok(unreadable) => {
                self.unreadable.store(unreadable, Ordering::Relaxed);
                self.shared_at.store(began.0, Ordering::Relaxed);
                if self.is_failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("pushed profiles are shared with the other servers again");
                }
            }
            // Once, as it is tried again soon.
            Err(error) if !self.is_failing.swap(true, Ordering::Relaxed) => tracing::error!(
                %error,
                "pushed profiles are not shared with the other servers for now"
            ),
            Err(_) => {}
        }
    }

    /// Sends what only this server has, and notes that it ends. Blocks.
    ///
    /// # Errors
    /// If the fleet or the disk fails.
    pub(crate) fn leave(&self, state: &AppState) -> io::Result<()> {
        let (Some(list), Some(files)) = (state.catalogue().pushed(), state.store().pushed()) else {
            return Ok(());
        };
        let server = &self.server;
        let fleet = Shared {
            list,
            files,
            server,
        };
        if let Some(pushed) = state.pushed() {
            pushed.store.hand_over(&fleet)?;
        }
        list.remove_pushed_server(server).map_err(failed)
    }

    /// Figures for `/metrics`.
    pub(crate) fn figures(&self) -> SharingFigures {
        let at = self.shared_at.load(Ordering::Relaxed);
        let age = Millis::now().0.saturating_sub(at) / 1000;
        SharingFigures {
            others: self.others.load(Ordering::Relaxed),
            age: (at > 0).then_some(u64::try_from(age).unwrap_or_default()),
        }
    }

    /// Sentences on the profiles that an answer about a window may lack.
    pub(crate) fn notes(&self, window: Window) -> Vec<String> {
        let unreadable = match self.unreadable.load(Ordering::Relaxed) {
            0 => None,
            count => Some(format!(
                "{count} segments of profiles are missing here: the storage has lost or damaged their files; the server's log names them"
            )),
        };
        self.note(window).into_iter().chain(unreadable).collect()
    }

    fn note(&self, window: Window) -> Option<String> {
        let at = self.shared_at.load(Ordering::Relaxed);
        let lag = i64::try_from(LAG.as_millis()).unwrap_or(i64::MAX);
        let complete = at.saturating_sub(lag).max(0);
        let is_within = window.fixed().to.is_none_or(|to| to > complete);
        if !is_within || at > 0 && self.others.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut note = "profiles that other servers of the fleet received".to_owned();
        // Writing to a string cannot fail.
        let _ = match at {
            0 => write!(note, " are missing until the first exchange with them ends"),
            _ => {
                let time = jiff::Timestamp::from_millisecond(complete).unwrap_or_default();
                write!(
                    note,
                    " after {} UTC may be missing",
                    time.strftime("%H:%M:%S")
                )
            }
        };
        Some(note)
    }
}

/// The name that a folder has for its server, or a new one.
fn name_of(folder: &Path) -> io::Result<PartId> {
    let path = folder.join("server");
    match fs::read_to_string(&path) {
        Ok(name) => {
            if let Ok(name) = name.parse() {
                return Ok(name);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let name = PartId::new()?;
    let new = path.with_extension("new");
    fs::write(&new, name.as_str())?;
    fs::rename(&new, &path)?;
    Ok(name)
}

fn failed(error: CatalogueError) -> io::Error {
    io::Error::other(error)
}

/// List and files.
struct Shared<'a> {
    list: &'a dyn PushedSegments,
    files: &'a dyn PushedFiles,
    server: &'a str,
}

impl Fleet for Shared<'_> {
    fn list(&self) -> io::Result<Vec<FleetSegment>> {
        let found = self.list.pushed_segments().map_err(failed)?;
        let known = found.into_iter().map(|segment| {
            let strange = || io::Error::other("the database has a name of another program");
            Ok(FleetSegment {
                id: FleetId::parse(&segment.id).ok_or_else(strange)?,
                level: segment.level,
                bytes: segment.bytes,
                sha256: segment.sha256,
            })
        });
        known.collect()
    }

    fn reserve(&self, segment: &FleetSegment) -> io::Result<Reservation> {
        let segment = PushedSegment {
            id: segment.id.as_str().to_owned(),
            level: segment.level,
            bytes: segment.bytes,
            sha256: segment.sha256.clone(),
        };
        match self.list.reserve_pushed(&segment).map_err(failed)? {
            true => Ok(Reservation::Open),
            false => Ok(Reservation::Published),
        }
    }

    fn send(&self, id: &FleetId, file: &Path) -> io::Result<()> {
        self.files.send_pushed(id.as_str(), file)
    }

    fn fetch(&self, segment: &FleetSegment, to: &Path) -> io::Result<()> {
        let FleetSegment {
            id, bytes, sha256, ..
        } = segment;
        self.files.fetch_pushed(id.as_str(), *bytes, sha256, to)
    }

    fn publish(&self, id: &FleetId) -> io::Result<bool> {
        self.list.publish_pushed(id.as_str()).map_err(failed)
    }

    fn replace(&self, new: Option<&FleetId>, gone: &[FleetId]) -> io::Result<bool> {
        let gone: Vec<&str> = gone.iter().map(FleetId::as_str).collect();
        let new = new.map(FleetId::as_str);
        self.list.replace_pushed(new, &gone).map_err(failed)
    }

    fn is_keeper(&self) -> io::Result<bool> {
        self.list.keep_pushed(self.server).map_err(failed)
    }

    fn sweep(&self, keep: Retention) -> io::Result<()> {
        // What is older would be removed at once if it came again.
        let memory = Duration::from_secs(DAY * (u64::from(keep.days) + 1));
        for id in self.list.pushed_leftovers().map_err(failed)? {
            self.files.delete_pushed(&id)?;
            self.list.forget_pushed(&id, memory).map_err(failed)?;
        }
        Ok(())
    }
}
