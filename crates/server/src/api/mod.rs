//! Routes, authentication, limits. The only part of the server that knows HTTP.

mod continuous;
mod description;
mod direct;
mod dumps;
mod events;
pub mod extract;
mod files;
mod fleet;
mod guard;
mod jobs;
mod jvms;
mod logs;
mod page;
mod parameters;
mod problem;
mod push;
mod server;
mod uploads;
mod views;

pub use guard::Peer;

use axum::http::{Extensions, HeaderMap, StatusCode, Version, header};
use axum::routing::get;
use axum::{Json, Router, middleware};
use tower_http::compression::CompressionLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::problem::Problem;
use crate::state::AppState;

/// The head of the description of the API.
#[derive(OpenApi)]
#[openapi(info(
    title = "hprof-rs serve",
    description = "Heap dumps and profiles of JVMs: kept, analysed, shown. Sizes are bytes, times are \
        milliseconds since 1970-01-01 UTC. Errors are problem details (RFC 9457)."
))]
struct Document;

/// The routes that the description has, with it.
fn described() -> (Router<AppState>, utoipa::openapi::OpenApi) {
    let api = OpenApiRouter::new()
        .routes(routes!(server::show))
        .routes(routes!(dumps::list, dumps::put, dumps::post))
        .routes(routes!(dumps::show, dumps::change, dumps::delete))
        .routes(routes!(dumps::file))
        .routes(routes!(dumps::report))
        .routes(routes!(dumps::report_page))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::show))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .routes(routes!(events::listen))
        .routes(routes!(uploads::create, uploads::options))
        .routes(routes!(uploads::tell, uploads::append, uploads::terminate))
        .routes(routes!(direct::begin))
        .routes(routes!(direct::addresses))
        .routes(routes!(direct::complete))
        .routes(routes!(direct::abandon))
        .merge(views::routes())
        .merge(jvms::routes())
        .merge(logs::routes())
        .merge(fleet::routes())
        .merge(continuous::routes());
    let (api, document) = OpenApiRouter::with_openapi(Document::openapi())
        .nest("/api/v1", api)
        .split_for_parts();
    (api, description::complete(document))
}

/// The description of the API.
#[cfg(test)]
fn document() -> utoipa::openapi::OpenApi {
    described().1
}

/// All routes.
pub fn router(state: AppState) -> Router {
    let (api, document) = described();
    api.route(
        "/api/v1/openapi.json",
        get(|| async move { Json(document) }),
    )
    .route(guard::HEALTH, get(server::health))
    .route("/metrics", get(server::metrics))
    .merge(push::routes())
    .fallback(page::serve)
    .method_not_allowed_fallback(wrong_method)
    .layer(CompressionLayer::new().compress_when(is_text))
    // The guard has a limit for bodies, and uploads have another.
    .layer(axum::extract::DefaultBodyLimit::disable())
    .layer(middleware::from_fn_with_state(state.clone(), guard::guard))
    .with_state(state)
}

/// Returns whether an answer is worth compressing: tables, pages and scripts are, dumps are large and events
/// must not wait for each other.
fn is_text(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let texts = [
        "application/json",
        "image/svg",
        "text/css",
        "text/csv",
        "text/html",
        "text/javascript",
    ];
    texts.iter().any(|text| kind.starts_with(text))
}

async fn wrong_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        "The method is not allowed",
        "/api/v1/openapi.json lists the methods of each path",
    )
}
