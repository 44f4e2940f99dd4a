//! Questions over many dumps, `/fleet/...`.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{InPath, InQuery};
use super::views::answer::respond;
use crate::catalogue::Catalogue;
use crate::catalogue::fleet::Measure;
use crate::fleet;
use crate::ids::SuspectCode;
use crate::problem::Problem;
use crate::state::AppState;
use crate::views::page::TableQuery;
use crate::views::table::Table;

/// Dumps of a host that growth looks at, if the request says nothing.
const LAST: u64 = 5;
/// The fewest dumps of a host that growth looks at.
const MIN_LAST: u64 = 3;
/// The most dumps of a host that growth looks at.
const MAX_LAST: u64 = 30;

/// Which service.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ServiceParams {
    /// The label `service`; dumps without it belong to the service `unknown`.
    service: String,
}

/// Which classes have grown.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct GrowthParams {
    /// The label `service`; dumps without it belong to the service `unknown`.
    service: String,
    /// The last dumps of each host that count: 5 without it, from 3 to 30.
    last: Option<u64>,
    /// The size that has to grow.
    #[serde(default)]
    #[param(inline)]
    by: Measure,
}

/// Which builds to compare.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct RegressionParams {
    /// The label `service`; dumps without it belong to the service `unknown`.
    service: String,
    /// The label `build` of the dumps before.
    old: String,
    /// The label `build` of the dumps after.
    new: String,
    /// The size to compare.
    #[serde(default)]
    #[param(inline)]
    by: Measure,
}

/// Which suspects are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SuspectParams {
    /// Only those that this service carries.
    service: Option<String>,
    /// Only the one with this code.
    #[param(inline)]
    code: Option<SuspectCode>,
}

/// Asks the catalogue for a table, and answers in the form that the query names.
async fn table(
    state: AppState,
    query: TableQuery,
    ask: impl FnOnce(&dyn Catalogue, &TableQuery) -> Result<Table, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let form = query.format;
    let found = state.blocking(move |state| ask(state.catalogue(), &query));
    respond(found.await?, form)
}

/// The services with their hosts, dumps and live heaps.
#[utoipa::path(get, path = "/fleet/services", tag = "fleet", params(TableQuery),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))))]
async fn services(
    State(state): State<AppState>,
    InQuery(query): InQuery<TableQuery>,
) -> Result<Response, Problem> {
    table(state, query, fleet::services).await
}

/// The bytes that equal strings and arrays waste, by service.
#[utoipa::path(get, path = "/fleet/waste", tag = "fleet", params(TableQuery),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))))]
async fn waste(
    State(state): State<AppState>,
    InQuery(query): InQuery<TableQuery>,
) -> Result<Response, Problem> {
    table(state, query, fleet::waste).await
}

/// The builds of a service, the newest first.
#[utoipa::path(get, path = "/fleet/builds", tag = "fleet", params(TableQuery, ServiceParams),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))))]
async fn builds(
    State(state): State<AppState>,
    InQuery(query): InQuery<TableQuery>,
    InQuery(of): InQuery<ServiceParams>,
) -> Result<Response, Problem> {
    table(state, query, move |catalogue, query| {
        fleet::builds(catalogue, &of.service, query)
    })
    .await
}

/// The classes of a service that grew from each of the last dumps to the next.
#[utoipa::path(get, path = "/fleet/growth", tag = "fleet", params(TableQuery, GrowthParams),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))))]
async fn growth(
    State(state): State<AppState>,
    InQuery(query): InQuery<TableQuery>,
    InQuery(of): InQuery<GrowthParams>,
) -> Result<Response, Problem> {
    let last = of.last.unwrap_or(LAST);
    if !(MIN_LAST..=MAX_LAST).contains(&last) {
        let detail =
            format!("last={last}: growth looks at {MIN_LAST} to {MAX_LAST} dumps of a host");
        return Err(Problem::bad_request(detail));
    }
    table(state, query, move |catalogue, query| {
        fleet::growth(catalogue, &of.service, last, of.by, query)
    })
    .await
}

/// The classes that take more in a new build of a service than in an old one.
#[utoipa::path(get, path = "/fleet/regressions", tag = "fleet", params(TableQuery, RegressionParams),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))))]
async fn regressions(
    State(state): State<AppState>,
    InQuery(query): InQuery<TableQuery>,
    InQuery(of): InQuery<RegressionParams>,
) -> Result<Response, Problem> {
    table(state, query, move |catalogue, query| {
        let builds = [of.old.as_str(), of.new.as_str()];
        fleet::regressions(catalogue, &of.service, builds, of.by, query)
    })
    .await
}

/// Leak suspects over all services, those of most services first.
#[utoipa::path(get, path = "/fleet/suspects", tag = "fleet", params(TableQuery, SuspectParams),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))))]
async fn suspects(
    State(state): State<AppState>,
    InQuery(query): InQuery<TableQuery>,
    InQuery(of): InQuery<SuspectParams>,
) -> Result<Response, Problem> {
    table(state, query, move |catalogue, query| {
        let code = of.code.as_ref().map(SuspectCode::as_str);
        fleet::suspects(catalogue, of.service.as_deref(), code, query)
    })
    .await
}

/// The services that carry a suspect.
#[utoipa::path(get, path = "/fleet/suspects/{code}", tag = "fleet",
    params(("code" = SuspectCode, Path, description = "The code of the suspect"), TableQuery),
    responses((status = 200, content((Table = "application/json"), (String = "text/csv")))))]
async fn carriers(
    State(state): State<AppState>,
    InPath(code): InPath<SuspectCode>,
    InQuery(query): InQuery<TableQuery>,
) -> Result<Response, Problem> {
    table(state, query, move |catalogue, query| {
        fleet::carriers(catalogue, code.as_str(), query)
    })
    .await
}

/// A question to exported tables in SQL, for DuckDB and Spark: a file of docs/fleet.
#[utoipa::path(get, path = "/fleet/sql/{file}", tag = "fleet",
    params(("file" = String, Path, description = "Its name, such as `growing-classes.sql`")),
    responses((status = 200, body = String, content_type = "text/plain"), (status = 404, body = Problem)))]
async fn sql(InPath(file): InPath<String>) -> Result<impl IntoResponse, Problem> {
    let mut files = fleet::SQL.iter();
    let Some((_, text)) = files.find(|known| known.0 == file) else {
        let names = fleet::SQL.map(|known| known.0).join(", ");
        return Err(Problem::not_found(format!("there are {names}")));
    };
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], *text))
}

/// The routes below `/api/v1`.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(services))
        .routes(routes!(waste))
        .routes(routes!(builds))
        .routes(routes!(growth))
        .routes(routes!(regressions))
        .routes(routes!(suspects))
        .routes(routes!(carriers))
        .routes(routes!(sql))
}
