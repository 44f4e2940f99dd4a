//! Jobs: lists, cancelling, retrying.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;

use super::dumps::{MAX_ROWS, ROWS};
use super::extract::{InPath, InQuery};
use crate::catalogue::{Job, JobQuery, JobState, Page};
use crate::ids::JobId;
use crate::problem::Problem;
use crate::state::AppState;

/// Which jobs are wanted.
#[derive(Debug, Deserialize, IntoParams)]
pub(super) struct ListParams {
    /// `next` of the page before.
    cursor: Option<String>,
    /// The largest number of rows; 1000 at most.
    limit: Option<usize>,
    /// In this state only.
    #[param(inline)]
    state: Option<JobState>,
}

/// Lists jobs, latest first.
#[utoipa::path(get, path = "/jobs", params(ListParams), responses((status = 200, body = Page<Job>)))]
pub(super) async fn list(
    State(state): State<AppState>,
    InQuery(params): InQuery<ListParams>,
) -> Result<Json<Page<Job>>, Problem> {
    let query = JobQuery {
        cursor: params.cursor,
        limit: params.limit.unwrap_or(ROWS).clamp(1, MAX_ROWS),
        state: params.state,
    };
    let page = state.blocking(move |state| {
        let mut page = state.catalogue().jobs(&query)?;
        for job in &mut page.items {
            state.jobs().show(job);
        }
        Ok(page)
    });
    Ok(Json(page.await?))
}

/// Shows a job.
#[utoipa::path(get, path = "/jobs/{id}", params(("id" = JobId, Path)),
    responses((status = 200, body = Job), (status = 404, body = Problem)))]
pub(super) async fn show(
    State(state): State<AppState>,
    InPath(id): InPath<JobId>,
) -> Result<Json<Job>, Problem> {
    Ok(Json(state.blocking(move |state| state.job(id)).await?))
}

/// Cancels a job that waits or runs.
#[utoipa::path(post, path = "/jobs/{id}/cancel", params(("id" = JobId, Path)),
    responses((status = 200, body = Job), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn cancel(
    State(state): State<AppState>,
    InPath(id): InPath<JobId>,
) -> Result<Json<Job>, Problem> {
    Ok(Json(state.blocking(move |state| state.cancel(id)).await?))
}

/// Puts a job that failed or was cancelled back into the queue.
#[utoipa::path(post, path = "/jobs/{id}/retry", params(("id" = JobId, Path)),
    responses((status = 200, body = Job), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn retry(
    State(state): State<AppState>,
    InPath(id): InPath<JobId>,
) -> Result<Json<Job>, Problem> {
    Ok(Json(state.blocking(move |state| state.retry(id)).await?))
}
