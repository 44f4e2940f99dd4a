//! Problems as answers.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::problem::{MEDIA_TYPE, Problem};

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
