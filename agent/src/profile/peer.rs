//! The front-end at the other end of `net=`: what it says, and how it comes back.

use std::io::{ErrorKind, Read};
use std::time::Duration;

use crossbeam_channel::bounded;
use hprof_wire::frames::{FrameReader, Incoming};

use super::messages::Message;
use super::{Phase, Profile};
use crate::native_thread;
use crate::report;
use crate::sink::{Endpoint, NetSource};

/// Reads commands on a thread of its own. Those that come together are carried out together, and only
/// then more are read: a front-end that sends them faster than they are carried out fills the
/// buffers of its connection, and waits.
pub(super) fn listen(profile: &'static Profile, source: NetSource) {
    let started = native_thread::spawn("HPROF commands", move || read(profile, source));
    if let Err(error) = started {
        report::error(&format!("commands of the front-end are not read: {error}"));
    }
}

fn read(profile: &'static Profile, mut source: NetSource) {
    let mut frames = FrameReader::new();
    let mut buffer = [0; 4096];
    loop {
        let count = match source.read(&mut buffer) {
            // The end of its commands; it may still read.
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // The writer finds out by itself.
            Err(_) => return,
        };
        let mut found = Vec::new();
        frames.push(&buffer[..count], |incoming| found.push(incoming));
        if !found.is_empty() && !carry_out(profile, found) {
            return;
        }
    }
}

/// Has the profile thread carry commands out; false when there is none any more.
fn carry_out(profile: &Profile, commands: Vec<Incoming>) -> bool {
    let (done, wait) = bounded(1);
    profile.phase() == Phase::Live
        && profile.ask(Message::Commands { commands, done })
        && wait.recv().is_ok()
}

/// Pauses between attempts to find the front-end again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(250);

/// Looks for the front-end until it is there again.
pub(super) fn reconnect(profile: &'static Profile, endpoint: Endpoint) {
    // Without the thread the file just stays the output.
    let _ = native_thread::spawn("HPROF reconnect", move || {
        let mut pause = FIRST_PAUSE;
        loop {
            let mut waited = Duration::ZERO;
            while waited < pause {
                std::thread::sleep(STEP);
                waited += STEP;
                if profile.phase() != Phase::Live {
                    return;
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            if let Ok(sink) = endpoint.connect(Duration::ZERO, &profile.hurry) {
                profile.ask(Message::Connected(sink));
                return;
            }
        }
    });
}
