//! Profiles that other programs push: `/v1development/profiles` of OTLP/HTTP
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>), Pyroscope's `/ingest`, and its push service by the protocol of
//! Connect (<https://connectrpc.com/docs/protocol/>).
//!
//! They answer as their protocols have it. What the guard refuses is a problem here too, with the status that these
//! protocols expect.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use hprof_pushed::{Ingest, Protocol, Taken};
use hprof_stacks::pictures::message::Message;
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;

use super::extract::InQuery;
use crate::problem::Problem;
use crate::pushed::{MAX_BODY, Pushed, Refusal, Room};
use crate::state::AppState;

/// How long a body may take.
const BODY_TIME: Duration = Duration::from_secs(60);
/// When a sender may try again, in seconds.
const AGAIN: HeaderValue = HeaderValue::from_static("2");
const PROTOBUF: &str = "application/x-protobuf";
/// Protocol Buffers as Connect has them.
const PROTO: &str = "application/proto";
const JSON: &str = "application/json";

/// Why a push is not taken.
struct Refused {
    status: StatusCode,
    /// The code of gRPC (<https://grpc.io/docs/guides/status-codes/>).
    code: u32,
    detail: String,
}

/// Codes of gRPC.
mod code {
    pub(super) const INVALID_ARGUMENT: u32 = 3;
    pub(super) const RESOURCE_EXHAUSTED: u32 = 8;
    pub(super) const INTERNAL: u32 = 13;
    pub(super) const UNAVAILABLE: u32 = 14;
}

impl Refused {
    fn invalid(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            code: code::INVALID_ARGUMENT,
            detail: detail.into(),
        }
    }

    fn busy() -> Self {
        Self {
            status: StatusCode::TOO_MANY_REQUESTS,
            code: code::RESOURCE_EXHAUSTED,
            detail: "too many profiles come at once; repeat the request".to_owned(),
        }
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid(detail) => Self::invalid(StatusCode::BAD_REQUEST, detail),
            Refusal::TooLarge(detail) => Self::invalid(StatusCode::PAYLOAD_TOO_LARGE, detail),
            Refusal::Busy => Self::busy(),
            Refusal::Disk(error) => {
                let problem = crate::intake::of_disk(&error);
                Self {
                    status: StatusCode::SERVICE_UNAVAILABLE,
                    code: code::UNAVAILABLE,
                    detail: problem.detail,
                }
            }
            Refusal::Failed(problem) => Self::from(problem),
        }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self {
            status: problem.status,
            code: code::INTERNAL,
            detail: problem.detail,
        }
    }
}

/// Adds when a refused request may be repeated.
fn with_retry(mut response: Response) -> Response {
    let can_retry = matches!(
        response.status(),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    if can_retry {
        response.headers_mut().insert(header::RETRY_AFTER, AGAIN);
    }
    response
}

fn text_of(headers: &HeaderMap, name: header::HeaderName) -> &str {
    let value = headers.get(name).and_then(|it| it.to_str().ok());
    value.unwrap_or_default()
}

/// The type of a body without its parameters.
fn media_type(headers: &HeaderMap) -> &str {
    let text = text_of(headers, header::CONTENT_TYPE);
    text.split(';').next().unwrap_or_default().trim()
}

/// True for a gzipped body.
fn is_packed(headers: &HeaderMap) -> Result<bool, Refused> {
    match text_of(headers, header::CONTENT_ENCODING) {
        "" | "identity" => Ok(false),
        "gzip" => Ok(true),
        _ => Err(Refused::invalid(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "content-encoding: gzip or none is read",
        )),
    }
}

fn store(state: &AppState) -> Result<&Pushed, Refused> {
    let missing = || Problem::not_found("this server keeps no pushed profiles").into();
    state.pushed().ok_or_else(missing)
}

/// Reads a body, with the room that it takes.
async fn read(pushed: &Pushed, body: Body) -> Result<(Room, Vec<u8>), Refused> {
    let too_large = || {
        let detail = format!("a body has at most {MAX_BODY} bytes; send smaller ones");
        Refused::invalid(StatusCode::PAYLOAD_TOO_LARGE, detail)
    };
    let size = body.size_hint();
    if size.lower() > MAX_BODY as u64 {
        return Err(too_large());
    }
    let expected = size.upper().and_then(|upper| usize::try_from(upper).ok());
    let expected = expected.unwrap_or(MAX_BODY).min(MAX_BODY);
    let room = pushed.room(expected).ok_or_else(Refused::busy)?;
    let read = timeout(BODY_TIME, Limited::new(body, MAX_BODY).collect()).await;
    let read = read.map_err(|_| {
        let detail = format!("the body must be complete after {} s", BODY_TIME.as_secs());
        Refused::invalid(StatusCode::REQUEST_TIMEOUT, detail)
    })?;
    let read = read.map_err(
        |error| match error.is::<http_body_util::LengthLimitError>() {
            true => too_large(),
            false => Refused::invalid(StatusCode::BAD_REQUEST, "the body broke off"),
        },
    )?;
    Ok((room, read.to_bytes().to_vec()))
}

/// Takes profiles of OTLP/HTTP.
async fn otlp(State(state): State<AppState>, headers: HeaderMap, body: Body) -> Response {
    match take_otlp(&state, &headers, body).await {
        Ok(taken) => {
            let mut answer = Message::default();
            if taken.rejected > 0 {
                let mut partly = Message::default();
                partly.number(1, taken.rejected);
                partly.bytes(2, taken.reason.as_bytes());
                answer.bytes(1, &partly.0);
            }
            ([(header::CONTENT_TYPE, PROTOBUF)], answer.0).into_response()
        }
        Err(refused) => with_retry(status_of(&refused, media_type(&headers))),
    }
}

async fn take_otlp(state: &AppState, headers: &HeaderMap, body: Body) -> Result<Taken, Refused> {
    if media_type(headers) != PROTOBUF {
        return Err(Refused::invalid(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!(
                "content-type: {PROTOBUF} is read; set the exporter's protocol to http/protobuf"
            ),
        ));
    }
    take(state, headers, body, Protocol::Otlp).await
}

/// Takes a request of any protocol.
async fn take(
    state: &AppState,
    headers: &HeaderMap,
    body: Body,
    protocol: Protocol,
) -> Result<Taken, Refused> {
    let is_packed = is_packed(headers)?;
    let pushed = store(state)?;
    let (_room, body) = read(pushed, body).await?;
    Ok(pushed.take(state, protocol, body, is_packed).await?)
}

/// An error as a `google.rpc.Status`, in the form of the request.
fn status_of(refused: &Refused, kind: &str) -> Response {
    if kind == JSON {
        let status = serde_json::json!({ "code": refused.code, "message": refused.detail });
        return (refused.status, axum::Json(status)).into_response();
    }
    let mut status = Message::default();
    status.number(1, refused.code.into());
    status.bytes(2, refused.detail.as_bytes());
    let headers = [(header::CONTENT_TYPE, PROTOBUF)];
    (refused.status, headers, status.0).into_response()
}

/// Takes a profile as Pyroscope does.
async fn ingest(
    State(state): State<AppState>,
    query: Result<InQuery<Ingest>, Problem>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let taken = match query {
        Err(problem) => Err(Refused::from(problem)),
        Ok(InQuery(query)) => take_ingest(&state, query, &headers, body).await,
    };
    match taken {
        Ok(Taken { rejected: 0, .. }) => StatusCode::OK.into_response(),
        Ok(taken) => (StatusCode::BAD_REQUEST, taken.reason).into_response(),
        Err(refused) => with_retry((refused.status, refused.detail).into_response()),
    }
}

async fn take_ingest(
    state: &AppState,
    query: Ingest,
    headers: &HeaderMap,
    body: Body,
) -> Result<Taken, Refused> {
    let kind = text_of(headers, header::CONTENT_TYPE).to_owned();
    take(state, headers, body, Protocol::Ingest(query, kind)).await
}

/// Takes profiles as Pyroscope's push service does.
async fn push_service(State(state): State<AppState>, headers: HeaderMap, body: Body) -> Response {
    let refused = match take_push_service(&state, &headers, body).await {
        Ok(Taken { rejected: 0, .. }) => {
            // The answer has no fields.
            return [(header::CONTENT_TYPE, PROTO)].into_response();
        }
        Ok(taken) => Refused::invalid(StatusCode::BAD_REQUEST, taken.reason),
        Err(refused) => refused,
    };
    let code = match refused.code {
        code::INVALID_ARGUMENT => "invalid_argument",
        code::RESOURCE_EXHAUSTED => "resource_exhausted",
        code::UNAVAILABLE => "unavailable",
        _ => "internal",
    };
    let error = serde_json::json!({ "code": code, "message": refused.detail });
    with_retry((refused.status, axum::Json(error)).into_response())
}

async fn take_push_service(
    state: &AppState,
    headers: &HeaderMap,
    body: Body,
) -> Result<Taken, Refused> {
    if ![PROTO, PROTOBUF].contains(&media_type(headers)) {
        return Err(Refused::invalid(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!(
                "content-type: {PROTO} is read; set the client's protocol to Connect without JSON"
            ),
        ));
    }
    take(state, headers, body, Protocol::PushService).await
}

/// The routes at the root.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/v1development/profiles", post(otlp))
        .route("/ingest", post(ingest))
        .route("/push.v1.PusherService/Push", post(push_service))
}
