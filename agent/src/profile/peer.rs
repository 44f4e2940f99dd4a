//! The front-end at the other end of `net=`: what it says, and how it comes back.

use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use crossbeam_channel::bounded;
use hprof_wire::frames::FrameReader;

use super::orders::{Orders, Pacer};
use super::state::Profile;
use crate::control;
use crate::objects;
use crate::options::Lost;
use crate::os::native_thread;
use crate::recording::{Message, Order, Phase};
use crate::report;
use crate::sink::{Endpoint, NetSource};

/// Reads commands on a thread of its own. Those that wait are carried out, and only then more are
/// read: a front-end that sends them faster than they are carried out fills the buffers of its
/// connection, and waits.
pub(super) fn listen(profile: &'static Profile, source: NetSource) {
    let started = native_thread::spawn("HPROF commands", move || read(profile, source));
    if let Err(error) = started {
        report::error(&format!("commands of the front-end are not read: {error}"));
    }
}

fn read(profile: &'static Profile, mut source: NetSource) {
    let mut frames = FrameReader::new();
    let mut orders = Orders::default();
    let mut pacer = Pacer::new();
    let mut buffer = [0; 4096];
    loop {
        let mut read = source.read(&mut buffer);
        while let Ok(count @ 1..) = read {
            frames.push(&buffer[..count], |incoming| orders.push(incoming));
            if orders.is_full() {
                break;
            }
            // What came meanwhile may be the same once more.
            read = source.read_ready(&mut buffer);
        }
        loop {
            let batch = orders.take();
            if batch.is_empty() {
                break;
            }
            let began = Instant::now();
            if !carry_out(profile, batch) {
                return;
            }
            std::thread::sleep(pacer.worked(began.elapsed()));
        }
        match read {
            Ok(0) if profile.run.settings.lost == Lost::Detach => return leave(profile),
            // The end of its commands; it may still read.
            Ok(0) => return,
            Ok(_) => {}
            Err(error)
                if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(_) if profile.run.settings.lost == Lost::Detach => return leave(profile),
            // The writer finds out by itself.
            Err(_) => return,
        }
    }
}

/// Ends the run, since it has lost the front-end for which it records (`lost=detach`).
pub(super) fn leave(profile: &'static Profile) {
    // The profile thread, which carries it out, must not wait for itself.
    let started = native_thread::spawn("HPROF leave", move || {
        // A failure to write the last dump is of no interest: no reader is left.
        if profile.end_early().is_err() {
            return;
        }
        objects::forget();
        control::close();
        report::note("recording has ended, and the agent has left (lost=detach)");
    });
    if let Err(error) = started {
        report::error(&format!(
            "the front-end is lost, and the run cannot end: {error}"
        ));
    }
}

/// Has the profile thread carry commands out; false when there is none any more.
fn carry_out(profile: &Profile, orders: Vec<Order>) -> bool {
    let (done, wait) = bounded(1);
    profile.run.phase() == Phase::Live
        && profile.ask(Message::Commands { orders, done })
        && wait.recv().is_ok()
}

/// Pauses between attempts to find the front-end again.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(250);

/// Tries to reconnect to the front-end.
pub(super) fn reconnect(profile: &'static Profile, endpoint: Endpoint) {
    // Without the thread the file just stays the output.
    let _ = native_thread::spawn("HPROF reconnect", move || {
        let mut pause = MIN_PAUSE;
        loop {
            let mut waited = Duration::ZERO;
            while waited < pause {
                std::thread::sleep(STEP);
                waited += STEP;
                if profile.run.phase() != Phase::Live {
                    return;
                }
            }
            pause = (pause * 2).min(MAX_PAUSE);
            if let Ok(sink) = endpoint.connect(Duration::ZERO, &profile.vm_waits) {
                profile.ask(Message::Connected(sink));
                return;
            }
        }
    });
}
