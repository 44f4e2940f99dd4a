//! Routes, authentication, limits.

mod page;
mod views;

use axum::Router;

use crate::state::AppState;

/// All routes.
pub fn router(state: AppState) -> Router {
    let (api, _) = views::routes().split_for_parts();
    Router::new()
        .nest("/api/v1", api)
        .fallback(page::serve)
        .with_state(state)
}
