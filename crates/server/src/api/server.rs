//! The server itself: what it may do, how it is.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use hprof_analysis::resident::Resident;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Caller;
use crate::catalogue::Role;
use crate::connections::{PlaceFigures, Standing};
use crate::problem::Problem;
use crate::pushed::SharingFigures;
use crate::state::AppState;
use hprof_pushed::Figures;

/// Version, limits and abilities of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ServerInfo {
    /// The version of hprof-rs.
    version: &'static str,
    /// The caller's role.
    role: Role,
    limits: Limits,
    jobs: JobCounts,
    /// Folders from which dumps can be added by their path.
    allowed_roots: Vec<String>,
    /// True if the server lists the JVMs of its machine.
    jvms: bool,
    /// True if uploads may go straight to the server's storage (docs/storage.md).
    direct_uploads: bool,
}

/// Limits in bytes.
#[derive(Debug, Serialize, ToSchema)]
struct Limits {
    /// The memory of all workers together.
    memory: u64,
    /// The largest dump.
    upload: u64,
    /// The free bytes of the disk.
    disk_free: u64,
}

/// How many jobs there are.
#[derive(Debug, Serialize, ToSchema)]
struct JobCounts {
    /// Jobs that run.
    running: u64,
    /// Jobs that wait.
    queued: u64,
}

/// Tells what the server is and may do.
#[utoipa::path(get, path = "/server", responses((status = 200, body = ServerInfo)))]
pub(super) async fn show(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ServerInfo>, Problem> {
    let info = state.blocking(move |state| {
        let config = state.config();
        let (running, queued) = state.catalogue().job_counts()?;
        let roots = config.allowed_roots.iter();
        Ok(ServerInfo {
            version: env!("CARGO_PKG_VERSION"),
            role: caller.role,
            limits: Limits {
                memory: config.memory,
                upload: config.max_upload,
                disk_free: state.store().free_bytes().map_err(Problem::internal)?,
            },
            jobs: JobCounts { running, queued },
            allowed_roots: roots.map(|root| root.display().to_string()).collect(),
            jvms: state.live().is_some() || config.network.is_some(),
            direct_uploads: state.upload_origin().is_some(),
        })
    });
    Ok(Json(info.await?))
}

/// Says that the server answers and its catalogue works.
pub(super) async fn health(State(state): State<AppState>) -> Result<&'static str, Problem> {
    state.health().await?;
    Ok("ok\n")
}

/// Figures in the text format of Prometheus.
pub(super) async fn metrics(
    State(state): State<AppState>,
    standing: Option<Extension<Standing>>,
) -> Result<Response, Problem> {
    // Routers in tests are asked without a connection.
    let places = standing.map_or_else(PlaceFigures::default, |it| it.figures());
    let text = state.blocking(move |state| {
        let (running, queued) = state.catalogue().job_counts()?;
        let (dumps, bytes) = state.catalogue().totals()?;
        let uploads = state.catalogue().uploads()?;
        let uploads = uploads.iter().filter(|it| it.dump.is_none()).count() as u64;
        let free = state.store().free_bytes().map_err(Problem::internal)?;
        let resident = Resident::now().unwrap_or_default().all;
        let mut text = String::new();
        for (name, about, value) in [
            ("jobs_running", "Jobs with a worker.", running),
            ("jobs_queued", "Jobs that wait.", queued),
            ("dumps", "Dumps in the catalogue.", dumps),
            ("dump_bytes", "Bytes of all dumps.", bytes),
            ("uploads", "Uploads under way.", uploads),
            ("disk_free_bytes", "Free bytes of the disk.", free),
            ("resident_bytes", "Memory of the server.", resident),
            ("connections_without_token", "Connections that have shown no token.", places.without_token),
            ("connections_with_token", "Connections that have shown a token.", places.with_token),
        ] {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "# HELP hprof_rs_{name} {about}\n# TYPE hprof_rs_{name} gauge\nhprof_rs_{name} {value}\n"
            );
        }
        let name = "hprof_rs_http_responses_total";
        let _ = write!(text, "# HELP {name} Answers by class of status.\n# TYPE {name} counter\n");
        for (class, number) in state.counters().classes() {
            let _ = writeln!(text, "{name}{{class=\"{class}xx\"}} {number}");
        }
        for (name, about, number) in [
            ("gave_way", "Connections without a token that ended for newcomers.", places.gave_way),
            ("too_slow", "Connections that took an answer too slowly.", places.too_slow),
        ] {
            let name = format!("hprof_rs_connections_{name}_total");
            let _ = write!(text, "# HELP {name} {about}\n# TYPE {name} counter\n{name} {number}\n");
        }
        if let Some(pushed) = state.pushed() {
            write_pushed(&mut text, &pushed.store.figures());
            if let Some(sharing) = &pushed.sharing {
                write_sharing(&mut text, sharing.figures());
            }
        }
        Ok(text)
    });
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text.await?).into_response())
}

/// Adds the figures of their exchange between servers.
fn write_sharing(text: &mut String, SharingFigures { others, age }: SharingFigures) {
    let others = (
        "other_servers",
        "Other servers of the fleet that were seen lately.",
        Some(others),
    );
    let age = (
        "shared_age_seconds",
        "Seconds since this server exchanged pushed profiles with the fleet.",
        age,
    );
    for (name, about, value) in [others, age] {
        let Some(value) = value else { continue };
        let name = format!("hprof_rs_pushed_{name}");
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP {name} {about}\n# TYPE {name} gauge\n{name} {value}\n"
        );
    }
}

/// Adds the figures of pushed profiles.
fn write_pushed(text: &mut String, figures: &Figures) {
    let Figures {
        requests,
        bytes,
        profiles,
        rejected,
        refused,
        repeated,
        waiting,
        segments,
        segment_bytes,
        segment_rows,
        memory_rows,
        memory_bytes,
    } = *figures;
    for (name, kind, about, value) in [
        (
            "requests_total",
            "counter",
            "Pushed requests that were acknowledged.",
            requests,
        ),
        (
            "received_bytes_total",
            "counter",
            "Bytes of these as they came.",
            bytes,
        ),
        (
            "profiles_total",
            "counter",
            "Pushed profiles that are kept.",
            profiles,
        ),
        (
            "rejected_profiles_total",
            "counter",
            "Pushed profiles that are not kept.",
            rejected,
        ),
        (
            "refused_requests_total",
            "counter",
            "Pushed requests that were refused.",
            refused,
        ),
        (
            "repeated_requests_total",
            "counter",
            "Pushed requests that came before, and count once.",
            repeated,
        ),
        (
            "waiting_requests",
            "gauge",
            "Pushed requests that wait for the disk.",
            waiting,
        ),
        (
            "segments",
            "gauge",
            "Segments of pushed profiles.",
            segments,
        ),
        (
            "segment_bytes",
            "gauge",
            "Bytes of all segments.",
            segment_bytes,
        ),
        (
            "segment_rows",
            "gauge",
            "Rows of all segments.",
            segment_rows,
        ),
        (
            "memory_rows",
            "gauge",
            "Rows of pushed profiles that are in no segment yet.",
            memory_rows,
        ),
        (
            "memory_bytes",
            "gauge",
            "Memory of these, estimated.",
            memory_bytes,
        ),
    ] {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP hprof_rs_pushed_{name} {about}\n# TYPE hprof_rs_pushed_{name} {kind}\n\
             hprof_rs_pushed_{name} {value}\n"
        );
    }
}
