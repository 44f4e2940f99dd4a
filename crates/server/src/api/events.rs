//! News as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::stream::{self, Stream};

use crate::events::Event;
use crate::state::AppState;

/// How often a comment shows that the connection lives.
const PULSE: Duration = Duration::from_secs(15);

/// Sends events until the visitor goes or the server stops: `job` with a Job, `dump` with a Dump,
/// `dump_deleted` with an id. A visitor who is too far behind is cut off, and looks again.
#[utoipa::path(get, path = "/events", responses((status = 200, body = String, content_type = "text/event-stream")))]
pub(super) async fn listen(
    State(state): State<AppState>,
) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
    let listener = (state.events().listen(), state.jobs().stopping());
    let events = stream::unfold(listener, |(mut news, mut stopping)| async move {
        let event = tokio::select! {
            event = news.recv() => event.ok()?,
            _ = stopping.changed() => return None,
        };
        if matches!(event, Event::Missed) {
            return None;
        }
        let sent = sse::Event::default().event(event.name());
        let sent = sent.json_data(&event).ok()?;
        Some((Ok(sent), (news, stopping)))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(PULSE))
}
