//! Removes what is too old or too much: dumps by age and by space, abandoned uploads.

use std::collections::HashMap;
use std::time::Duration;

use http::StatusCode;

use crate::catalogue::JobState;
use crate::events::Event;
use crate::ids::DumpId;
use crate::problem::Problem;
use crate::state::AppState;
use crate::store::{self, PartId};
use crate::time::Millis;

/// How often it looks.
const PAUSE: Duration = Duration::from_secs(600);
/// How long an upload may take.
const UPLOAD_DAYS: u64 = 7;

/// How old objects are that nothing leads to, when they go.
const ORPHANS: Duration = Duration::from_secs(24 * 60 * 60);

const DAY: u64 = 24 * 60 * 60 * 1000;

/// Looks again and again.
pub async fn run(state: AppState) {
    loop {
        // A failure is in the log, and the next look may succeed.
        let _ = state.blocking(|state| sweep(state, Millis::now())).await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Removes what is due. Blocks.
///
/// # Errors
/// If the disk or the catalogue fails.
pub fn sweep(state: &AppState, now: Millis) -> Result<(), Problem> {
    state.views().expire();
    for upload in state.catalogue().uploads()? {
        let part: Result<PartId, ()> = upload.id.parse();
        if let Ok(part) = part
            && now.since(upload.created_at) > UPLOAD_DAYS * DAY
            && let Ok(_writer) = state.writer(&part)
        {
            state
                .store()
                .delete_part(&part)
                .map_err(Problem::internal)?;
            if let Some(direct) = state.store().direct() {
                let abandoned = direct.abandon(&part);
                abandoned.map_err(|error| store::problem(&error))?;
            }
            state.catalogue().delete_upload(&upload.id)?;
            tracing::info!(
                upload = upload.id,
                "an upload that no client continued is removed"
            );
        }
    }
    let uploads = state.catalogue().uploads()?;
    let is_upload = |part: &PartId| {
        uploads
            .iter()
            .any(|it| it.dump.is_none() && it.id == part.as_str())
    };
    let swept = state.store().sweep(ORPHANS, &is_upload);
    match swept.map_err(|error| store::problem(&error))? {
        0 => {}
        objects => tracing::info!(objects, "objects that nothing leads to are removed"),
    }
    let keep = state.config().keep;
    let removable = state.catalogue().removable()?;
    let mut sizes = HashMap::new();
    if keep.bytes.is_some() {
        sizes = state.store().occupied().map_err(Problem::internal)?;
    }
    let mut occupied: u64 = sizes.values().sum();
    for (dump, uploaded_at, _) in removable {
        let is_old = keep
            .days
            .is_some_and(|days| now.since(uploaded_at) > u64::from(days) * DAY);
        let is_too_much = keep.bytes.is_some_and(|limit| occupied > limit);
        if !is_old && !is_too_much {
            continue;
        }
        occupied = occupied.saturating_sub(sizes.get(&dump).copied().unwrap_or(0));
        match state.delete_dump(&dump) {
            Ok(()) => {}
            // Another server of the fleet was first.
            Err(problem) if problem.status == StatusCode::NOT_FOUND => continue,
            Err(problem) => return Err(problem),
        }
        tracing::info!(%dump, is_old, is_too_much, "a dump is removed");
    }
    Ok(())
}

impl AppState {
    /// Deletes a dump with its analysis, and cancels its job. Blocks.
    ///
    /// # Errors
    /// If there is none, or the disk fails.
    pub fn delete_dump(&self, id: &DumpId) -> Result<(), Problem> {
        let dump = self.dump(id)?;
        let is_under_way = |state: JobState| matches!(state, JobState::Queued | JobState::Running);
        if let Some(job) = dump.job.filter(|job| is_under_way(job.state)) {
            // It may have ended meanwhile, and on a full disk the catalogue cannot note it yet.
            self.jobs().end_worker(job.id);
            let _ = self.cancel(job.id);
        }
        // Its files stay on the disk as long as they are open.
        self.views().forget(id.as_str());
        // Files first: on a full disk their room is what the catalogue needs.
        self.store()
            .delete(id)
            .map_err(|error| store::problem(&error))?;
        self.catalogue().delete_dump(id)?;
        self.events().send(Event::DumpDeleted { id: id.clone() });
        Ok(())
    }
}
