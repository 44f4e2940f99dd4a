//! Bodies of requests, from the network to a part.

use std::time::Duration;

use axum::body::Body;
use axum::body::HttpBody;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::Incoming;
use crate::pace::TooSlow;
use crate::problem::Problem;
use crate::state::AppState;

/// Pieces that wait for the disk; hyper makes them a few hundred kilobytes long at most.
const WAITING: usize = 4;
/// How long the rest of a refused body is read, so that its sender sees the answer.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// And how much of it, in bytes.
const MAX_DRAIN: usize = 64 << 20;

/// Writes a body to a part, whatever of it comes, until `end` is notified. A body that comes too
/// slowly ends as one that breaks off. Gives the part, and what went wrong.
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
    let writer_state = state.clone();
    // A thread is taken while there is something to write, and not while the sender is waited for.
    let writer = tokio::spawn(async move {
        let mut batch = Vec::with_capacity(WAITING);
        while pieces.recv_many(&mut batch, WAITING).await > 0 {
            let pieces = std::mem::take(&mut batch);
            let wrote = writer_state.blocking(move |_| {
                let written = pieces.iter().try_for_each(|piece| incoming.write(piece));
                Ok((incoming, written))
            });
            let written;
            (incoming, written) = wrote.await?;
            if written.is_err() {
                return Ok((incoming, written));
            }
        }
        let synced = writer_state.blocking(move |_| {
            let synced = incoming.sync();
            Ok((incoming, synced))
        });
        synced.await
    });
    let read = tokio::select! {
        read = feed(body, &send) => read,
        () = end.notified() => Err(Problem::conflict("another request has cancelled the upload")),
    };
    drop(send);
    let (incoming, written) = writer.await.map_err(Problem::internal)??;
    Ok((incoming, written.and(read)))
}

/// Hands the body on until it ends, stalls, breaks off or the writer has ended.
async fn feed(mut body: Body, send: &mpsc::Sender<axum::body::Bytes>) -> Result<(), Problem> {
    loop {
        let frame = match body.frame().await {
            None => return Ok(()),
            Some(Err(error)) => {
                return Err(match TooSlow::behind(&error) {
                    Some(too_slow) => slow(format!("{too_slow}; send the rest")),
                    None => Problem::bad_request("the body broke off; send the rest"),
                });
            }
            Some(Ok(frame)) => frame,
        };
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        if send.send(piece).await.is_err() {
            // The writer says why, to a client that still sends and does not listen yet.
            let _ = timeout(DRAIN_TIME, drain(&mut body)).await;
            return Ok(());
        }
    }
}

/// Reads what is left of the body of a request that is refused, so that its sender sees the answer.
/// One that waits for permission to send the body sends none.
pub async fn refuse<T>(
    headers: &HeaderMap,
    mut body: Body,
    problem: Problem,
) -> Result<T, Problem> {
    let is_long = body.size_hint().lower() > MAX_DRAIN as u64;
    if !headers.contains_key(header::EXPECT) && !is_long {
        // It is refused in any case.
        let _ = timeout(DRAIN_TIME, drain(&mut body)).await;
    }
    Err(problem)
}

/// Reads what is left of a body, if that is not much.
async fn drain(body: &mut Body) {
    let mut left = MAX_DRAIN;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, axum::body::Bytes::len);
        match left.checked_sub(length) {
            Some(less) => left = less,
            None => return,
        }
    }
}

/// The sender of a body is too slow.
pub fn slow(detail: String) -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "slow-body",
        "The body came too slowly",
        detail,
    )
}
