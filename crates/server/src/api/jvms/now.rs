//! A JVM's heap and threads now, and files of them to keep.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::{Extension, Json};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{jvm_id, live, pid, recorded};
use crate::access::Caller;
use crate::api::extract::{InBody, InPath, InQuery};
use crate::api::views::answer::respond;
use crate::catalogue::{Dump, Role};
use crate::live::{JvmId, MemoryNow, ThreadDump};
use crate::problem::Problem;
use crate::state::AppState;
use crate::views::page::TableQuery;
use crate::views::table::Table;

/// Parameters of the histogram.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct HistogramQuery {
    /// Collects garbage, and counts what is alive; for admins.
    #[serde(default)]
    live: bool,
}

/// Objects of a JVM by class, now. The JVM stops its program while it counts, so an answer is shared
/// for a while.
#[utoipa::path(get, path = "/jvms/{id}/histogram", tag = "jvms",
    params(("id" = String, Path, description = "The JVM"), HistogramQuery, TableQuery),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv"))), (status = 403, body = Problem),
        (status = 404, body = Problem)))]
async fn histogram(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    InPath(id): InPath<String>,
    InQuery(of): InQuery<HistogramQuery>,
    InQuery(query): InQuery<TableQuery>,
) -> Result<Response, Problem> {
    if of.live && caller.role < Role::Admin {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "role",
            "The token does not allow it",
            "a collection of garbage stops the program: it needs the role admin",
        ));
    }
    let form = query.format;
    let found = state.blocking(move |state| {
        let table = live(state)?.histogram(pid(&id)?, of.live, &query)?;
        Ok(table)
    });
    respond(found.await?, form)
}

/// Threads, locks and deadlocks of a JVM, now.
#[utoipa::path(get, path = "/jvms/{id}/threads", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")),
    responses((status = 200, body = ThreadDump), (status = 404, body = Problem)))]
async fn threads(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Json<ThreadDump>, Problem> {
    let found = state.blocking(move |state| Ok(live(state)?.threads(pid(&id)?)?));
    let dump = found.await?;
    Ok(Json(ThreadDump::clone(&dump)))
}

/// The memory of a JVM's process, now: rows that add up to the resident set, likely causes, limits. Part of it the JVM
/// reports with its program stopped for a moment, so an answer is shared for a while.
#[utoipa::path(get, path = "/jvms/{id}/memory", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")),
    responses((status = 200, body = MemoryNow), (status = 403, body = Problem), (status = 404, body = Problem)))]
async fn memory(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Json<MemoryNow>, Problem> {
    let found = state.blocking(move |state| Ok(live(state)?.memory(pid(&id)?)?));
    let memory = found.await?;
    Ok(Json(MemoryNow::clone(&memory)))
}

/// Which objects a heap dump holds.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DumpBody {
    /// Only what is alive, after a collection; true without it.
    #[serde(default)]
    live: Option<bool>,
}

/// Has a JVM write a heap dump, and takes it among the dumps.
#[utoipa::path(post, path = "/jvms/{id}/dump", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")), request_body = DumpBody,
    responses((status = 201, body = Dump), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 409, body = Problem),
        (status = 507, body = Problem)))]
async fn dump(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InBody(body): InBody<DumpBody>,
) -> Result<(StatusCode, Json<Dump>), Problem> {
    let _body = state.uploads().body().await?;
    let done = state.blocking(move |state| {
        live(state)?;
        state.dump_jvm(jvm_id(&id)?, body.live.unwrap_or(true))
    });
    Ok((StatusCode::CREATED, Json(done.await?)))
}

/// The name of the kept profile.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct KeepBody {
    /// The name to show.
    name: Option<String>,
}

/// Takes what was recorded so far among the dumps, as a profile.
#[utoipa::path(post, path = "/jvms/{id}/keep", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")), request_body = KeepBody,
    responses((status = 201, body = Dump), (status = 409, body = Problem)))]
async fn keep(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InBody(body): InBody<KeepBody>,
) -> Result<(StatusCode, Json<Dump>), Problem> {
    let _body = state.uploads().body().await?;
    let done = state.blocking(move |state| {
        let (live, id) = (live(state)?, jvm_id(&id)?);
        if let (JvmId::Sender(number), None) = (id, live.recording(id)) {
            return state.take_stream(number, body.name.as_deref());
        }
        let recording = recorded(live, id)?;
        state.keep_recording(&recording, body.name.as_deref())
    });
    Ok((StatusCode::CREATED, Json(done.await?)))
}

/// The routes below `/api/v1`.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(histogram))
        .routes(routes!(threads))
        .routes(routes!(memory))
        .routes(routes!(dump))
        .routes(routes!(keep))
}
