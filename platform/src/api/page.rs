//! The page: files of `platform/web/dist`, which lie inside the command.

use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use include_dir::{Dir, include_dir};

use crate::problem::Problem;

static DIST: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/web/dist");

/// Names below `/assets` have a hash of their content in them.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Answers a path that is no other route: a file of the page, or the page itself, whose own router
/// understands the rest.
pub(super) async fn serve(method: Method, uri: Uri) -> Response {
    if !matches!(method, Method::GET | Method::HEAD) {
        return Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "The method is not allowed",
            format!("{method} means nothing here; the API is below /api/v1"),
        )
        .into_response();
    }
    let path = uri.path().trim_start_matches('/');
    if let Some(file) = DIST.get_file(path) {
        let cache = match path.starts_with("assets/") {
            true => FOREVER,
            false => "no-cache",
        };
        return answer(file.contents(), media_type(path), cache);
    }
    let is_of_program = ["api/", "assets/", "metrics", "healthz"];
    if is_of_program.iter().any(|start| path.starts_with(start)) || path == "api" {
        return Problem::not_found(format!("there is no {}", uri.path())).into_response();
    }
    match DIST.get_file("index.html") {
        Some(file) => answer(file.contents(), "text/html; charset=utf-8", "no-cache"),
        None => Problem::internal("the page was not built").into_response(),
    }
}

fn answer(bytes: &'static [u8], kind: &'static str, cache: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, HeaderValue::from_static(cache)),
    ];
    (headers, bytes).into_response()
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json" | "webmanifest") => "application/json",
        Some("woff2") => "font/woff2",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
