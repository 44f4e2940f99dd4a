//! Bodies of requests, from the network to a part.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::body::HttpBody;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::Incoming;
use crate::problem::Problem;
use crate::state::AppState;

/// Pieces that wait for the disk; hyper makes them a few hundred kilobytes long at most.
const WAITING: usize = 4;
/// The time after which a body must come at a pace.
const GRACE: Duration = Duration::from_secs(30);
/// How long a body is read on that nobody takes, so that its sender sees the answer.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// And how much of it, in bytes.
const MAX_DRAIN: usize = 64 << 20;
/// The slowest pace, in bytes a second.
const MIN_PACE: u64 = 1024;

/// Writes a body to a part, whatever of it comes, until `end` is told. Gives the part, and what went
/// wrong.
///
/// # Errors
/// If there is no thread.
pub async fn receive(
    state: &AppState,
    body: Body,
    mut incoming: Incoming,
    end: &Notify,
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
    let read = tokio::select! {
        read = feed(state, body, &send) => read,
        () = end.notified() => Err(Problem::conflict("somebody has given the upload up")),
    };
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
            // The writer says why, to somebody who still sends and does not listen yet.
            let _ = timeout(DRAIN_TIME, drain(&mut body, idle)).await;
            return Ok(());
        }
    }
}

/// Reads what is left of the body of a request that is refused, so that its sender sees the answer.
/// One that waits for permission to send the body sends none.
pub async fn refuse<T>(
    state: &AppState,
    headers: &HeaderMap,
    mut body: Body,
    problem: Problem,
) -> Result<T, Problem> {
    let is_long = body.size_hint().lower() > MAX_DRAIN as u64;
    if !headers.contains_key(header::EXPECT) && !is_long {
        let idle = state.config().body_timeout;
        // It is refused in any case.
        let _ = timeout(DRAIN_TIME, drain(&mut body, idle)).await;
    }
    Err(problem)
}

/// Reads what is left of a body, if that is not much.
async fn drain(body: &mut Body, idle: Duration) {
    let mut left = MAX_DRAIN;
    while let Ok(Some(Ok(frame))) = timeout(idle, body.frame()).await {
        let length = frame.data_ref().map_or(0, axum::body::Bytes::len);
        match left.checked_sub(length) {
            Some(less) => left = less,
            None => return,
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
