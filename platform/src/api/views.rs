//! The routes of the views, `/dumps/{id}/...`.

use axum::Router;

use crate::state::AppState;

/// The routes below `/api/v1`.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
}
