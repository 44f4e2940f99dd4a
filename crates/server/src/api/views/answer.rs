//! From a request to a view and back: parameters, the opened analysis, JSON or CSV.

use std::sync::Arc;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::api::parameters;
use crate::catalogue::DumpKind;
use crate::ids::DumpId;
use crate::problem::Problem;
use crate::state::AppState;
use crate::views::ViewError;
use crate::views::csv::csv;
use crate::views::opened::{Files, Opened};
use crate::views::page::{TableForm, TableQuery};
use crate::views::table::Table;

/// The parameters of a request; what is wrong with them becomes a problem.
pub(super) struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parameters::of_query(&parts.uri).map(Self)
    }
}

/// No parameters of its own.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
pub(super) struct Nothing {}

pub(super) fn dump_id(id: &str) -> Result<DumpId, Problem> {
    id.parse()
        .map_err(|error| Problem::bad_request(format!("{id}: {error}")))
}

/// The files of the analysis of a heap dump. Blocks.
pub(super) fn files(state: &AppState, id: &DumpId) -> Result<Files, Problem> {
    let analysis = state.analysis(id)?;
    let other = match analysis.kind {
        DumpKind::Heap | DumpKind::Unknown => None,
        DumpKind::Profile => Some(format!(
            "{id} is a profile; its views begin with /dumps/{id}/profile"
        )),
        DumpKind::ThreadDump => Some(format!(
            "{id} has thread dumps; /dumps/{id}/report has what they show"
        )),
        DumpKind::GcLog => Some(format!(
            "{id} is a garbage collection log; /dumps/{id}/report has what it shows"
        )),
    };
    if let Some(other) = other {
        return Err(Problem::conflict(other));
    }
    Ok(Files {
        dump: analysis.file,
        name: analysis.name,
        index: analysis.index,
        report: analysis.report,
        held: analysis.held,
    })
}

/// The opened analysis of a heap dump. Blocks.
fn opened(state: &AppState, id: &DumpId) -> Result<Arc<Opened>, Problem> {
    let files = files(state, id)?;
    Ok(state.views().heap(id.as_str(), files)?)
}

/// Asks a view of a heap dump, on a thread for such work.
pub(super) async fn ask<T: Send + 'static>(
    state: AppState,
    id: String,
    view: impl FnOnce(&Arc<Opened>) -> Result<T, ViewError> + Send + 'static,
) -> Result<T, Problem> {
    let id = dump_id(&id)?;
    let permit = state.views().permit().await?;
    let work = move |state: &AppState| {
        let _permit = permit;
        Ok(view(&opened(state, &id)?)?)
    };
    state.blocking(work).await
}

/// Asks a view of two heap dumps.
pub(super) async fn ask_two<T: Send + 'static>(
    state: AppState,
    first: String,
    second: String,
    view: impl FnOnce(&Arc<Opened>, &Arc<Opened>) -> Result<T, ViewError> + Send + 'static,
) -> Result<T, Problem> {
    let ids = (dump_id(&first)?, dump_id(&second)?);
    let permit = state.views().permit().await?;
    let work = move |state: &AppState| {
        let _permit = permit;
        Ok(view(&opened(state, &ids.0)?, &opened(state, &ids.1)?)?)
    };
    state.blocking(work).await
}

/// Asks a view for a table, and answers in the form that the query names.
pub(super) async fn table(
    state: AppState,
    id: String,
    query: TableQuery,
    view: impl FnOnce(&Arc<Opened>, &TableQuery) -> Result<Table, ViewError> + Send + 'static,
) -> Result<Response, Problem> {
    let form = query.format;
    let found = ask(state, id, move |opened| view(opened, &query)).await?;
    respond(found, form)
}

/// A table in JSON, or in CSV with the next cursor in a header.
pub(in crate::api) fn respond(table: Table, form: TableForm) -> Result<Response, Problem> {
    if form == TableForm::Json {
        return Ok(Json(table).into_response());
    }
    let bytes = csv(&table)?;
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("text/csv; charset=utf-8; header=present");
    headers.insert(header::CONTENT_TYPE, kind);
    let name = HeaderValue::from_static("attachment; filename=\"table.csv\"");
    headers.insert(header::CONTENT_DISPOSITION, name);
    if let Some(next) = table
        .next
        .and_then(|next| HeaderValue::from_str(&next).ok())
    {
        headers.insert("hprof-next", next);
    }
    Ok(response)
}
