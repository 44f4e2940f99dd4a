//! Live JVMs: lists, and what begins and ends a recording.

mod now;
mod views;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{InBody, InPath};
use crate::live::{
    Cost, JvmFacts, JvmId, Live, Mode, Pid, Recording, Refused, Sender, Status, check_options,
    with_clock, with_times,
};
use crate::problem::Problem;
use crate::state::AppState;
use crate::time::Millis;

/// Where a JVM is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Place {
    /// A process of the server's machine.
    Local,
    /// An agent that streams its profile to the server.
    Network,
}

/// A JVM.
#[derive(Debug, Serialize, ToSchema)]
struct Jvm {
    /// The value of the parameter `id`.
    id: String,
    /// The process, as numbered where it runs; 0 if its agent has not reported it.
    pid: u32,
    /// The main class or archive.
    name: String,
    /// The version of its JDK.
    version: Option<String>,
    /// The user it runs as; empty when not known.
    user: String,
    /// The address from which its agent streams.
    host: Option<String>,
    /// Seconds since its start.
    uptime: Option<u64>,
    /// True if something can be asked of it.
    attachable: bool,
    /// Why nothing can be asked of it.
    reason: Option<String>,
    /// True if our agent is loaded.
    agent: bool,
    /// True if the server records it.
    live: bool,
    /// True if it has a file system or process ids of its own.
    container: bool,
    place: Place,
}

/// The actions that a JVM allows now.
#[derive(Debug, Default, Serialize, ToSchema)]
struct Can {
    /// Write a heap dump to the server.
    dump: bool,
    /// Count its objects by class.
    histogram: bool,
    /// Show its threads.
    threads: bool,
    /// Record it.
    record: bool,
}

/// A JVM with its recording.
#[derive(Debug, Serialize, ToSchema)]
struct JvmDetail {
    #[serde(flatten)]
    jvm: Jvm,
    /// Modes that can be recorded.
    offers: Vec<Mode>,
    /// Modes that record now.
    modes: Vec<Mode>,
    /// The clock of the recording, stopped or not: `cpu` or `wall`.
    clock: Option<Mode>,
    /// When the recording began.
    since: Option<Millis>,
    /// Grows with each change of what is recorded; 0 before there is anything to show.
    revision: u64,
    /// Samples so far, of CPU time or of the wall clock.
    samples: u64,
    /// The agent's cost for the program.
    cost: Option<Cost>,
    can: Can,
    /// Why the recording ended, if it has.
    ended: Option<String>,
    /// Remarks about the recording, as sentences.
    notes: Vec<String>,
}

/// A list of JVMs.
#[derive(Debug, Serialize, ToSchema)]
struct Jvms {
    items: Vec<Jvm>,
}

fn live(state: &AppState) -> Result<&Live, Problem> {
    state.live().ok_or_else(no_jvms)
}

fn no_jvms() -> Problem {
    Problem::not_found("the server was started with --no-jvms")
}

/// The JVM that a path names.
fn jvm_id(id: &str) -> Result<JvmId, Problem> {
    let missing = |()| Problem::not_found(format!("there is no JVM {id}; GET /jvms lists them"));
    id.parse().map_err(missing)
}

/// The process that a path names; the agents of the network can be asked less.
fn pid(id: &str) -> Result<Pid, Problem> {
    match jvm_id(id)? {
        JvmId::Process(pid) => Ok(pid),
        JvmId::Sender(_) => Err(Problem::conflict(
            "this is asked through the JVM's own attach mechanism, which the network does not reach; \
             run `hprof-rs` on its machine",
        )),
    }
}

impl Jvm {
    fn of(facts: JvmFacts, live: &Live) -> Self {
        let is_live = live
            .recording(JvmId::Process(facts.pid))
            .is_some_and(|it| it.facts.began == facts.began && it.is_live());
        Self {
            id: facts.pid.to_string(),
            pid: facts.pid.0,
            attachable: facts.refusal.is_none(),
            reason: facts.refusal.or(facts.apart),
            name: facts.name,
            version: facts.version,
            user: facts.user,
            host: None,
            uptime: facts.uptime,
            agent: facts.has_agent,
            live: is_live,
            container: facts.in_container,
            place: Place::Local,
        }
    }

    fn of_sender(sender: Sender, recording: Option<&Recording>) -> Self {
        let reason = sender.refusal();
        Self {
            id: JvmId::Sender(sender.number).to_string(),
            pid: sender.pid.unwrap_or(0),
            name: sender.name,
            version: None,
            user: String::new(),
            host: Some(sender.host),
            uptime: Some(sender.seconds),
            attachable: reason.is_none(),
            reason,
            agent: true,
            live: recording.is_some_and(Recording::is_live),
            container: false,
            place: Place::Network,
        }
    }
}

/// The agents that stream to this server.
fn senders(state: &AppState) -> Vec<Sender> {
    let network = state.config().network.as_ref();
    network.map_or_else(Vec::new, |network| network.senders())
}

impl JvmDetail {
    fn of(live: &Live, id: JvmId) -> Result<Self, Problem> {
        let recording = live.recording(id);
        let mut offers = Mode::ALL.to_vec();
        let (jvm, can, recording) = match id {
            JvmId::Process(pid) => {
                let facts = live.jvm(pid)?;
                let is_open = facts.refusal.is_none();
                let is_near = is_open && facts.apart.is_none();
                let can = Can {
                    dump: is_near,
                    histogram: is_open,
                    threads: is_open,
                    record: is_open,
                };
                let recording = recording.filter(|it| it.facts.began == facts.began);
                (Jvm::of(facts, live), can, recording)
            }
            JvmId::Sender(number) => match (live.sender(number), &recording) {
                (Ok(sender), _) => {
                    offers = sender.modes();
                    let can = Can {
                        dump: sender.is_ours && sender.is_binary,
                        histogram: false,
                        threads: false,
                        record: sender.refusal().is_none(),
                    };
                    (Jvm::of_sender(sender, recording.as_deref()), can, recording)
                }
                (Err(refused), None) => return Err(refused.into()),
                // A recording that was watched stays for an hour.
                (Err(refused), Some(watched)) => {
                    let mut jvm = Jvm::of(watched.facts.clone(), live);
                    jvm.id = id.to_string();
                    jvm.place = Place::Network;
                    (jvm.attachable, jvm.reason) = (false, Some(refused.text));
                    (jvm, Can::default(), recording)
                }
            },
        };
        let status = recording.map(|it| it.status());
        Ok(Self::with(jvm, can, offers, status.as_ref()))
    }

    /// An agent of a server that leaves JVMs alone.
    fn of_sender(sender: Sender) -> Self {
        let jvm = Jvm::of_sender(sender, None);
        Self::with(jvm, Can::default(), Vec::new(), None)
    }

    fn with(jvm: Jvm, can: Can, offers: Vec<Mode>, status: Option<&Status>) -> Self {
        Self {
            jvm,
            offers,
            modes: status.map_or_else(Vec::new, |it| it.modes.clone()),
            clock: status.and_then(|it| it.clock),
            since: status.map(|it| it.since),
            revision: status.map_or(0, |it| it.revision),
            samples: status.map_or(0, |it| it.samples),
            cost: status.and_then(|it| it.cost.clone()),
            can,
            ended: status.and_then(|it| it.ended.as_ref().map(ToString::to_string)),
            notes: status.map_or_else(Vec::new, |it| it.notes.clone()),
        }
    }
}

/// Lists the JVMs of the server's machine.
#[utoipa::path(get, path = "/jvms", tag = "jvms",
    responses((status = 200, body = Jvms), (status = 404, body = Problem)))]
async fn list(State(state): State<AppState>) -> Result<Json<Jvms>, Problem> {
    let found = state.blocking(|state| {
        let mut items: Vec<Jvm> = match state.live() {
            Some(live) => {
                let jvms = live.jvms()?.into_iter();
                jvms.map(|facts| Jvm::of(facts, live)).collect()
            }
            None if state.config().network.is_some() => Vec::new(),
            None => return Err(no_jvms()),
        };
        items.extend(senders(state).into_iter().map(|sender| {
            let id = JvmId::Sender(sender.number);
            let recording = state.live().and_then(|live| live.recording(id));
            Jvm::of_sender(sender, recording.as_deref())
        }));
        Ok(Jvms { items })
    });
    found.await.map(Json)
}

/// Shows a JVM with its recording.
#[utoipa::path(get, path = "/jvms/{id}", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")),
    responses((status = 200, body = JvmDetail), (status = 404, body = Problem)))]
async fn show(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Json<JvmDetail>, Problem> {
    let found = state.blocking(move |state| {
        let id = jvm_id(&id)?;
        if let (JvmId::Sender(number), None) = (id, state.live()) {
            let sender = senders(state).into_iter().find(|it| it.number == number);
            return sender.map(JvmDetail::of_sender).ok_or_else(no_jvms);
        }
        let live = live(state)?;
        if let Some(recording) = live.recording(id) {
            recording.touch();
        }
        JvmDetail::of(live, id)
    });
    found.await.map(Json)
}

/// The modes and options of a recording.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AttachBody {
    /// `cpu` or `wall`, `alloc`, `lock`.
    modes: Vec<String>,
    /// More options of the agent: interval, depth, thread, lineno, engine, signal, heapinterval,
    /// live, lockthreshold.
    #[serde(default)]
    options: Option<String>,
}

/// Loads the agent into a JVM and records it; or records in more modes.
#[utoipa::path(post, path = "/jvms/{id}/attach", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")), request_body = AttachBody,
    responses((status = 200, body = JvmDetail), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 409, body = Problem)))]
async fn attach(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InBody(body): InBody<AttachBody>,
) -> Result<Json<JvmDetail>, Problem> {
    let modes = Mode::of_words(&body.modes).map_err(Problem::bad_request)?;
    let options = body.options.unwrap_or_default();
    check_options(&options, &modes).map_err(Problem::bad_request)?;
    let (modes, options) = with_clock(modes, &options);
    let done = state.blocking(move |state| {
        let (live, id) = (live(state)?, jvm_id(&id)?);
        let options = match id {
            // Its options are those of its command line.
            JvmId::Sender(_) => options,
            _ => with_times(&modes, options),
        };
        live.attach(id, &modes, &options)?;
        JvmDetail::of(live, id)
    });
    done.await.map(Json)
}

/// Modes of a recording.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ModesBody {
    /// `cpu` or `wall`, `alloc`, `lock`.
    modes: Vec<String>,
}

/// Records in these modes again. A change between `cpu` and `wall` begins the recording anew: keep it before.
#[utoipa::path(post, path = "/jvms/{id}/start", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")), request_body = ModesBody,
    responses((status = 200, body = JvmDetail), (status = 404, body = Problem),
        (status = 409, body = Problem)))]
async fn start(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InBody(body): InBody<ModesBody>,
) -> Result<Json<JvmDetail>, Problem> {
    change(state, id, body, |live, recording, modes| {
        live.start(recording, modes)
    })
    .await
}

/// Records no more in these modes; what was recorded stays.
#[utoipa::path(post, path = "/jvms/{id}/stop", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")), request_body = ModesBody,
    responses((status = 200, body = JvmDetail), (status = 404, body = Problem),
        (status = 409, body = Problem)))]
async fn stop(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InBody(body): InBody<ModesBody>,
) -> Result<Json<JvmDetail>, Problem> {
    change(state, id, body, |live, recording, modes| {
        live.stop(recording, modes)
    })
    .await
}

async fn change(
    state: AppState,
    id: String,
    body: ModesBody,
    change: fn(&Live, &Recording, &[Mode]) -> Result<(), Refused>,
) -> Result<Json<JvmDetail>, Problem> {
    let modes = Mode::of_words(&body.modes).map_err(Problem::bad_request)?;
    let done = state.blocking(move |state| {
        let (live, id) = (live(state)?, jvm_id(&id)?);
        let recording = recorded(live, id)?;
        if !recording.is_live() {
            return Err(Problem::conflict("the recording has ended; attach again"));
        }
        change(live, &recording, &modes)?;
        JvmDetail::of(live, id)
    });
    done.await.map(Json)
}

/// Ends a recording; the agent leaves the JVM. The recorded data stay for an hour.
#[utoipa::path(post, path = "/jvms/{id}/detach", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")),
    responses((status = 200, body = JvmDetail), (status = 404, body = Problem),
        (status = 409, body = Problem)))]
async fn detach(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Json<JvmDetail>, Problem> {
    let done = state.blocking(move |state| {
        let (live, id) = (live(state)?, jvm_id(&id)?);
        let recording = recorded(live, id)?;
        live.detach(&recording)?;
        JvmDetail::of(live, id)
    });
    done.await.map(Json)
}

/// The recording of a JVM.
fn recorded(live: &Live, id: JvmId) -> Result<Arc<Recording>, Problem> {
    let recording = live.recording(id).ok_or_else(|| {
        Problem::not_ready(format!(
            "JVM {id} is not recorded; POST /jvms/{id}/attach begins"
        ))
    })?;
    recording.touch();
    Ok(recording)
}

/// The routes below `/api/v1`.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(attach))
        .routes(routes!(start))
        .routes(routes!(stop))
        .routes(routes!(detach))
        .merge(views::routes())
        .merge(now::routes())
}
