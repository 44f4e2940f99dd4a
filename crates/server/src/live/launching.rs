//! Programs that are recorded from their start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_wire::control::Request;
use hprof_wire::local::peer;

use super::link::{JvmId, ProcessLink};
use super::machine::{Pid, Refused, RefusedKind};
use super::modes::{self, Begin, Mode};
use super::recorder::Recorder;
use super::recording::Recording;
use super::stream::Expected;
use super::{ANSWER, CONNECTS, Live};

/// The pause between two questions to an agent that has just begun.
const PAUSE: Duration = Duration::from_millis(20);

/// A program that is about to start.
#[derive(Debug)]
pub struct Launching {
    expected: Expected,
    modes: Vec<Mode>,
    /// The agent's options for it.
    pub options: String,
}

/// The most other JVMs of a program whose agents have a reader.
const MAX_OTHERS: usize = 256;

impl Launching {
    /// Reads what the agents in other JVMs of the program write, and keeps nothing of it: an agent without a reader
    /// would make its program wait at its end. Ends with the process.
    pub fn ignore_others(self) {
        let ignore = move || {
            for _ in 0..MAX_OTHERS {
                let Ok(mut stream) = self.expected.next() else {
                    return;
                };
                let drain = move || std::io::copy(&mut stream, &mut std::io::sink());
                let builder = std::thread::Builder::new().name("live other".to_owned());
                if builder.spawn(drain).is_err() {
                    return;
                }
            }
        };
        // Without a thread the socket is gone, and the agents leave.
        let _ = std::thread::Builder::new()
            .name("live others".to_owned())
            .spawn(ignore);
    }
}

impl Live {
    /// Prepares the recording of a program that starts with the agent.
    ///
    /// # Errors
    /// If an option is not allowed, or there is no socket for the agent.
    pub fn prepare(&self, modes: &[Mode], options: &str) -> Result<Launching, Refused> {
        let expected = self.expect(None)?;
        let options = modes::agent_options(modes, options, expected.path(), Begin::Launched)
            .map_err(|why| Refused::new(RefusedKind::Refused, why))?;
        Ok(Launching {
            expected,
            modes: modes.to_vec(),
            options,
        })
    }

    /// The recording of the first JVM whose agent connects; none if none has within this time. Blocks.
    ///
    /// # Errors
    /// If its process cannot be found, or the socket fails.
    pub fn launched(
        &self,
        launching: &Launching,
        limit: Duration,
    ) -> Result<Option<Arc<Recording>>, Refused> {
        let failed = |error: std::io::Error| Refused::new(RefusedKind::Failed, error.to_string());
        let stream = match launching.expected.accept(limit) {
            Ok(stream) => stream,
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let pid = Pid(peer(stream.connection()).map_err(failed)?.pid);
        let facts = self.machine.jvm(pid)?;
        // Its control socket comes a moment later.
        let began = Instant::now();
        while self.machine.control(pid, &Request::Status, ANSWER).is_err()
            && !stream.has_ended()
            && began.elapsed() < CONNECTS
        {
            std::thread::sleep(PAUSE);
        }
        let id = JvmId::Process(pid);
        let recording = Arc::new(Recording::new(id, facts, &launching.modes));
        let link = ProcessLink {
            pid,
            machine: Arc::clone(&self.machine),
            stream,
        };
        let recorder =
            Recorder::new(&recording, Box::new(link), &self.events).with_calls(&launching.options);
        self.record(&recording, recorder)?;
        Ok(Some(recording))
    }
}
