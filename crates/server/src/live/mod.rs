//! Live JVMs: those of this machine, and recordings of them.
//!
//! A recording loads the agent with a Unix socket of this server as its output, so that nothing is
//! written to a disk. One thread for each recording has the agent write what is new and adds it to
//! [`recording::Recording`], from which views take profiles. When no client views it for half an
//! hour, and when the server ends, the agent is detached.

mod costs;
mod fresh;
mod histogram;
mod keeping;
mod launching;
mod link;
mod machine;
mod memory;
mod modes;
pub mod network;
mod recorder;
mod recording;
mod recovery;
mod stream;
mod tables;
mod threads;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_wire::control::{Reply, Request};
use parking_lot::Mutex;

pub use costs::{Bucket, Timeline};
pub use histogram::{ClassRow, class_histogram};
pub use launching::Launching;
pub use link::JvmId;
pub use machine::{JvmFacts, Machine, Pid, Refused, RefusedKind, Socket};
pub use memory::{MemoryFact, MemoryNow, MemoryRow};
pub use modes::{Mode, check_options, with_clock, with_times};
pub use network::{Ask, Finished, Network, Sender};
pub use recording::{Afterwards, Cost, End, MAX_TIMES, Recording, Status};
pub use threads::{Deadlock, LiveThread, ThreadDump, WaitsFor, thread_dump};

use crate::events::Events;
use crate::problem::Problem;
use crate::store::PartId;
use crate::views::page::TableQuery;
use crate::views::table::Table;
use fresh::Fresh;
use link::ProcessLink;
use modes::Begin;
use recorder::Recorder;
use stream::Expected;

/// Recordings at the same time.
const MAX_RECORDINGS: usize = 8;
/// Recordings that are kept after their end.
const MAX_ENDED: usize = 8;
/// How long one is kept after its end.
const KEEPS: Duration = Duration::from_secs(60 * 60);
/// How long a list of JVMs is not looked for again: several pages ask every few seconds.
const LISTED: Duration = Duration::from_secs(3);
/// How long the agent may take to connect, once it is loaded.
const CONNECTS: Duration = Duration::from_secs(10);
/// How long a request to the agent may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a recording may take to end when that is asked for.
const ENDS: Duration = Duration::from_secs(25);

#[derive(Debug, Default)]
struct State {
    recordings: BTreeMap<JvmId, Arc<Recording>>,
    /// JVMs to which the agent is on its way.
    attaching: BTreeSet<JvmId>,
    closing: bool,
}

/// The JVMs of this machine and their recordings.
#[derive(Debug)]
pub struct Live {
    machine: Arc<dyn Machine>,
    network: Option<Arc<dyn Network>>,
    folder: PathBuf,
    events: Arc<Events>,
    state: Mutex<State>,
    listed: Mutex<Option<(Instant, Vec<JvmFacts>)>>,
    histograms: Fresh<Vec<ClassRow>>,
    threads: Fresh<ThreadDump>,
    memory: Fresh<MemoryNow>,
}

impl Live {
    /// Without recordings; sockets lie in `folder`.
    pub fn new(
        machine: Arc<dyn Machine>,
        network: Option<Arc<dyn Network>>,
        folder: &Path,
        events: Arc<Events>,
    ) -> Self {
        Self {
            machine,
            network,
            // JVMs have current folders of their own. It fails for an empty path only.
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            events,
            state: Mutex::default(),
            listed: Mutex::default(),
            histograms: Fresh::default(),
            threads: Fresh::default(),
            memory: Fresh::default(),
        }
    }

    /// The machine that the JVMs run on.
    pub fn machine(&self) -> &dyn Machine {
        &*self.machine
    }

    /// All JVMs of this machine, and the recordings of those that have ended. Blocks.
    ///
    /// # Errors
    /// If processes cannot be listed.
    pub fn jvms(&self) -> Result<Vec<JvmFacts>, Refused> {
        let mut listed = self.listed.lock();
        let fresh = listed.as_ref().filter(|known| known.0.elapsed() < LISTED);
        let mut jvms = match fresh {
            Some((_, jvms)) => jvms.clone(),
            None => {
                let jvms = self.machine.jvms()?;
                *listed = Some((Instant::now(), jvms.clone()));
                jvms
            }
        };
        drop(listed);
        let mut state = self.state.lock();
        forget(&mut state);
        let processes = state.recordings.values();
        let processes = processes.filter(|it| matches!(it.id, JvmId::Process(_)));
        let gone = processes.map(|it| &it.facts);
        let gone = gone.filter(|facts| !jvms.iter().any(|jvm| jvm.pid == facts.pid));
        let gone: Vec<JvmFacts> = gone.map(ended).collect();
        jvms.extend(gone);
        Ok(jvms)
    }

    /// One JVM; the one that was recorded if it has ended. Blocks.
    ///
    /// # Errors
    /// If there is none.
    pub fn jvm(&self, pid: Pid) -> Result<JvmFacts, Refused> {
        let found = self.machine.jvm(pid);
        match (found, self.recording(JvmId::Process(pid))) {
            (Ok(jvm), _) => Ok(jvm),
            (Err(_), Some(recording)) => Ok(ended(&recording.facts)),
            (Err(refused), None) => Err(refused),
        }
    }

    /// The folder for sockets, and for files that JVMs write.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The objects of a JVM by class, now; of live objects only after a collection. Blocks.
    ///
    /// # Errors
    /// If the JVM refuses, or the query makes no sense.
    pub fn histogram(&self, pid: Pid, live: bool, query: &TableQuery) -> Result<Table, Problem> {
        let jvm = self.askable(pid)?;
        let ask = || Ok(class_histogram(&self.machine.histogram(pid, live)?));
        let (rows, age) = self.histograms.get(&jvm, live, ask)?;
        let table = histogram::table(&rows, query)?;
        let note = (age > Duration::from_secs(1)).then(|| {
            format!(
                "counted {} s ago, as counting stops the program",
                age.as_secs()
            )
        });
        Ok(table.with_note(note))
    }

    /// The threads of a JVM, its locks and deadlocks, now. Blocks.
    ///
    /// # Errors
    /// If the JVM refuses.
    pub fn threads(&self, pid: Pid) -> Result<Arc<ThreadDump>, Refused> {
        let jvm = self.askable(pid)?;
        let ask = || Ok(thread_dump(&self.machine.thread_dump(pid)?));
        Ok(self.threads.get(&jvm, false, ask)?.0)
    }

    /// The memory of a JVM's process, now. Blocks.
    ///
    /// # Errors
    /// If the process may not be looked at.
    pub fn memory(&self, pid: Pid) -> Result<Arc<MemoryNow>, Refused> {
        let jvm = self.askable(pid)?;
        Ok(self.memory.get(&jvm, false, || self.machine.memory(pid))?.0)
    }

    /// A JVM of which something can be asked.
    fn askable(&self, pid: Pid) -> Result<JvmFacts, Refused> {
        let jvm = self.machine.jvm(pid)?;
        match &jvm.refusal {
            None => Ok(jvm),
            Some(why) => Err(Refused::new(RefusedKind::Forbidden, why.clone())),
        }
    }

    /// The recording of a JVM, ended ones too.
    pub fn recording(&self, id: JvmId) -> Option<Arc<Recording>> {
        self.state.lock().recordings.get(&id).cloned()
    }

    /// Records a JVM: loads the agent, or adds modes to what is recorded. Blocks.
    ///
    /// # Errors
    /// If the JVM or the agent refuses, or there are too many recordings.
    pub fn attach(&self, id: JvmId, modes: &[Mode], extra: &str) -> Result<(), Refused> {
        let pid = match id {
            JvmId::Process(pid) => pid,
            JvmId::Sender(number) => return self.watch(number, modes, extra),
        };
        let refused = |text: String| Refused::new(RefusedKind::Refused, text);
        let facts = self.machine.jvm(pid)?;
        if let Some(why) = &facts.refusal {
            return Err(Refused::new(RefusedKind::Forbidden, why.clone()));
        }
        if let Some(recording) = self.recording(id)
            && recording.is_live()
            && recording.facts.began == facts.began
        {
            return self.start(&recording, modes);
        }
        let _attaching = self.reserve(id)?;
        if facts.has_agent
            && let Ok(reply) = self.machine.control(pid, &Request::Status, ANSWER)
            && reply.get("state").is_some_and(|state| state != "idle")
        {
            let output = reply.get("output").unwrap_or("an output of its own");
            return Err(refused(format!(
                "an agent is at work in process {pid} for somebody else, and writes to {output}; \
                 `hprof-rs control {pid} detach` ends it"
            )));
        }
        let expected = self.expect(Some(&facts))?;
        let options = modes::agent_options(modes, extra, expected.path(), Begin::Attached)
            .map_err(refused)?;
        self.machine.load_agent(pid, &options)?;
        let stream = expected.accept(CONNECTS).map_err(|error| {
            // It is loaded, and no recorder would ever read its counts.
            let _ = self.machine.control(pid, &Request::Detach, ANSWER);
            refused(format!(
                "the agent in process {pid} has not connected to the server: {error}"
            ))
        })?;
        let recording = Recording::new(id, facts, modes).with_options(extra);
        let recording = Arc::new(recording);
        let link = ProcessLink {
            pid,
            machine: Arc::clone(&self.machine),
            stream,
        };
        let recorder = Recorder::new(&recording, Box::new(link), &self.events).with_calls(&options);
        let recorded = self.record(&recording, recorder);
        if recorded.is_err() {
            let _ = self.machine.control(pid, &Request::Detach, ANSWER);
        }
        recorded
    }

    /// A socket for the agent in this JVM, or in one that does not run yet.
    fn expect(&self, jvm: Option<&JvmFacts>) -> Result<Expected, Refused> {
        let failed = |error: std::io::Error| {
            Refused::new(
                RefusedKind::Failed,
                format!("the server has no socket for the agent: {error}"),
            )
        };
        if let Some(jvm) = jvm.filter(|jvm| jvm.apart.is_some()) {
            return Expected::at(self.machine.socket(jvm.pid)?).map_err(failed);
        }
        std::fs::create_dir_all(&self.folder).map_err(failed)?;
        let name = PartId::new().map_err(failed)?;
        Expected::new(&self.folder.join(&name.as_str()[..12])).map_err(failed)
    }

    /// Starts the thread of a recording.
    fn record(&self, recording: &Arc<Recording>, recorder: Recorder) -> Result<(), Refused> {
        let builder = std::thread::Builder::new().name(format!("live {}", recording.id));
        if let Err(error) = builder.spawn(move || recorder.run()) {
            return Err(Refused::new(
                RefusedKind::Failed,
                format!("the server has no thread for the recording: {error}"),
            ));
        }
        *self.listed.lock() = None;
        let mut state = self.state.lock();
        state.recordings.insert(recording.id, Arc::clone(recording));
        if state.closing {
            recording.ask_end();
        }
        Ok(())
    }

    /// Takes a place among the recordings.
    fn reserve(&self, id: JvmId) -> Result<Reserved<'_>, Refused> {
        let mut state = self.state.lock();
        let live = state.recordings.values().filter(|it| it.is_live()).count();
        let why = if state.closing {
            "the server stops".to_owned()
        } else if state.attaching.contains(&id) {
            format!("the agent is on its way into JVM {id}; ask again")
        } else if live + state.attaching.len() >= MAX_RECORDINGS {
            format!("the server records {MAX_RECORDINGS} JVMs at once; detach one")
        } else {
            state.attaching.insert(id);
            return Ok(Reserved { live: self, id });
        };
        Err(Refused::new(RefusedKind::Refused, why))
    }

    /// Records in these modes too, or again. The other clock begins the recording anew. Blocks.
    ///
    /// # Errors
    /// If the agent refuses.
    pub fn start(&self, recording: &Recording, modes: &[Mode]) -> Result<(), Refused> {
        let id = recording.id;
        let started = recording.started();
        let is_other = |mode: &&Mode| mode.is_clock() && !started.contains(mode);
        if modes.iter().any(|mode| is_other(&mode)) && started.iter().any(|it| it.is_clock()) {
            return self.begin_anew(recording, modes);
        }
        for mode in modes.iter().filter(|mode| !started.contains(mode)) {
            let request = Request::Start(mode.options().to_owned());
            self.request(id, &request)?;
            recording.add_modes(&[*mode]);
        }
        let active = recording.modes();
        if modes.iter().all(|mode| active.contains(mode)) {
            return Ok(());
        }
        // The agent resumes all modes at once, so those that are to stay stopped are stopped again.
        self.request(id, &Request::Resume(Vec::new()))?;
        recording.add_modes(modes);
        let active = recording.modes();
        let stopped = started.iter().filter(|mode| !active.contains(mode));
        let stopped: Vec<_> = stopped.map(|mode| mode.of_agent()).collect();
        match stopped.is_empty() {
            true => Ok(()),
            false => self.request(id, &Request::Stop(stopped)),
        }
    }

    /// Ends a recording, and begins another one in these modes and those that record now: a run of the agent has one
    /// clock.
    fn begin_anew(&self, recording: &Recording, modes: &[Mode]) -> Result<(), Refused> {
        if let JvmId::Sender(_) = recording.id {
            return Err(Refused::new(
                RefusedKind::Refused,
                "the clock of this agent comes from its program's command line: cpu=samples or cpu=wall",
            ));
        }
        let mut all = recording.modes();
        all.retain(|mode| !mode.is_clock());
        all.extend(modes);
        self.detach(recording)?;
        self.attach(recording.id, &all, &recording.options)
    }

    /// Records no more in these modes. Blocks.
    ///
    /// # Errors
    /// If the agent refuses: locks are recorded to the end.
    pub fn stop(&self, recording: &Recording, modes: &[Mode]) -> Result<(), Refused> {
        let wanted = modes.iter().map(|mode| mode.of_agent()).collect();
        self.request(recording.id, &Request::Stop(wanted))?;
        recording.remove_modes(modes);
        Ok(())
    }

    fn request(&self, id: JvmId, request: &Request) -> Result<(), Refused> {
        let reply = match (id, &self.network) {
            (JvmId::Process(pid), _) => self.machine.control(pid, request, ANSWER)?,
            (JvmId::Sender(number), Some(network)) => {
                network.ask(number, &Ask::Request(request.clone()), ANSWER)?
            }
            (JvmId::Sender(_), None) => Reply::error("there are no agents"),
        };
        match reply.error {
            None => Ok(()),
            Some(error) => Err(Refused::new(RefusedKind::Refused, error)),
        }
    }

    /// Ends a recording; what was recorded stays for an hour. Blocks.
    ///
    /// # Errors
    /// If the agent does not end in time.
    pub fn detach(&self, recording: &Recording) -> Result<(), Refused> {
        recording.ask_end();
        match recording.wait_end(ENDS) {
            true => {
                *self.listed.lock() = None;
                Ok(())
            }
            false => Err(Refused::new(
                RefusedKind::Late,
                "the agent takes long to end; look again in a while",
            )),
        }
    }

    /// Ends all recordings, within a time. Blocks.
    pub fn close(&self, limit: Duration) {
        let recordings: Vec<Arc<Recording>> = {
            let mut state = self.state.lock();
            state.closing = true;
            state.recordings.values().cloned().collect()
        };
        recordings.iter().for_each(|recording| recording.ask_end());
        let deadline = Instant::now() + limit;
        for recording in recordings {
            let left = deadline.saturating_duration_since(Instant::now());
            if !recording.wait_end(left) {
                tracing::warn!(jvm = %recording.id, "the agent did not end in time; `hprof-rs control` ends it");
            }
        }
    }
}

/// A place among the recordings, while the agent is on its way.
struct Reserved<'a> {
    live: &'a Live,
    id: JvmId,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.live.state.lock().attaching.remove(&self.id);
    }
}

/// A JVM that was recorded and is gone.
fn ended(facts: &JvmFacts) -> JvmFacts {
    JvmFacts {
        refusal: Some("the program has ended".to_owned()),
        has_agent: false,
        uptime: None,
        ..facts.clone()
    }
}

/// Forgets recordings that have ended long ago, or are too many.
fn forget(state: &mut State) {
    let mut ended: Vec<(Duration, JvmId)> = state
        .recordings
        .iter()
        .filter_map(|(&id, recording)| Some((recording.ended_for()?, id)))
        .collect();
    ended.sort_unstable();
    for (at, (age, id)) in ended.into_iter().enumerate() {
        if at >= MAX_ENDED || age > KEEPS {
            state.recordings.remove(&id);
        }
    }
}
