//! Parts of requests as values; what is wrong with them becomes a problem.

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::parameters;
use crate::problem::Problem;
use crate::state::AppState;

/// The parameters in the path of a route.
#[derive(Debug)]
pub struct InPath<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<AppState> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        parameters::of_path(parts).await.map(Self)
    }
}

/// The parameters after the question mark.
#[derive(Debug)]
pub struct InQuery<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for InQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, Problem> {
        parameters::of_query(&parts.uri).map(Self)
    }
}

/// A body in JSON.
#[derive(Debug)]
pub struct InBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<AppState> for InBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let found = Json::from_request(request, state).await;
        let Json(value) = found.map_err(|error| Problem::bad_request(error.body_text()))?;
        Ok(Self(value))
    }
}
