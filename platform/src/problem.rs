//! Errors as clients see them: problem details (RFC 9457).

use std::fmt;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// The media type of problems.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Why a request was not carried out.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// The kind of the problem, a word of this server such as `not-found`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The kind in words.
    pub title: &'static str,
    /// The HTTP status.
    #[serde(serialize_with = "as_number")]
    #[schema(value_type = u16)]
    pub status: StatusCode,
    /// The fault of this request, and the change that mends it.
    pub detail: String,
}

fn as_number<S: serde::Serializer>(status: &StatusCode, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(status.as_u16())
}

impl Problem {
    /// A problem of any kind.
    pub fn new(
        status: StatusCode,
        kind: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            title,
            status,
            detail: detail.into(),
        }
    }

    /// There is no such thing.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    /// A parameter, header or body is wrong.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-request",
            "The request is wrong",
            detail,
        )
    }

    /// The job of the dump is not done.
    pub fn not_ready(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "not-ready",
            "The analysis is not done",
            detail,
        )
    }

    /// The state of the thing forbids it.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "conflict",
            "Not in this state",
            detail,
        )
    }

    /// The database cannot be reached; which one and why is in the server's log.
    pub fn away(error: impl fmt::Display) -> Self {
        tracing::warn!(%error, "a request has to wait");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "database-away",
            "The database cannot be reached",
            "the server tries to reach its database again; repeat the request in a few seconds",
        )
    }

    /// The server failed; what happened is in its log, and not for visitors.
    pub fn internal(error: impl fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "The server failed",
            "the server's log says why",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(&self)).into_response();
        let kind = HeaderValue::from_static(MEDIA_TYPE);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = HeaderValue::from_static("3");
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}
