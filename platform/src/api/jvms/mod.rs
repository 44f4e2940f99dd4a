//! Live JVMs: lists, and what begins and ends a recording.

mod now;
mod views;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{InBody, InPath};
use crate::live::{
    Cost, JvmFacts, Live, Mode, Pid, Recording, Refused, RefusedKind, Sender, Status, check_options,
};
use crate::problem::Problem;
use crate::state::AppState;
use crate::time::Millis;

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused.kind {
            RefusedKind::Missing => Self::not_found(refused.text),
            RefusedKind::Forbidden => Self::new(
                StatusCode::FORBIDDEN,
                "jvm-refused",
                "Not for this server",
                refused.text,
            ),
            RefusedKind::Refused => Self::conflict(refused.text),
            RefusedKind::Late => Self::new(
                StatusCode::GATEWAY_TIMEOUT,
                "late",
                "No answer in time",
                refused.text,
            ),
            RefusedKind::Failed => Self::internal(refused.text),
        }
    }
}

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
    /// The user it runs as.
    user: String,
    /// Seconds since its start.
    uptime: Option<u64>,
    /// Whether something can be asked of it.
    attachable: bool,
    /// Why nothing can be asked of it.
    reason: Option<String>,
    /// Whether our agent is loaded.
    agent: bool,
    /// Whether the server records it.
    live: bool,
    /// Whether it has a file system or process ids of its own.
    container: bool,
    place: Place,
}

/// The actions that a JVM allows now.
#[derive(Debug, Serialize, ToSchema)]
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
    /// Modes that record now.
    modes: Vec<Mode>,
    /// When the recording began.
    since: Option<Millis>,
    /// CPU samples so far.
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

/// The process that a path names.
fn pid(id: &str) -> Result<Pid, Problem> {
    let number = id.parse().ok().filter(|&number| number > 0);
    let missing = || Problem::not_found(format!("there is no JVM {id}; GET /jvms lists them"));
    number.map(Pid).ok_or_else(missing)
}

impl Jvm {
    fn of(facts: JvmFacts, live: &Live) -> Self {
        let is_live = live
            .recording(facts.pid)
            .is_some_and(|it| it.facts.began == facts.began && it.is_live());
        Self {
            id: facts.pid.to_string(),
            pid: facts.pid.0,
            attachable: facts.refusal.is_none(),
            reason: facts.refusal.or(facts.apart),
            name: facts.name,
            version: facts.version,
            user: facts.user,
            uptime: facts.uptime,
            agent: facts.has_agent,
            live: is_live,
            container: facts.in_container,
            place: Place::Local,
        }
    }

    fn of_sender(sender: Sender) -> Self {
        let Sender {
            number,
            pid,
            name,
            host,
            seconds,
        } = sender;
        Self {
            id: format!("n{number}"),
            pid: pid.unwrap_or(0),
            name,
            version: None,
            user: String::new(),
            uptime: Some(seconds),
            attachable: false,
            reason: Some(format!(
                "it streams its profile from {host}; the profile appears among the dumps when the \
                 stream ends"
            )),
            agent: true,
            live: false,
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
    fn of(live: &Live, pid: Pid) -> Result<Self, Problem> {
        let facts = live.jvm(pid)?;
        let recording = live.recording(pid);
        let recording = recording.filter(|it| it.facts.began == facts.began);
        let status: Option<Status> = recording.map(|it| it.status());
        let is_open = facts.refusal.is_none();
        let is_near = is_open && facts.apart.is_none();
        let status = status.as_ref();
        Ok(Self {
            modes: status.map_or_else(Vec::new, |it| it.modes.clone()),
            since: status.map(|it| it.since),
            samples: status.map_or(0, |it| it.samples),
            cost: status.and_then(|it| it.cost.clone()),
            ended: status.and_then(|it| it.ended.clone()),
            notes: status.map_or_else(Vec::new, |it| it.notes.clone()),
            can: Can {
                dump: is_near,
                histogram: is_open,
                threads: is_open,
                record: is_near,
            },
            jvm: Jvm::of(facts, live),
        })
    }

    fn of_sender(sender: Sender) -> Self {
        Self {
            jvm: Jvm::of_sender(sender),
            modes: Vec::new(),
            since: None,
            samples: 0,
            cost: None,
            can: Can {
                dump: false,
                histogram: false,
                threads: false,
                record: false,
            },
            ended: None,
            notes: Vec::new(),
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
        items.extend(senders(state).into_iter().map(Jvm::of_sender));
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
        let sender = senders(state)
            .into_iter()
            .find(|it| id == format!("n{}", it.number));
        if let Some(sender) = sender {
            return Ok(JvmDetail::of_sender(sender));
        }
        let (live, pid) = (live(state)?, pid(&id)?);
        if let Some(recording) = live.recording(pid) {
            recording.touch();
        }
        JvmDetail::of(live, pid)
    });
    found.await.map(Json)
}

/// The modes and options of a recording.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AttachBody {
    /// `cpu`, `alloc`, `lock`.
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
    check_options(&options).map_err(Problem::bad_request)?;
    let done = state.blocking(move |state| {
        let (live, pid) = (live(state)?, pid(&id)?);
        live.attach(pid, &modes, &options)?;
        JvmDetail::of(live, pid)
    });
    done.await.map(Json)
}

/// Modes of a recording.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ModesBody {
    /// `cpu`, `alloc`, `lock`.
    modes: Vec<String>,
}

/// Records in these modes again.
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
        let (live, pid) = (live(state)?, pid(&id)?);
        let recording = recorded(live, pid)?;
        if !recording.is_live() {
            return Err(Problem::conflict("the recording has ended; attach again"));
        }
        change(live, &recording, &modes)?;
        JvmDetail::of(live, pid)
    });
    done.await.map(Json)
}

/// Ends a recording; the agent leaves the JVM. What was recorded stays for an hour.
#[utoipa::path(post, path = "/jvms/{id}/detach", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")),
    responses((status = 200, body = JvmDetail), (status = 404, body = Problem),
        (status = 409, body = Problem)))]
async fn detach(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Json<JvmDetail>, Problem> {
    let done = state.blocking(move |state| {
        let (live, pid) = (live(state)?, pid(&id)?);
        let recording = recorded(live, pid)?;
        live.detach(&recording)?;
        JvmDetail::of(live, pid)
    });
    done.await.map(Json)
}

/// The recording of a JVM.
fn recorded(live: &Live, pid: Pid) -> Result<Arc<Recording>, Problem> {
    let recording = live.recording(pid).ok_or_else(|| {
        Problem::not_ready(format!(
            "JVM {pid} is not recorded; POST /jvms/{pid}/attach begins"
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
