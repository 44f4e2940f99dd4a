//! Errors as clients see them: problem details (RFC 9457).

use std::fmt;

use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::live::{Refused, RefusedKind};
use crate::views::ViewError;

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

impl From<ViewError> for Problem {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Invalid(detail) => Self::bad_request(detail),
            ViewError::Missing(detail) => Self::not_found(detail),
            ViewError::NotReady(detail) => Self::not_ready(detail),
            ViewError::Busy(detail) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "Too much at once",
                detail,
            ),
            ViewError::TooLong(detail) => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "too-long",
                "The answer takes too long",
                detail,
            ),
            ViewError::Failed(error) => Self::internal(error),
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused.kind {
            RefusedKind::Missing => Self::not_found(refused.text),
            RefusedKind::Forbidden => Self::new(
                StatusCode::FORBIDDEN,
                "jvm-refused",
                "Not for this server",
                refused.text,
            ),
            RefusedKind::Refused => Self::conflict(refused.text),
            RefusedKind::Late => Self::new(
                StatusCode::GATEWAY_TIMEOUT,
                "late",
                "No answer in time",
                refused.text,
            ),
            RefusedKind::Failed => Self::internal(refused.text),
        }
    }
}
