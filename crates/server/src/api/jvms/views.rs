//! The views of what is recorded: those of finished profiles, with the same queries and answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{jvm_id, live, recorded};
use crate::api::extract::{InPath, InQuery};
use crate::api::views::answer::respond;
use crate::live::{Recording, Timeline};
use crate::problem::Problem;
use crate::state::AppState;
use crate::views::ViewError;
use crate::views::page::TableQuery;
use crate::views::profile::{
    self, Flame, FlameQuery, ProfileAbout, ProfileFile, ProfileQuery, TreeQuery,
};
use crate::views::table::Table;

/// Which part of a recording is wanted.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct LastQuery {
    /// The last N seconds only.
    last: Option<u64>,
}

/// How long a view waits for the first data of a recording that has just begun.
const FIRST: Duration = Duration::from_secs(5);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(100);

/// The recording of a JVM, with something to show as soon as the agent has sent it. Neither a thread nor a place among
/// views is taken meanwhile.
async fn begun(state: &AppState, id: String) -> Result<Arc<Recording>, Problem> {
    let deadline = Instant::now() + FIRST;
    loop {
        let id = id.clone();
        let found = state.blocking(move |state| {
            let recording = recorded(live(state)?, jvm_id(&id)?)?;
            let is_empty = recording.is_empty();
            Ok((recording, is_empty))
        });
        let (recording, is_empty) = found.await?;
        if !is_empty || Instant::now() >= deadline {
            return Ok(recording);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Asks a view of a recording, on a thread for such work.
async fn ask<T: Send + 'static>(
    state: AppState,
    id: String,
    part: LastQuery,
    view: impl FnOnce(&ProfileFile) -> Result<T, ViewError> + Send + 'static,
) -> Result<T, Problem> {
    let recording = begun(&state, id).await?;
    let permit = state.views().permit().await?;
    let work = move |_: &AppState| {
        let _permit = permit;
        Ok(view(&*recording.profile(part.last)?)?)
    };
    state.blocking(work).await
}

/// The head of a live profile.
#[derive(Debug, Serialize, ToSchema)]
struct LiveAbout {
    #[serde(flatten)]
    about: ProfileAbout,
    /// Grows with each change.
    revision: u64,
    /// Seconds recorded so far.
    seconds: u64,
    /// Why the recording ended, if it has.
    ended: Option<String>,
}

/// The head of what is recorded.
#[utoipa::path(get, path = "/jvms/{id}/profile", tag = "jvms",
    params(("id" = String, Path, description = "The JVM"), LastQuery),
    responses((status = 200, body = LiveAbout), (status = 409, body = Problem)))]
async fn about(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InQuery(part): InQuery<LastQuery>,
) -> Result<Json<LiveAbout>, Problem> {
    let recording = begun(&state, id).await?;
    let found = state.blocking(move |_| {
        let status = recording.status();
        Ok(LiveAbout {
            about: recording.profile(part.last)?.about(),
            revision: status.revision,
            seconds: status.seconds,
            ended: status.ended.map(|why| why.to_string()),
        })
    });
    found.await.map(Json)
}

/// A flame graph of what is recorded.
#[utoipa::path(get, path = "/jvms/{id}/profile/flame", tag = "jvms",
    params(("id" = String, Path, description = "The JVM"), ProfileQuery, FlameQuery, LastQuery),
    responses((status = 200, body = Flame), (status = 409, body = Problem)))]
async fn flame(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InQuery(which): InQuery<ProfileQuery>,
    InQuery(cut): InQuery<FlameQuery>,
    InQuery(part): InQuery<LastQuery>,
) -> Result<Json<Flame>, Problem> {
    let view = move |file: &ProfileFile| profile::flame(file, &which, &cut);
    ask(state, id, part, view).await.map(Json)
}

/// Methods of what is recorded, with their costs.
#[utoipa::path(get, path = "/jvms/{id}/profile/methods", tag = "jvms",
    params(("id" = String, Path, description = "The JVM"), ProfileQuery, TableQuery, LastQuery),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv"))), (status = 409, body = Problem)))]
async fn methods(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InQuery(which): InQuery<ProfileQuery>,
    InQuery(query): InQuery<TableQuery>,
    InQuery(part): InQuery<LastQuery>,
) -> Result<Response, Problem> {
    let form = query.format;
    let view = move |file: &ProfileFile| profile::methods(file, &which, &query);
    respond(ask(state, id, part, view).await?, form)
}

/// The call tree of what is recorded, level by level.
#[utoipa::path(get, path = "/jvms/{id}/profile/tree", tag = "jvms",
    params(("id" = String, Path, description = "The JVM"), ProfileQuery, TreeQuery,
        TableQuery, LastQuery),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv"))), (status = 409, body = Problem)))]
async fn tree(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InQuery(which): InQuery<ProfileQuery>,
    InQuery(of): InQuery<TreeQuery>,
    InQuery(query): InQuery<TableQuery>,
    InQuery(part): InQuery<LastQuery>,
) -> Result<Response, Problem> {
    let form = query.format;
    let view = move |file: &ProfileFile| profile::tree(file, &which, &of, &query);
    respond(ask(state, id, part, view).await?, form)
}

/// How samples are spread over the time of a recording.
#[utoipa::path(get, path = "/jvms/{id}/timeline", tag = "jvms",
    params(("id" = String, Path, description = "The JVM")),
    responses((status = 200, body = Timeline), (status = 409, body = Problem)))]
async fn timeline(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Json<Timeline>, Problem> {
    let found = state.blocking(move |state| Ok(recorded(live(state)?, jvm_id(&id)?)?.timeline()));
    found.await.map(Json)
}

/// The routes below `/api/v1`.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(about))
        .routes(routes!(flame))
        .routes(routes!(methods))
        .routes(routes!(tree))
        .routes(routes!(timeline))
}
