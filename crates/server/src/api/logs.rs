//! Collections and thread dumps of logs and recordings, and findings of recordings: what each shows, several side by side, and the
//! files of one rotated log as one.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::description::{Octets, ReportFile};
use super::extract::{InBody, InPath, InQuery};
use super::files;
use crate::catalogue::{Dump, DumpKind};
use crate::ids::DumpId;
use crate::problem::Problem;
use crate::state::{Analysis, AppState, REPORT, REPORT_PAGE};
use crate::views::logs::{self as views, GcComparison, Named, ThreadsTogether};

/// Files of one comparison.
const MAX_FILES: usize = 50;

/// The things that logs and recordings show.
#[derive(Debug, Clone, Copy)]
enum Shown {
    Collections,
    Threads,
    Findings,
}

impl Shown {
    /// The file of an analysis that has it, without its end.
    fn file(self, analysis: &Analysis, end: &str) -> Result<std::path::PathBuf, Problem> {
        let name = match (self, analysis.kind, end) {
            (Self::Collections, DumpKind::GcLog, "json")
            | (Self::Threads, DumpKind::ThreadDump, "json") => REPORT.to_owned(),
            (Self::Collections, DumpKind::GcLog, _) | (Self::Threads, DumpKind::ThreadDump, _) => {
                REPORT_PAGE.to_owned()
            }
            (Self::Collections, DumpKind::Profile, _) => format!("gc.{end}"),
            (Self::Threads, DumpKind::Profile, _) => format!("stacks.{end}"),
            (Self::Findings, DumpKind::Profile, _) => format!("findings.{end}"),
            _ => return Err(self.missing(&analysis.dump)),
        };
        let path = analysis.index.join(name);
        match path.exists() {
            true => Ok(path),
            false => Err(self.missing(&analysis.dump)),
        }
    }

    fn missing(self, id: &DumpId) -> Problem {
        Problem::not_found(match self {
            Self::Collections => format!(
                "{id} has no collections; logs (-Xlog:gc*) and recordings of Flight Recorder have them"
            ),
            Self::Threads => format!(
                "{id} has no thread dumps; files of jstack and jcmd, logs and recordings of Flight Recorder have \
                 them"
            ),
            Self::Findings => format!(
                "{id} has no findings; recordings of Flight Recorder that were analysed by this version have them"
            ),
        })
    }
}

async fn show(state: AppState, id: DumpId, shown: Shown) -> Result<Response, Problem> {
    let found = state.blocking(move |state| {
        let analysis = state.analysis(&id)?;
        Ok((shown.file(&analysis, "json")?, analysis.held))
    });
    let (path, _held) = found.await?;
    files::show(&path, "application/json").await
}

async fn download(state: AppState, id: DumpId, shown: Shown) -> Result<Response, Problem> {
    let found = state.blocking(move |state| {
        let analysis = state.analysis(&id)?;
        Ok((shown.file(&analysis, "html")?, analysis.name, analysis.held))
    });
    let (path, name, _held) = found.await?;
    // It has a script inside, which the policy of this server forbids: it is for keeping.
    files::download(&path, &format!("{name}.html"), &HeaderMap::new()).await
}

/// Shows the collections of a garbage collection log or a recording (docs/gc.md).
#[utoipa::path(get, path = "/dumps/{id}/gc", tag = "logs", params(("id" = DumpId, Path)),
    responses((status = 200, body = ReportFile)))]
async fn gc(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<Response, Problem> {
    show(state, id, Shown::Collections).await
}

/// Sends the collections of a log or a recording as a page of its own.
#[utoipa::path(get, path = "/dumps/{id}/gc.html", tag = "logs", params(("id" = DumpId, Path)),
    responses((status = 200, body = Octets, content_type = "application/octet-stream")))]
async fn gc_page(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<Response, Problem> {
    download(state, id, Shown::Collections).await
}

/// Shows the thread dumps of a file or a recording (docs/stacks.md).
#[utoipa::path(get, path = "/dumps/{id}/stacks", tag = "logs", params(("id" = DumpId, Path)),
    responses((status = 200, body = ReportFile)))]
async fn stacks(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<Response, Problem> {
    show(state, id, Shown::Threads).await
}

/// Sends the thread dumps of a file or a recording as a page of its own.
#[utoipa::path(get, path = "/dumps/{id}/stacks.html", tag = "logs", params(("id" = DumpId, Path)),
    responses((status = 200, body = Octets, content_type = "application/octet-stream")))]
async fn stacks_page(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<Response, Problem> {
    download(state, id, Shown::Threads).await
}

/// Shows the findings of a recording, worst first (docs/report-schema.md).
#[utoipa::path(get, path = "/dumps/{id}/findings", tag = "logs", params(("id" = DumpId, Path)),
    responses((status = 200, body = ReportFile)))]
async fn findings(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<Response, Problem> {
    show(state, id, Shown::Findings).await
}

/// Sends the findings of a recording as a page of its own.
#[utoipa::path(get, path = "/dumps/{id}/findings.html", tag = "logs", params(("id" = DumpId, Path)),
    responses((status = 200, body = Octets, content_type = "application/octet-stream")))]
async fn findings_page(
    State(state): State<AppState>,
    InPath(id): InPath<DumpId>,
) -> Result<Response, Problem> {
    download(state, id, Shown::Findings).await
}

/// The files of a comparison.
#[derive(Debug, Deserialize, IntoParams)]
struct Several {
    /// Ids with commas between them, two to fifty.
    dumps: String,
}

fn ids<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Vec<DumpId>, Problem> {
    let parse = |text: &str| {
        let id = text.trim().parse();
        id.map_err(|error| Problem::bad_request(format!("{text}: {error}")))
    };
    let ids: Vec<DumpId> = texts.map(parse).collect::<Result<_, _>>()?;
    let is_twice = |at: usize| ids[..at].contains(&ids[at]);
    if ids.len() < 2 || ids.len() > MAX_FILES || (0..ids.len()).any(is_twice) {
        return Err(Problem::bad_request(format!(
            "name 2 to {MAX_FILES} files, each once"
        )));
    }
    Ok(ids)
}

/// Compares garbage collection logs or recordings, in this order.
#[utoipa::path(get, path = "/gc", tag = "logs", params(Several),
    responses((status = 200, body = GcComparison)))]
async fn compare_gc(
    State(state): State<AppState>,
    InQuery(several): InQuery<Several>,
) -> Result<Json<GcComparison>, Problem> {
    let ids = ids(several.dumps.split(','))?;
    let permit = state.views().permit().await?;
    let work = move |state: &AppState| {
        let _permit = permit;
        let mut named = Vec::new();
        for id in &ids {
            let analysis = state.analysis(id)?;
            let path = Shown::Collections.file(&analysis, "json")?;
            named.push(Named::of(&analysis, path));
        }
        Ok(views::compare(&named)?)
    };
    state.blocking(work).await.map(Json)
}

/// Shows thread dumps of several files together, oldest first: what moved between them.
#[utoipa::path(get, path = "/stacks", tag = "logs", params(Several),
    responses((status = 200, body = ThreadsTogether)))]
async fn compare_stacks(
    State(state): State<AppState>,
    InQuery(several): InQuery<Several>,
) -> Result<Json<ThreadsTogether>, Problem> {
    let ids = ids(several.dumps.split(','))?;
    let permit = state.views().permit().await?;
    let work = move |state: &AppState| {
        let _permit = permit;
        let mut named = Vec::new();
        for id in &ids {
            let analysis = state.analysis(id)?;
            if analysis.kind != DumpKind::ThreadDump {
                let detail = format!("{id} is no file of thread dumps");
                return Err(Problem::conflict(detail));
            }
            let path = analysis.file.clone();
            named.push(Named::of(&analysis, path));
        }
        Ok(views::together(named)?)
    };
    state.blocking(work).await.map(Json)
}

/// The files of one rotated log.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Join {
    /// The ids of garbage collection logs, two to fifty.
    dumps: Vec<String>,
    /// The name to show for all of them.
    name: Option<String>,
}

/// Puts the files of one rotated garbage collection log together, in the order of their times; the result is a log
/// like others.
#[utoipa::path(post, path = "/gc", tag = "logs", request_body = Join,
    responses((status = 201, body = Dump), (status = 507, body = Problem)))]
async fn join(
    State(state): State<AppState>,
    InBody(join): InBody<Join>,
) -> Result<(StatusCode, Json<Dump>), Problem> {
    let ids = ids(join.dumps.iter().map(String::as_str))?;
    let _body = state.uploads().body().await?;
    let dump = state.blocking(move |state| state.join_logs(&ids, join.name.as_deref()));
    Ok((StatusCode::CREATED, Json(dump.await?)))
}

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(gc))
        .routes(routes!(gc_page))
        .routes(routes!(stacks))
        .routes(routes!(stacks_page))
        .routes(routes!(findings))
        .routes(routes!(findings_page))
        .routes(routes!(compare_gc, join))
        .routes(routes!(compare_stacks))
}
