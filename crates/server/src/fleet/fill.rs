//! Figures of dumps that were analysed before figures were kept.

use std::time::Duration;

use crate::catalogue::Figures;
use crate::ids::DumpId;
use crate::problem::Problem;
use crate::state::{AppState, REPORT};
use crate::store;
use crate::views::report::{MAX_REPORT, Report};

/// The pause after all have their figures: workers of an earlier version may still run.
const PAUSE: Duration = Duration::from_secs(600);
/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(30);
/// Dumps between two questions for more.
const STEP: usize = 20;

/// Reads the reports of such dumps, the newest first, until the server stops. Every server does; of two
/// that read the same report one keeps the figures.
pub async fn run(state: AppState) {
    loop {
        let pause = match fill(&state).await {
            Ok(0) => PAUSE,
            Ok(dumps) => {
                tracing::info!(dumps, "dumps have figures for questions over many");
                continue;
            }
            // The log has it.
            Err(_) => RETRY,
        };
        tokio::time::sleep(pause).await;
    }
}

/// Looks at some dumps; gives how many.
async fn fill(state: &AppState) -> Result<usize, Problem> {
    let next = state.blocking(|state| Ok(state.catalogue().without_figures(STEP)?));
    let dumps = next.await?;
    for dump in &dumps {
        let dump = dump.clone();
        // One at a time, so that the end of the server waits for one.
        state.blocking(move |state| keep(state, &dump)).await?;
    }
    Ok(dumps.len())
}

/// Keeps the figures of a dump. Blocks.
fn keep(state: &AppState, dump: &DumpId) -> Result<(), Problem> {
    let report = state.store().analysis_file(dump, REPORT, MAX_REPORT);
    let report = report.map_err(|error| store::problem(&error))?;
    let parsed = match report {
        Some(bytes) => Report::parse(&bytes),
        None => Err("there is no report".to_owned()),
    };
    let figures = parsed.as_ref().ok().map(Figures::of);
    if let Err(reason) = &parsed {
        tracing::warn!(%dump, reason, "a dump has no figures for questions over many");
    }
    state.catalogue().keep_figures(dump, figures.as_ref())?;
    Ok(())
}
