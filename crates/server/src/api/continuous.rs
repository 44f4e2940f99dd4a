//! Questions to pushed profiles, `/continuous/...`.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use hprof_pushed::{CostsOverTime, CostsQuery, Movers, Pushed, SeriesList, SeriesQuery, Window};

use super::extract::InQuery;
use crate::problem::Problem;
use crate::pushed;
use crate::state::AppState;
use crate::views::ViewError;
use crate::views::profile::{Flame, FlameQuery};

/// The direction of a flame graph.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Direction {
    /// True for stacks from their innermost method on.
    #[serde(default)]
    invert: bool,
}

/// How fine values over time are.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Steps {
    /// The number of steps: 240 without it, from 1 to 10,000. A step is a second at least.
    steps: Option<u32>,
}

/// The question before, in a comparison.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Before {
    /// The selector before; the one after without it.
    before_selector: Option<String>,
    /// The first millisecond before; as long as the window after, just before it, without both.
    before_from: Option<i64>,
    /// The millisecond after the last before.
    before_to: Option<i64>,
}

impl Before {
    /// The question before, its window, and the window after with both ends.
    fn of(self, query: &CostsQuery, window: Window) -> (CostsQuery, Window, Window) {
        let window = window.fixed();
        let old_window = match (self.before_from, self.before_to) {
            (None, None) if self.before_selector.is_none() => window.before(),
            (None, None) => window,
            (from, to) => Window { from, to },
        };
        let mut old = query.clone();
        if self.before_selector.is_some() {
            old.selector = self.before_selector;
        }
        (old, old_window, window)
    }
}

/// How many methods an answer has.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Limit {
    /// The methods in each direction: 20 without it, from 1 to 1,000.
    limit: Option<usize>,
}

/// The note of a server that shares a database and no object storage.
const ALONE: &str = "profiles that other servers of the fleet received are not here: servers share them over object storage only";

/// An answer with limits of it, as sentences.
trait Noted {
    fn notes(&mut self) -> &mut Vec<String>;
}

impl Noted for SeriesList {
    fn notes(&mut self) -> &mut Vec<String> {
        &mut self.notes
    }
}

impl Noted for Flame {
    fn notes(&mut self) -> &mut Vec<String> {
        &mut self.notes
    }
}

impl Noted for Movers {
    fn notes(&mut self) -> &mut Vec<String> {
        &mut self.notes
    }
}

impl Noted for CostsOverTime {
    fn notes(&mut self) -> &mut Vec<String> {
        &mut self.notes
    }
}

/// Asks the store about a window, on a thread for such work.
async fn ask<T: Noted + Send + 'static>(
    state: AppState,
    window: Window,
    question: impl FnOnce(&Pushed) -> Result<T, ViewError> + Send + 'static,
) -> Result<Json<T>, Problem> {
    let permit = state.views().permit().await?;
    let work = move |state: &AppState| {
        let _permit = permit;
        let pushed = state.pushed();
        let pushed =
            pushed.ok_or_else(|| Problem::not_found("this server keeps no pushed profiles"))?;
        // Before the question, which sees what came until it began.
        let notes = match &pushed.sharing {
            Some(sharing) => sharing.notes(window),
            None if state.catalogue().is_shared() => vec![ALONE.to_owned()],
            None => Vec::new(),
        };
        let mut answer = question(&pushed.store)?;
        answer.notes().extend(notes);
        Ok(answer)
    };
    state.blocking(work).await.map(Json)
}

/// The series of pushed profiles, with the values of their labels.
#[utoipa::path(get, path = "/continuous/series", tag = "continuous", params(SeriesQuery, Window),
    responses((status = 200, body = SeriesList)))]
async fn series(
    State(state): State<AppState>,
    InQuery(query): InQuery<SeriesQuery>,
    InQuery(window): InQuery<Window>,
) -> Result<Json<SeriesList>, Problem> {
    ask(
        state,
        window,
        move |store| Ok(store.series(&query, window)?),
    )
    .await
}

/// A flame graph of pushed profiles.
#[utoipa::path(get, path = "/continuous/flame", tag = "continuous",
    params(CostsQuery, Window, FlameQuery, Direction),
    responses((status = 200, body = Flame)))]
async fn flame(
    State(state): State<AppState>,
    InQuery(query): InQuery<CostsQuery>,
    InQuery(window): InQuery<Window>,
    InQuery(cut): InQuery<FlameQuery>,
    InQuery(direction): InQuery<Direction>,
) -> Result<Json<Flame>, Problem> {
    let is_inverted = direction.invert;
    ask(state, window, move |store| {
        pushed::flame(store, (&query, window), &cut, is_inverted)
    })
    .await
}

/// A flame graph of pushed profiles, with the difference to another window or selector.
#[utoipa::path(get, path = "/continuous/compare", tag = "continuous",
    params(CostsQuery, Window, Before, FlameQuery, Direction),
    responses((status = 200, body = Flame)))]
async fn compare(
    State(state): State<AppState>,
    InQuery(query): InQuery<CostsQuery>,
    InQuery(window): InQuery<Window>,
    InQuery(before): InQuery<Before>,
    InQuery(cut): InQuery<FlameQuery>,
    InQuery(direction): InQuery<Direction>,
) -> Result<Json<Flame>, Problem> {
    let is_inverted = direction.invert;
    ask(state, window, move |store| {
        let (old, old_window, window) = before.of(&query, window);
        pushed::compare(
            store,
            (&old, old_window),
            (&query, window),
            &cut,
            is_inverted,
        )
    })
    .await
}

/// The methods of pushed profiles whose own costs grew or shrank most, against another window or selector.
#[utoipa::path(get, path = "/continuous/movers", tag = "continuous",
    params(CostsQuery, Window, Before, Limit),
    responses((status = 200, body = Movers)))]
async fn movers(
    State(state): State<AppState>,
    InQuery(query): InQuery<CostsQuery>,
    InQuery(window): InQuery<Window>,
    InQuery(before): InQuery<Before>,
    InQuery(limit): InQuery<Limit>,
) -> Result<Json<Movers>, Problem> {
    ask(state, window, move |store| {
        let (old, old_window, window) = before.of(&query, window);
        Ok(store.movers((&old, old_window), (&query, window), limit.limit)?)
    })
    .await
}

/// Values of pushed profiles over time.
#[utoipa::path(get, path = "/continuous/values", tag = "continuous",
    params(CostsQuery, Window, Steps),
    responses((status = 200, body = CostsOverTime)))]
async fn values(
    State(state): State<AppState>,
    InQuery(query): InQuery<CostsQuery>,
    InQuery(window): InQuery<Window>,
    InQuery(steps): InQuery<Steps>,
) -> Result<Json<CostsOverTime>, Problem> {
    ask(state, window, move |store| {
        Ok(store.over_time(&query, window, steps.steps)?)
    })
    .await
}

/// The routes below `/api/v1`.
pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(series))
        .routes(routes!(flame))
        .routes(routes!(compare))
        .routes(routes!(movers))
        .routes(routes!(values))
}
