//! The routes of the views of profiles, `/dumps/{id}/profile...`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{Params, dump_id, respond};
use crate::api::description::Octets;
use crate::api::files;
use crate::catalogue::DumpKind;
use crate::ids::DumpId;
use crate::problem::Problem;
use crate::state::{Analysis, AppState};
use crate::views::ViewError;
use crate::views::page::TableQuery;
use crate::views::profile::{self as views, FlameQuery, ProfileFile, ProfileQuery, TreeQuery};
use crate::views::table::Table;

/// The analysis of a profile. Blocks.
fn profile_of(state: &AppState, id: &DumpId) -> Result<Analysis, Problem> {
    let analysis = state.analysis(id)?;
    match analysis.kind {
        DumpKind::Profile | DumpKind::Unknown => Ok(analysis),
        DumpKind::Heap => Err(Problem::conflict(format!(
            "{id} is a heap dump; its views begin with /dumps/{id}/overview"
        ))),
        DumpKind::ThreadDump | DumpKind::GcLog => Err(Problem::conflict(format!(
            "{id} is no profile; /dumps/{id}/report has what it shows"
        ))),
    }
}

/// The opened profile. Blocks.
fn opened(state: &AppState, id: &DumpId) -> Result<Arc<ProfileFile>, Problem> {
    let analysis = profile_of(state, id)?;
    let open = || ProfileFile::open(&analysis.file, &analysis.name);
    Ok(state.views().profile(id.as_str(), open)?)
}

/// Asks a view of a profile, on a thread for such work.
async fn ask<T: Send + 'static>(
    state: AppState,
    id: String,
    view: impl FnOnce(&ProfileFile) -> Result<T, ViewError> + Send + 'static,
) -> Result<T, Problem> {
    let id = dump_id(&id)?;
    let permit = state.views().permit().await?;
    let work = move |state: &AppState| {
        let _permit = permit;
        Ok(view(&*opened(state, &id)?)?)
    };
    state.blocking(work).await
}

/// Lists the dimensions, threads and measures of a profile.
#[utoipa::path(
    get, path = "/dumps/{id}/profile", tag = "profiles",
    params(("id" = String, Path, description = "The profile")),
    responses((status = 200, body = views::ProfileAbout)),
)]
async fn about(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Result<Json<views::ProfileAbout>, Problem> {
    ask(state, id, |profile| Ok(profile.about()))
        .await
        .map(Json)
}

/// A flame graph.
#[utoipa::path(
    get, path = "/dumps/{id}/profile/flame", tag = "profiles",
    params(("id" = String, Path, description = "The profile"), ProfileQuery, FlameQuery),
    responses((status = 200, body = views::Flame)),
)]
async fn flame(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Params(which): Params<ProfileQuery>,
    Params(cut): Params<FlameQuery>,
) -> Result<Json<views::Flame>, Problem> {
    let view = move |profile: &ProfileFile| views::flame(profile, &which, &cut);
    ask(state, id, view).await.map(Json)
}

/// Sends a profile as a page of its own, which shows any part of its time.
#[utoipa::path(
    get, path = "/dumps/{id}/profile.html", tag = "profiles",
    params(("id" = String, Path, description = "The profile")),
    responses((status = 200, body = Octets, content_type = "application/octet-stream")),
)]
async fn page(State(state): State<AppState>, Path(id): Path<String>) -> Result<Response, Problem> {
    let id = dump_id(&id)?;
    let permit = state.views().permit().await?;
    let work = move |state: &AppState| {
        let _permit = permit;
        let analysis = profile_of(state, &id)?;
        let page = views::page(&analysis.file, &analysis.name)?;
        // It has a script inside, which the policy of this server forbids: it is for keeping.
        Ok(files::keep(
            page.into_bytes(),
            &format!("{}.html", analysis.name),
        ))
    };
    state.blocking(work).await
}

/// A flame graph of the profile `with`, with the difference to this one.
#[utoipa::path(
    get, path = "/dumps/{id}/profile/compare", tag = "profiles",
    params(("id" = String, Path, description = "The profile before"), ProfileQuery, FlameQuery),
    responses((status = 200, body = views::Flame)),
)]
async fn compare(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Params(which): Params<ProfileQuery>,
    Params(cut): Params<FlameQuery>,
) -> Result<Json<views::Flame>, Problem> {
    let with = cut.with.as_deref().unwrap_or_default();
    let ids = (dump_id(&id)?, dump_id(with)?);
    let permit = state.views().permit().await?;
    let work = move |state: &AppState| {
        let _permit = permit;
        let (before, after) = (opened(state, &ids.0)?, opened(state, &ids.1)?);
        Ok(views::compare(&before, &after, &which, &cut)?)
    };
    state.blocking(work).await.map(Json)
}

/// Methods with their costs.
#[utoipa::path(
    get, path = "/dumps/{id}/profile/methods", tag = "profiles",
    params(("id" = String, Path, description = "The profile"), ProfileQuery, TableQuery),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))),
)]
async fn methods(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Params(which): Params<ProfileQuery>,
    Params(query): Params<TableQuery>,
) -> Result<Response, Problem> {
    let form = query.format;
    let view = move |profile: &ProfileFile| views::methods(profile, &which, &query);
    respond(ask(state, id, view).await?, form)
}

/// The call tree, level by level.
#[utoipa::path(
    get, path = "/dumps/{id}/profile/tree", tag = "profiles",
    params(("id" = String, Path, description = "The profile"), ProfileQuery, TreeQuery, TableQuery),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))),
)]
async fn tree(
    State(state): State<AppState>,
    Path(id): Path<String>,
    Params(which): Params<ProfileQuery>,
    Params(of): Params<TreeQuery>,
    Params(query): Params<TableQuery>,
) -> Result<Response, Problem> {
    let form = query.format;
    let view = move |profile: &ProfileFile| views::tree(profile, &which, &of, &query);
    respond(ask(state, id, view).await?, form)
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(about))
        .routes(routes!(flame))
        .routes(routes!(compare))
        .routes(routes!(methods))
        .routes(routes!(tree))
        .routes(routes!(page))
}
