//! The socket of a JVM's attach listener, which it opens when asked.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Refusal, Target};

/// How long to wait between two looks for the socket, at first.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// And at most.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// How long a JVM may take from its first appearance until it catches signals.
const LONGEST_START: Duration = Duration::from_secs(5);

/// Connects to the attach listener, starting it if it does not run yet.
///
/// A JVM starts it on SIGQUIT if it finds a file `.attach_pidN` in its current folder or in `/tmp`
/// that belongs to its user; N is its process id in its own namespace. The socket is
/// `/tmp/.java_pidN` (`attachListener_linux.cpp`).
///
/// # Errors
/// If it does not open the socket in time, or belongs to somebody else.
pub fn connect(target: &Target, limit: Duration) -> Result<UnixStream, Refusal> {
    let number = target.status().inner_pid;
    let socket = target.inside(&format!("/tmp/.java_pid{number}"));
    match UnixStream::connect(&socket) {
        Ok(stream) => return Ok(stream),
        // A dead JVM of the same number has left the file.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(target, error)),
    }
    let _request = RequestFile::create(target, number)?;
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut asked = Asked::default();
    loop {
        let waited = start.elapsed();
        asked.go_on(target, waited, limit)?;
        if waited > limit {
            return Err(Refusal::NoAnswer {
                pid: target.pid(),
                limit,
            });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
        match UnixStream::connect(&socket) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(target, error)),
        }
    }
}

/// How often the JVM was sent the signal.
#[derive(Default)]
struct Asked {
    once: bool,
    twice: bool,
}

impl Asked {
    /// Sends the signal once, and again at half the time: one may have come at a bad moment.
    ///
    /// A JVM that is just starting does not catch the signal yet and would be killed by it.
    fn go_on(&mut self, target: &Target, waited: Duration, limit: Duration) -> Result<(), Refusal> {
        if !self.once {
            match target.wake() {
                Err(Refusal::NotListening(_)) if waited < limit.min(LONGEST_START) => {}
                sent => {
                    sent?;
                    self.once = true;
                }
            }
        } else if !self.twice && waited > limit / 2 {
            self.twice = true;
            target.wake()?;
        }
        if target.pid().status().is_ok_and(|status| status.is_zombie) {
            return Err(Refusal::Ended(target.pid()));
        }
        Ok(())
    }
}

fn failed(target: &Target, error: io::Error) -> Refusal {
    Refusal::Io {
        pid: target.pid(),
        what: "cannot connect to its socket",
        error,
    }
}

/// The file that asks the JVM to listen. It goes when dropped.
struct RequestFile {
    path: PathBuf,
}

impl RequestFile {
    /// In `/tmp` rather than among the program's own files, if possible.
    fn create(target: &Target, number: u32) -> Result<Self, Refusal> {
        let name = format!(".attach_pid{number}");
        let places = [
            Some(target.inside("/tmp").join(&name)),
            target.in_current(&name),
        ];
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for path in places.into_iter().flatten() {
            let _ = fs::remove_file(&path);
            let created = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match created {
                Ok(_) => return Ok(Self { path }),
                Err(error) => last = error,
            }
        }
        Err(Refusal::NoPlaceToAsk {
            pid: target.pid(),
            error: last,
        })
    }
}

impl Drop for RequestFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
