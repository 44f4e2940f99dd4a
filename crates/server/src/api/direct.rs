//! Uploads straight to the storage: the server signs addresses, and the bytes go there.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{InBody, InPath};
use crate::catalogue::Dump;
use crate::problem::Problem;
use crate::state::AppState;
use crate::store::VALID;

/// The most addresses of one answer.
const MAX_ADDRESSES: usize = 100;

/// A file that is to come.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Announced {
    /// The name to show.
    name: String,
    /// Its bytes.
    length: u64,
    /// `true` blanks values before the dump is kept, which the server does: it refuses.
    #[serde(default)]
    strip: String,
    /// Rules with commas between them, such as `suspects=0`.
    #[serde(default)]
    fail_above: String,
    /// The values that the sender has blanked, in JSON, as in `strippings` of a dump: `rules`,
    /// `figures`.
    #[serde(default)]
    stripped: String,
}

/// An upload whose pieces may come.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Begun {
    /// Its name.
    id: String,
    /// The bytes of every piece but the last.
    piece_bytes: u64,
    /// The number of pieces.
    pieces: u64,
    /// Scheme, host and port of all addresses.
    origin: String,
}

/// Begins an upload whose pieces go straight to the storage. The problem `no-direct-upload` says that
/// the bytes have to come through the server, as `/uploads` takes them.
#[utoipa::path(post, path = "/direct-uploads", request_body = Announced,
    responses((status = 201, body = Begun), (status = 409, body = Problem), (status = 413, body = Problem)))]
pub(super) async fn begin(
    State(state): State<AppState>,
    InBody(file): InBody<Announced>,
) -> Result<(StatusCode, Json<Begun>), Problem> {
    let begun = state.blocking(move |state| {
        let (part, pieces) = state.begin_direct(
            &file.name,
            file.length,
            &file.strip,
            &file.fail_above,
            &file.stripped,
        )?;
        Ok(Begun {
            id: part.as_str().to_owned(),
            piece_bytes: pieces.piece,
            pieces: pieces.count(),
            origin: state.upload_origin().unwrap_or_default().to_owned(),
        })
    });
    Ok((StatusCode::CREATED, Json(begun.await?)))
}

/// Pieces that are about to be sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Their numbers, from 1; 100 at most.
    pieces: Vec<u64>,
}

/// Addresses for pieces.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Addresses {
    /// One for each piece, in the order of the question. `PUT` sends the piece there; the answer's
    /// header `ETag` is for `complete`.
    addresses: Vec<String>,
    /// How long they can be used, in seconds.
    seconds: u64,
}

/// Gives the addresses to which pieces are sent.
#[utoipa::path(post, path = "/direct-uploads/{id}/addresses", params(("id" = String, Path)),
    request_body = Wanted,
    responses((status = 200, body = Addresses), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn addresses(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InBody(wanted): InBody<Wanted>,
) -> Result<Json<Addresses>, Problem> {
    if wanted.pieces.len() > MAX_ADDRESSES {
        let detail = format!("at most {MAX_ADDRESSES} addresses are given at once");
        return Err(Problem::bad_request(detail));
    }
    let addresses = state.blocking(move |state| state.direct_addresses(&id, &wanted.pieces));
    Ok(Json(Addresses {
        addresses: addresses.await?,
        seconds: VALID.as_secs(),
    }))
}

/// The facts that make an upload a dump.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Completion {
    /// The values of the header `ETag` in the storage's answers, in the order of the pieces.
    etags: Vec<String>,
    /// The SHA-256 of the file: 64 hexadecimal digits in lower case.
    sha256: String,
}

/// Makes a dump of an upload whose pieces have all come.
#[utoipa::path(post, path = "/direct-uploads/{id}/complete", params(("id" = String, Path)),
    request_body = Completion,
    responses((status = 201, body = Dump), (status = 404, body = Problem), (status = 409, body = Problem),
        (status = 415, body = Problem)))]
pub(super) async fn complete(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
    InBody(completion): InBody<Completion>,
) -> Result<(StatusCode, Json<Dump>), Problem> {
    let dump = state
        .blocking(move |state| state.complete_direct(&id, &completion.etags, &completion.sha256));
    Ok((StatusCode::CREATED, Json(dump.await?)))
}

/// Gives an upload up.
#[utoipa::path(delete, path = "/direct-uploads/{id}", params(("id" = String, Path)),
    responses((status = 204), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(super) async fn abandon(
    State(state): State<AppState>,
    InPath(id): InPath<String>,
) -> Result<StatusCode, Problem> {
    let abandoned = state.blocking(move |state| state.abandon_direct(&id));
    abandoned.await?;
    Ok(StatusCode::NO_CONTENT)
}
