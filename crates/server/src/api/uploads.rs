//! Uploads in pieces by the tus protocol 1.0.0 (<https://tus.io/protocols/resumable-upload>): the
//! core, with creation and termination.
//!
//! The offset of an upload is the length of its part on the disk, so it survives a restart. Each
//! request ends with `fdatasync`, before its answer: an offset that was answered survives a crash
//! of the machine.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::time::sleep;

use super::description::Octets;
use super::extract::InPath;
use crate::catalogue::Upload;
use crate::intake::{Incoming, Wishes, file_name, of_disk, receive, refuse};
use crate::problem::Problem;
use crate::state::AppState;
use crate::store::PartId;
use crate::time::Millis;

const VERSION: HeaderValue = HeaderValue::from_static("1.0.0");
const RESUMABLE: HeaderName = HeaderName::from_static("tus-resumable");
const OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const LENGTH: HeaderName = HeaderName::from_static("upload-length");
const METADATA: HeaderName = HeaderName::from_static("upload-metadata");
/// Tells the id of the dump when an upload is complete.
const DUMP: HeaderName = HeaderName::from_static("hprof-dump");
/// Uploads that may be under way.
const MAX_UPLOADS: usize = 1000;

/// How long the end of an upload waits for the request that sends its bytes.
const FAREWELL: Duration = Duration::from_secs(5);
/// The pause between two attempts to take over.
const PAUSE: Duration = Duration::from_millis(20);

/// An answer of the protocol.
fn answer(
    status: StatusCode,
    headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
) -> Response {
    let mut response = status.into_response();
    response.headers_mut().insert(RESUMABLE, VERSION);
    response.headers_mut().extend(headers);
    response
}

/// A number in a header.
fn number(headers: &HeaderMap, name: &HeaderName) -> Result<u64, Problem> {
    let value = headers
        .get(name)
        .and_then(|it| it.to_str().ok()?.parse().ok());
    value.ok_or_else(|| Problem::bad_request(format!("the header {name} must have a number")))
}

fn check_version(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get(RESUMABLE) == Some(&VERSION) {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::PRECONDITION_FAILED,
            "tus-version",
            "Another version of the protocol",
            "send the header Tus-Resumable: 1.0.0",
        )),
    }
}

/// A value of the metadata: pairs of a key and a value in Base64, with commas between. Empty if there
/// is none of these keys.
fn metadata(headers: &HeaderMap, keys: &[&str]) -> String {
    let metadata = headers.get(METADATA).and_then(|it| it.to_str().ok());
    let value = metadata.unwrap_or_default().split(',').find_map(|pair| {
        let (key, value) = pair.trim().split_once(' ')?;
        keys.contains(&key).then_some(value)
    });
    let bytes = value.and_then(|text| BASE64_STANDARD.decode(text).ok());
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// Tells what of the protocol there is.
#[utoipa::path(options, path = "/uploads", responses((status = 204)))]
pub(super) async fn options(State(state): State<AppState>) -> Response {
    answer(
        StatusCode::NO_CONTENT,
        [
            (HeaderName::from_static("tus-version"), VERSION),
            (
                HeaderName::from_static("tus-extension"),
                HeaderValue::from_static("creation,termination"),
            ),
            (
                HeaderName::from_static("tus-max-size"),
                state.config().max_upload.into(),
            ),
        ],
    )
}

/// Begins an upload. Keys of the metadata: `filename`, `strip` (`true` blanks values before the dump is
/// kept), `fail_above` (rules with commas between them), `stripped` (what the sender has blanked, in JSON).
#[utoipa::path(post, path = "/uploads",
    params(("Tus-Resumable" = String, Header), ("Upload-Length" = u64, Header), ("Upload-Metadata" = Option<String>, Header)),
    responses((status = 201), (status = 413, body = Problem), (status = 507, body = Problem)))]
pub(super) async fn create(
    State(state): State<AppState>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    check_version(&headers)?;
    let length = number(&headers, &LENGTH)?;
    let name = file_name(&metadata(&headers, &["filename", "name"]));
    let fail_above = metadata(&headers, &["fail_above"]);
    let stripped = metadata(&headers, &["stripped"]);
    let strip = metadata(&headers, &["strip"]);
    let wishes = Wishes::of_texts(&strip, &fail_above, &stripped)?;
    let part = PartId::new().map_err(Problem::internal)?;
    let begun = part.clone();
    let created = state.blocking(move |state| {
        state.has_room(length)?;
        let uploads = state.catalogue().uploads()?;
        if uploads.iter().filter(|it| it.dump.is_none()).count() >= MAX_UPLOADS {
            let detail = format!("{MAX_UPLOADS} uploads are under way; end or delete some");
            return Err(Problem::conflict(detail));
        }
        let made = state.store().create_part(&begun);
        made.map_err(|error| of_disk(&error))?;
        state.catalogue().add_upload(&Upload {
            id: begun.as_str().to_owned(),
            name,
            length,
            created_at: Millis::now(),
            strips: wishes.strips,
            fail_above,
            stripped,
            dump: None,
        })?;
        Ok(())
    });
    created.await?;
    let place = format!("/api/v1/uploads/{}", part.as_str());
    let place = HeaderValue::try_from(place).map_err(Problem::internal)?;
    Ok(answer(StatusCode::CREATED, [(header::LOCATION, place)]))
}

/// An upload with the bytes that have come. Blocks.
fn find(state: &AppState, id: &str) -> Result<(PartId, Upload, u64), Problem> {
    let gone = || Problem::not_found("there is no such upload; begin again");
    let part: PartId = id.parse().map_err(|()| gone())?;
    let told = || state.catalogue().upload(id)?.ok_or_else(gone);
    let mut upload = told()?;
    if upload.dump.is_none() {
        match state.store().open_part(&part) {
            Ok(file) => {
                let about = file.metadata().map_err(Problem::internal)?;
                return Ok((part, upload, about.len()));
            }
            // It may have become a dump since.
            Err(_) => upload = told()?,
        }
    }
    match upload.dump {
        Some(_) => {
            let length = upload.length;
            Ok((part, upload, length))
        }
        None => Err(gone()),
    }
}

/// The header that names the dump which a complete upload has become.
fn became(upload: &Upload) -> Result<Option<(HeaderName, HeaderValue)>, Problem> {
    let id = upload
        .dump
        .as_ref()
        .map(|id| HeaderValue::try_from(id.as_str()));
    let id = id.transpose().map_err(Problem::internal)?;
    Ok(id.map(|id| (DUMP, id)))
}

/// Tells how far an upload is.
#[utoipa::path(head, path = "/uploads/{id}", params(("id" = String, Path)),
    responses((status = 200)))]
pub(super) async fn tell(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let (_, upload, offset) = state.blocking(move |state| find(state, &id)).await?;
    let mut told = vec![
        (OFFSET, offset.into()),
        (LENGTH, upload.length.into()),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    told.extend(became(&upload)?);
    Ok(answer(StatusCode::OK, told))
}

/// Adds bytes to an upload. With the last of them it becomes a dump, whose id is in the header
/// `Hprof-Dump` of the answer.
#[utoipa::path(patch, path = "/uploads/{id}",
    params(("id" = String, Path), ("Tus-Resumable" = String, Header),
        ("Upload-Offset" = u64, Header)),
    request_body(content = Octets, content_type = "application/offset+octet-stream"),
    responses((status = 204), (status = 404, body = Problem), (status = 409, body = Problem),
        (status = 415, body = Problem), (status = 423, body = Problem), (status = 507, body = Problem)))]
pub(super) async fn append(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    check_version(&headers)?;
    let kind = HeaderValue::from_static("application/offset+octet-stream");
    if headers.get(header::CONTENT_TYPE) != Some(&kind) {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "tus-content-type",
            "Another kind of body",
            "send the header Content-Type: application/offset+octet-stream",
        ));
    }
    let stated = number(&headers, &OFFSET)?;
    let _body = state.uploads().body().await?;
    let begun = state
        .blocking(move |state| {
            let part: PartId = id
                .parse()
                .map_err(|()| Problem::not_found("no such upload"))?;
            let writer = state.writer(&part)?;
            let (part, upload, offset) = find(state, &id)?;
            if offset != stated {
                return Err(Problem::conflict(format!(
                    "the upload has {offset} bytes, and the request continues at {stated}"
                )));
            }
            if upload.dump.is_some() {
                // The answer to the last piece was lost, or the part could not go.
                state
                    .store()
                    .delete_part(&part)
                    .map_err(Problem::internal)?;
                return Ok((part, upload, writer, None));
            }
            let digested = state.digested(&part, offset)?;
            let file = state.store().open_part(&part).map_err(Problem::internal)?;
            let incoming = Incoming::new(state, file, digested, upload.length);
            Ok((part, upload, writer, Some(incoming)))
        })
        .await;
    let (part, upload, writer, incoming) = match begun {
        Ok(begun) => begun,
        Err(problem) => return refuse(&headers, body, problem).await,
    };
    let Some(incoming) = incoming else {
        let told = [(OFFSET, upload.length.into())];
        return Ok(answer(
            StatusCode::NO_CONTENT,
            told.into_iter().chain(became(&upload)?),
        ));
    };
    let end_of_writer = writer.end();
    let (incoming, received) = receive(&state, body, incoming, &end_of_writer).await?;
    state
        .blocking(move |state| {
            // Until the end of this, no other request writes.
            let _writer = writer;
            let digested = incoming.digested;
            let offset = digested.length;
            if let Err(problem) = received {
                if problem.kind == "not-a-dump" {
                    end(state, &part)?;
                } else {
                    state.uploads().keep(&part, digested);
                }
                return Err(problem);
            }
            if offset < upload.length {
                state.uploads().keep(&part, digested);
                return Ok(answer(StatusCode::NO_CONTENT, [(OFFSET, offset.into())]));
            }
            let mut wishes = Wishes::of_texts("", &upload.fail_above, &upload.stripped)?;
            wishes.strips = upload.strips;
            let admitted = state.admit_copy(&part, &upload.name, digested.clone(), &wishes);
            let id = match admitted {
                Ok(dump) => dump.id,
                Err(problem) if problem.status.is_client_error() => {
                    end(state, &part)?;
                    return Err(problem);
                }
                // It can be tried again when there is room, or storage and database work.
                Err(problem) => {
                    state.uploads().keep(&part, digested);
                    return Err(problem);
                }
            };
            // Until this is known, the part has to be there: a sender that has lost the answer asks for the upload.
            state.catalogue().complete_upload(part.as_str(), &id)?;
            // An original that cannot go would stay readable: it is a failure.
            state
                .store()
                .delete_part(&part)
                .map_err(Problem::internal)?;
            let id = HeaderValue::try_from(id.as_str()).map_err(Problem::internal)?;
            let headers = [(OFFSET, offset.into()), (DUMP, id)];
            Ok(answer(StatusCode::NO_CONTENT, headers))
        })
        .await
}

/// Removes an upload with its part. Blocks.
fn end(state: &AppState, part: &PartId) -> Result<(), Problem> {
    state.store().delete_part(part).map_err(Problem::internal)?;
    state.catalogue().delete_upload(part.as_str())?;
    Ok(())
}

/// Gives an upload up, and ends the request that sends its bytes.
#[utoipa::path(delete, path = "/uploads/{id}", params(("id" = String, Path)),
    responses((status = 204), (status = 404, body = Problem), (status = 423, body = Problem)))]
pub(super) async fn terminate(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<Response, Problem> {
    let (part, ..) = state.blocking(move |state| find(state, &id)).await?;
    let began = Instant::now();
    let writer = loop {
        match state.writer(&part) {
            Ok(writer) => break writer,
            Err(problem) if began.elapsed() > FAREWELL => return Err(problem),
            // A request that sends bytes ends; its connection may hang.
            Err(_) => state.uploads().give_up(&part),
        }
        sleep(PAUSE).await;
    };
    let ended = state.blocking(move |state| {
        let _writer = writer;
        end(state, &part)
    });
    ended.await?;
    Ok(answer(StatusCode::NO_CONTENT, []))
}
