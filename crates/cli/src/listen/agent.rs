//! One connection: takes the stream into a file, and tells the hub what it sees.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::address::Stream;
use super::agents::Agent;
use super::agents::End;
use super::follow::{Follower, Kind, Note};
use super::hub::Hub;
use super::save::{Saved, file_name};

/// The number of bytes of one read.
const CHUNK: usize = 128 * 1024;
/// How often a silent stream looks whether the listener is closing.
const TICK: Duration = Duration::from_millis(200);
/// How long the header may take once it has begun: agents send it in one piece.
const HEADER: Duration = Duration::from_secs(10);
/// How long a stream may continue to a place where it can be cut, when the listener closes.
const GRACE: Duration = Duration::from_secs(2);

/// Why a stream ends.
enum Reason {
    /// The agent closed it.
    Closed,
    /// The connection broke.
    Broken(io::Error),
    /// The file cannot be written.
    Disk(io::Error),
    /// It is longer than allowed.
    Long(u64),
    /// It is no profile.
    Garbage,
    /// No header has come in this time.
    Silent(Duration),
    /// The listener closes.
    Listener,
}

/// Takes a stream to its end.
pub fn serve(hub: &Arc<Hub>, number: u32, mut stream: Stream) {
    let mut connection = Connection {
        follower: Follower::new(),
        kind: None,
        saved: None,
    };
    let reason = match stream.set_timeout(TICK) {
        Ok(()) => connection.take(hub, number, &mut stream),
        Err(error) => Reason::Broken(error),
    };
    stream.close();
    let end = connection.finish(hub, number, reason);
    hub.end(number, end);
}

struct Connection {
    follower: Follower,
    kind: Option<Kind>,
    saved: Option<Saved>,
}

impl Connection {
    fn take(&mut self, hub: &Arc<Hub>, number: u32, stream: &mut Stream) -> Reason {
        let mut buffer = vec![0; CHUNK];
        let mut notes = Vec::new();
        // Bytes that came before the format was known.
        let mut first = Vec::new();
        let mut closing_since: Option<Instant> = None;
        let began = Instant::now();
        let mut first_byte: Option<Instant> = None;
        let mut bytes = 0;
        loop {
            if hub.is_closing() {
                let since = *closing_since.get_or_insert_with(Instant::now);
                if self.follower.end().is_none() || since.elapsed() > GRACE {
                    return Reason::Listener;
                }
            }
            if self.kind.is_none() {
                let is_late = |since: Instant, limit| since.elapsed() > limit;
                let silence = hub.limits().silence;
                if first_byte.is_some_and(|since| is_late(since, HEADER)) {
                    return Reason::Silent(HEADER);
                }
                if is_late(began, silence) {
                    return Reason::Silent(silence);
                }
            }
            let found = match stream.read(&mut buffer) {
                Ok(0) => return Reason::Closed,
                Ok(found) => &buffer[..found],
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock
                    | io::ErrorKind::TimedOut
                    | io::ErrorKind::Interrupted => continue,
                    _ => return Reason::Broken(error),
                },
            };
            first_byte.get_or_insert_with(Instant::now);
            bytes += found.len() as u64;
            if bytes > hub.limits().stream {
                return Reason::Long(hub.limits().stream);
            }
            // Saved first: what the disk does not take must not count.
            if let Some(saved) = &mut self.saved
                && let Err(error) = saved.write(found)
            {
                return Reason::Disk(error);
            }
            if self
                .follower
                .push(found, &mut |note| notes.push(note))
                .is_err()
            {
                return Reason::Garbage;
            }
            if self.saved.is_none() {
                first.extend_from_slice(found);
                if let Some(Note::Kind(kind)) = notes.first() {
                    self.kind = Some(*kind);
                    let created = Saved::create(hub.folder(), number).and_then(|mut saved| {
                        saved.write(&first)?;
                        Ok(saved)
                    });
                    match created {
                        Ok(saved) => self.saved = Some(saved),
                        Err(error) => return Reason::Disk(error),
                    }
                    first = Vec::new();
                }
            }
            let path = self.saved.as_ref().map(Saved::path);
            hub.progress(number, found.len() as u64, &self.follower, path, &mut notes);
        }
    }

    fn finish(self, hub: &Hub, number: u32, reason: Reason) -> End {
        let cut = self.follower.end();
        let fault = match &reason {
            Reason::Closed | Reason::Listener => None,
            Reason::Broken(error) => Some(format!("the connection broke: {error}")),
            Reason::Disk(error) => Some(format!("the file could not be written: {error}")),
            Reason::Long(limit) => Some(format!(
                "it sent more than {}; `--max-upload` sets the limit",
                crate::render::screen::bytes(*limit)
            )),
            Reason::Garbage => Some("it sent no HPROF profile".to_owned()),
            Reason::Silent(limit) => Some(format!("it began no profile in {} s", limit.as_secs())),
        };
        let is_cut = cut.is_some() || fault.is_some();
        let fault = fault.or_else(|| {
            let ends = match reason {
                Reason::Listener => "the listener closed",
                _ => "the agent closed the connection",
            };
            cut.as_ref().map(|_| format!("{ends} in the middle"))
        });
        let (Some(saved), Some(kind)) = (self.saved, self.kind) else {
            return End {
                file: None,
                is_cut,
                fault,
            };
        };
        let name = hub.with_agent(number, Agent::file_name);
        let name = name.unwrap_or_else(|| file_name("", None, number));
        match saved.finish(&name, kind, cut.as_ref(), is_cut) {
            Ok(path) => End {
                file: Some(path),
                is_cut,
                fault,
            },
            Err(error) => End {
                file: None,
                is_cut: true,
                fault: Some(format!("its file could not be finished: {error}")),
            },
        }
    }
}
