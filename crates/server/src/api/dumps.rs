//! Dumps: lists, changes, the way in and out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::Json;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::sync::Notify;
use utoipa::{IntoParams, ToSchema};

use super::description::{Octets, ReportFile};
use super::extract::{InBody, InPath, InQuery};
use super::files;
use crate::catalogue::{Dump, DumpPatch, DumpQuery, Page};
use crate::ids::DumpId;
use crate::intake::{Digested, Incoming, Wishes, file_name, receive, refuse};
use crate::problem::Problem;
use crate::rules::Rule;
use crate::state::{AppState, REPORT, REPORT_PAGE};
use crate::store::{self, PartId};

/// Rows of a page, if the request says nothing.
pub(super) const ROWS: usize = 100;
/// The most rows of a page.
pub(super) const MAX_ROWS: usize = 1000;
/// The longest note, name or label, in bytes.
const MAX_TEXT: usize = 10_000;
/// The most labels.
const MAX_LABELS: usize = 64;

/// Which dumps are wanted.
#[derive(Debug, Deserialize, IntoParams)]
pub(super) struct ListParams {
    /// `next` of the page before.
    cursor: Option<String>,
    /// The largest number of rows; 1000 at most.
    limit: Option<usize>,
    /// A part of the name, the note or a label.
    q: Option<String>,
}

/// Lists dumps, latest first.
#[utoipa::path(get, path = "/dumps", params(ListParams), responses((status = 200, body = Page<Dump>)))]
pub(super) async fn list(
    State(state): State<AppState>,
    InQuery(params): InQuery<ListParams>,
) -> Result<Json<Page<Dump>>, Problem> {
    let query = DumpQuery {
        cursor: params.cursor,
        limit: params.limit.unwrap_or(ROWS).clamp(1, MAX_ROWS),
        text: params.q,
    };
    let page = state.blocking(move |state| {
        let mut page = state.catalogue().dumps(&query)?;
        for job in page.items.iter_mut().filter_map(|dump| dump.job.as_mut()) {
            state.jobs().show(job);
        }
        Ok(page)
    });
    Ok(Json(page.await?))
}

/// Shows a dump.
#[utoipa::path(get, path = "/dumps/{id}", params(("id" = DumpId, Path)),
    responses((status = 200, body = Dump), (status = 404, body = Problem)))]
pub(super) async fn show(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<Json<Dump>, Problem> {
    let dump = state.blocking(move |state| state.dump(&id));
    Ok(Json(dump.await?))
}

/// Changes name, note, labels, pin or rules of a dump.
#[utoipa::path(patch, path = "/dumps/{id}", params(("id" = DumpId, Path)), request_body = DumpPatch,
    responses((status = 200, body = Dump), (status = 404, body = Problem)))]
pub(super) async fn change(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
    InBody(mut patch): InBody<DumpPatch>,
) -> Result<Json<Dump>, Problem> {
    check(&patch)?;
    // It becomes an argument of the worker, and the name of a download.
    patch.name = patch.name.map(|name| file_name(&name));
    let rules = patch.fail_above.take().map(|texts| {
        let rules = texts.iter().map(|text| text.parse::<Rule>());
        rules.collect::<Result<Vec<_>, _>>()
    });
    let rules = rules.transpose().map_err(Problem::bad_request)?;
    let dump = state.blocking(move |state| {
        state.catalogue().change_dump(&id, &patch)?;
        if let Some(rules) = rules {
            state.set_rules(&id, &rules)?;
        }
        let dump = state.dump(&id)?;
        state.announce_dump(&id);
        Ok(dump)
    });
    Ok(Json(dump.await?))
}

/// Refuses texts that are too long to be kept.
fn check(patch: &DumpPatch) -> Result<(), Problem> {
    let labels = patch.labels.iter().flatten();
    let texts = patch.name.iter().chain(&patch.note);
    let mut texts = texts.chain(labels.flat_map(|(key, value)| [key, value]));
    if texts.any(|text| text.len() > MAX_TEXT) {
        let detail = format!("a text of more than {MAX_TEXT} bytes is too long");
        return Err(Problem::bad_request(detail));
    }
    if patch
        .labels
        .as_ref()
        .is_some_and(|it| it.len() > MAX_LABELS)
    {
        let detail = format!("a dump has at most {MAX_LABELS} labels");
        return Err(Problem::bad_request(detail));
    }
    Ok(())
}

/// Deletes a dump with its analysis, and cancels its job.
#[utoipa::path(delete, path = "/dumps/{id}", params(("id" = DumpId, Path)),
    responses((status = 204), (status = 404, body = Problem)))]
pub(super) async fn delete(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<StatusCode, Problem> {
    let deleted = state.blocking(move |state| state.delete_dump(&id));
    deleted.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How the file is called.
#[derive(Debug, Deserialize, IntoParams)]
pub(super) struct PutParams {
    /// The name to show.
    name: Option<String>,
    /// `true` blanks values before the dump is kept.
    strip: Option<String>,
    /// Rules with commas between them, such as `suspects=0,retained:com.example.Cache=100MB`.
    fail_above: Option<String>,
    /// The values that the sender has blanked, in JSON.
    stripped: Option<String>,
}

/// Takes a dump whose bytes are the body, as `curl -T FILE` sends it.
#[utoipa::path(put, path = "/dumps",
    params(PutParams, ("label" = Option<String>, Query, description = "A label, such as `service=shop`; may be repeated.")),
    request_body(content = Octets, content_type = "application/octet-stream"),
    responses((status = 201, body = Dump), (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 507, body = Problem)))]
pub(super) async fn put(
    State(state): State<AppState>,
    InQuery(params): InQuery<PutParams>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Dump>), Problem> {
    let labels = labels_in(&uri)?;
    let wishes = Wishes::of_texts(
        params.strip.as_deref().unwrap_or_default(),
        params.fail_above.as_deref().unwrap_or_default(),
        params.stripped.as_deref().unwrap_or_default(),
    )?;
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|it| it.to_str().ok()?.parse().ok());
    let _body = state.uploads().body().await?;
    let part = PartId::new().map_err(Problem::internal)?;
    let begun = part.clone();
    let incoming = state.blocking(move |state| {
        state.has_room(length.unwrap_or(0))?;
        let file = state.store().create_part(&begun);
        let file = file.map_err(|error| crate::intake::of_disk(&error))?;
        let limit = state.config().max_upload;
        Ok(Incoming::new(state, file, Digested::default(), limit))
    });
    let incoming = match incoming.await {
        Ok(incoming) => incoming,
        Err(problem) => return refuse(&headers, body, problem).await,
    };
    let (incoming, received) = receive(&state, body, incoming, &Notify::new()).await?;
    let name = params.name.unwrap_or_default();
    let dump = state.blocking(move |state| {
        let mut admitted =
            received.and_then(|()| state.admit_with(&part, &name, incoming.digested, &wishes));
        if admitted.is_err() {
            state
                .store()
                .delete_part(&part)
                .map_err(Problem::internal)?;
        }
        if let (Ok(dump), Some(labels)) = (&mut admitted, labels) {
            let patch = DumpPatch {
                labels: Some(labels),
                ..DumpPatch::default()
            };
            state.catalogue().change_dump(&dump.id, &patch)?;
            *dump = state.dump(&dump.id)?;
            state.announce_dump(&dump.id);
        }
        admitted
    });
    Ok((StatusCode::CREATED, Json(dump.await?)))
}

/// The labels of an address, `label=KEY=VALUE` each; `None` if it has none.
fn labels_in(uri: &Uri) -> Result<Option<BTreeMap<String, String>>, Problem> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let pairs = pairs.map(|Query(pairs)| pairs).unwrap_or_default();
    let mut labels = BTreeMap::new();
    for (_, label) in pairs.iter().filter(|(name, _)| name == "label") {
        let Some((key, value)) = label.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Problem::bad_request(
                "label: give KEY=VALUE, such as label=service=shop, once for each label",
            ));
        };
        labels.insert(key.to_owned(), value.to_owned());
    }
    if labels.is_empty() {
        return Ok(None);
    }
    let patch = DumpPatch {
        labels: Some(labels),
        ..DumpPatch::default()
    };
    check(&patch)?;
    Ok(patch.labels)
}

/// A file of the server's machine.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FromPath {
    /// Its full path, below an allowed root.
    #[schema(value_type = String)]
    path: PathBuf,
    /// The name to show.
    name: Option<String>,
}

/// Takes a file of the server's machine, below one of the allowed roots.
#[utoipa::path(post, path = "/dumps", request_body = FromPath,
    responses((status = 201, body = Dump), (status = 403, body = Problem), (status = 404, body = Problem)))]
pub(super) async fn post(
    State(state): State<AppState>,
    InBody(from): InBody<FromPath>,
) -> Result<(StatusCode, Json<Dump>), Problem> {
    let _body = state.uploads().body().await?;
    let dump = state.blocking(move |state| state.add_below_roots(&from.path, from.name.as_deref()));
    Ok((StatusCode::CREATED, Json(dump.await?)))
}

/// Sends the dump itself; ranges of bytes too.
#[utoipa::path(get, path = "/dumps/{id}/file", params(("id" = DumpId, Path)),
    responses((status = 200, body = Octets, content_type = "application/octet-stream"),
        (status = 206, body = Octets, content_type = "application/octet-stream"),
        (status = 404, body = Problem), (status = 416, body = Problem)))]
pub(super) async fn file(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let found = state.blocking(move |state| {
        let dump = state.dump(&id)?;
        let file = state.store().dump(&id);
        Ok((file.map_err(|error| store::problem(&error))?, dump.name))
    });
    let (path, name) = found.await?;
    files::download(&path, &name, &headers).await
}

/// Sends the report as JSON (docs/report-schema.md); of profiles, their summary.
#[utoipa::path(get, path = "/dumps/{id}/report", params(("id" = DumpId, Path)),
    responses((status = 200, body = ReportFile), (status = 409, body = Problem)))]
pub(super) async fn report(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<Response, Problem> {
    let wanted = id.clone();
    let small = state.blocking(move |state| state.small_file(&wanted, REPORT));
    if let Some((_, bytes)) = small.await? {
        return Ok(([(header::CONTENT_TYPE, "application/json")], bytes).into_response());
    }
    let analysis = state.blocking(move |state| state.analysis(&id)).await?;
    files::show(&analysis.report, "application/json").await
}

/// Sends the report as a page of its own.
#[utoipa::path(get, path = "/dumps/{id}/report.html", params(("id" = DumpId, Path)),
    responses((status = 200, body = Octets, content_type = "application/octet-stream"), (status = 409, body = Problem)))]
pub(super) async fn report_page(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<Response, Problem> {
    let wanted = id.clone();
    let small = state.blocking(move |state| state.small_file(&wanted, REPORT_PAGE));
    // It has a script inside, which the policy of this server forbids: it is for keeping.
    if let Some((dump, bytes)) = small.await? {
        return Ok(files::keep(bytes, &format!("{}.html", dump.name)));
    }
    let analysis = state.blocking(move |state| state.analysis(&id)).await?;
    let name = format!("{}.html", analysis.name);
    files::download(&analysis.index.join(REPORT_PAGE), &name, &HeaderMap::new()).await
}
