//! SQL over a heap dump.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::answer::{dump_id, files};
use crate::problem::Problem;
use crate::state::AppState;
use crate::views::sql::{DEADLINE, Runner, SqlAnswer, SqlQuery, SqlSchema};

/// The share of the workers' memory that a query may take.
const SHARE: u64 = 4;
/// The least memory that is enough for a query.
const MIN_MEMORY: u64 = 256 << 20;

fn runner(state: &AppState) -> Runner<'_> {
    Runner {
        executable: &state.config().executable,
        memory: (state.config().memory / SHARE).max(MIN_MEMORY),
        deadline: DEADLINE,
    }
}

/// Asks a dump in SQL.
#[utoipa::path(
    post, path = "/dumps/{id}/query", tag = "views", request_body = SqlQuery,
    params(("id" = String, Path, description = "The dump")),
    responses((status = 200, body = SqlAnswer)),
)]
async fn query(
    State(state): State<AppState>,
    Path(id): Path<String>,
    body: Result<Json<SqlQuery>, JsonRejection>,
) -> Result<Json<SqlAnswer>, Problem> {
    let Json(query) = body.map_err(|error| Problem::bad_request(error.body_text()))?;
    let id = dump_id(&id)?;
    let _permit = state.views().query_permit().await?;
    let files = state.blocking(move |state| files(state, &id)).await?;
    Ok(Json(runner(&state).ask(&files, &query).await?))
}

/// The tables that queries may name, and queries to begin with.
#[utoipa::path(
    get, path = "/dumps/{id}/query/schema", tag = "views",
    params(("id" = String, Path, description = "The dump")),
    responses((status = 200, body = SqlSchema)),
)]
async fn schema(
    State(state): State<AppState>,
    Path(id): Path<String>,
) -> Result<Json<SqlSchema>, Problem> {
    // All dumps have the same tables.
    dump_id(&id)?;
    let known = state.views().schema(&runner(&state)).await?;
    Ok(Json(known.clone()))
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(query))
        .routes(routes!(schema))
}
