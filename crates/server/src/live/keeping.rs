//! Files from a live JVM that stay: its heap dump, the profile of a recording.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;

use super::Live;
use super::link::JvmId;
use super::machine::{Refused, RefusedKind};
use super::recording::Recording;
use crate::catalogue::Dump;
use crate::events::Event;
use crate::intake::{Digested, of_disk};
use crate::problem::Problem;
use crate::state::AppState;
use crate::store::PartId;

/// How often the length of a growing dump is reported.
const TOLD: Duration = Duration::from_millis(500);

/// A file that goes in the end: the store has a second name for what it keeps.
struct Temporary<'a>(&'a Path);

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

impl AppState {
    /// Has a JVM write a heap dump, and takes it among the dumps. Blocks.
    ///
    /// # Errors
    /// If the JVM refuses, the disk lacks room, or it writes what is no dump.
    pub fn dump_jvm(&self, id: JvmId, only_live: bool) -> Result<Dump, Problem> {
        let live = self
            .live()
            .ok_or_else(|| Problem::not_found("the server leaves JVMs alone"))?;
        let pid = match id {
            JvmId::Process(pid) => pid,
            JvmId::Sender(number) => return self.dump_sender(live, number),
        };
        let jvm = live.jvm(pid)?;
        if let Some(why) = jvm.refusal.as_ref().or(jvm.apart.as_ref()) {
            return Err(Refused::new(RefusedKind::Forbidden, why.clone()).into());
        }
        let free = self.store().free_bytes().map_err(Problem::internal)?;
        if jvm.resident > free {
            return Err(Problem::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "disk-full",
                "The disk is full",
                format!(
                    "the JVM occupies {} MB of memory, and the disk has {} MB free; delete dumps \
                     that nobody needs",
                    jvm.resident >> 20,
                    free >> 20
                ),
            ));
        }
        std::fs::create_dir_all(live.folder()).map_err(|error| of_disk(&error))?;
        let part = PartId::new().map_err(Problem::internal)?;
        let path = live.folder().join(format!("{}.hprof", part.as_str()));
        let _temporary = Temporary(&path);
        let is_done = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !is_done.load(Ordering::Acquire) {
                    std::thread::park_timeout(TOLD);
                    if let Ok(about) = std::fs::metadata(&path) {
                        self.events().send(Event::JvmDump {
                            id: pid.to_string(),
                            action: "dump",
                            bytes: about.len(),
                        });
                    }
                }
            });
            let written = live.machine().heap_dump(pid, &path, only_live);
            is_done.store(true, Ordering::Release);
            watcher.thread().unpark();
            written
        });
        written?;
        self.add_named(&path, &format!("{}-{pid}.hprof", jvm.name))
    }

    /// Has an agent write a heap dump into its stream, and takes what it has sent so far.
    fn dump_sender(&self, live: &Live, number: u32) -> Result<Dump, Problem> {
        let sender = live.sender(number)?;
        if !sender.is_binary {
            return Err(Problem::conflict(
                "its profile is text (format=a), and a heap dump in it is of little use; start the \
                 program with format=b, or use `hprof-rs capture`",
            ));
        }
        live.dump_sender(number)?;
        self.take_stream(number, None)
    }

    /// Takes what an agent has sent so far among the dumps. Its stream continues. Blocks.
    ///
    /// # Errors
    /// If it is not connected, or the disk fails.
    pub fn take_stream(&self, number: u32, name: Option<&str>) -> Result<Dump, Problem> {
        let Some(network) = &self.config().network else {
            return Err(Problem::not_found("the server takes no streams of agents"));
        };
        let file = network.copy(number)?;
        let _temporary = Temporary(&file);
        let own = file.file_name().map(|name| name.to_string_lossy());
        let own = own.as_deref().unwrap_or("profile");
        self.add_named(&file, name.unwrap_or(own))
    }

    /// Takes what a recording has so far among the dumps, as a profile. Blocks.
    ///
    /// # Errors
    /// If nothing is recorded, or the disk fails.
    pub fn keep_recording(
        &self,
        recording: &Recording,
        name: Option<&str>,
    ) -> Result<Dump, Problem> {
        let live = self
            .live()
            .ok_or_else(|| Problem::not_found("the server leaves JVMs alone"))?;
        let bytes = live
            .machine()
            .profile_file(&recording.contents(), &recording.times())?;
        self.has_room(bytes.len() as u64)?;
        let part = PartId::new().map_err(Problem::internal)?;
        let kept = self.store().create_part(&part);
        let kept = kept.map_err(|error| of_disk(&error)).and_then(|mut file| {
            file.write_all(&bytes).map_err(|error| of_disk(&error))?;
            file.sync_data().map_err(|error| of_disk(&error))?;
            let mut digested = Digested::default();
            digested.take(&bytes, self.config().recognise)?;
            let facts = &recording.facts;
            let own = format!("{}-{}.hprof.txt", facts.name, recording.id);
            self.admit(&part, name.unwrap_or(&own), digested)
        });
        if kept.is_err() {
            self.store().delete_part(&part).map_err(Problem::internal)?;
        }
        kept
    }
}
