//! Bodies of requests, from the network to a part.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Incoming;
use crate::problem::Problem;
use crate::state::AppState;

/// Pieces that wait for the disk; hyper makes them a few hundred kilobytes long at most.
const WAITING: usize = 4;
/// The time after which a body must come at a pace.
const GRACE: Duration = Duration::from_secs(30);
/// The slowest pace, in bytes a second.
const MIN_PACE: u64 = 1024;

/// Writes a body to a part, whatever of it comes. Gives the part, and what went wrong.
///
/// # Errors
/// If there is no thread.
pub async fn receive(
    state: &AppState,
    body: Body,
    mut incoming: Incoming,
) -> Result<(Incoming, Result<(), Problem>), Problem> {
    let (send, mut pieces) = mpsc::channel::<axum::body::Bytes>(WAITING);
    let writer = tokio::task::spawn_blocking(move || {
        let mut written = Ok(());
        while let Some(piece) = pieces.blocking_recv() {
            written = incoming.write(&piece);
            if written.is_err() {
                break;
            }
        }
        let written = written.and_then(|()| incoming.sync());
        (incoming, written)
    });
    let read = feed(state, body, &send).await;
    drop(send);
    let (incoming, written) = writer.await.map_err(Problem::internal)?;
    Ok((incoming, written.and(read)))
}

/// Hands the body on until it ends, stalls, breaks off or nobody takes it.
async fn feed(
    state: &AppState,
    mut body: Body,
    send: &mpsc::Sender<axum::body::Bytes>,
) -> Result<(), Problem> {
    let idle = state.config().body_timeout;
    let began = Instant::now();
    let mut received = 0;
    loop {
        let Ok(frame) = timeout(idle, body.frame()).await else {
            let seconds = idle.as_secs();
            return Err(slow(format!("nothing came for {seconds} s; send the rest")));
        };
        let frame = match frame {
            None => return Ok(()),
            Some(Err(_)) => {
                return Err(Problem::bad_request("the body broke off; send the rest"));
            }
            Some(Ok(frame)) => frame,
        };
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        received += piece.len() as u64;
        // The waiting for the disk counts too, so the limit is far below any disk's speed.
        let waited = began.elapsed();
        if waited > GRACE && received < waited.as_secs() * MIN_PACE {
            return Err(slow("the body comes too slowly; send the rest".to_owned()));
        }
        if send.send(piece).await.is_err() {
            // The writer says why.
            return Ok(());
        }
    }
}

fn slow(detail: String) -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "slow-body",
        "The body came too slowly",
        detail,
    )
}
