//! Bodies of requests that are answered before they are read: what a client still sends is taken for
//! a moment and thrown away.
//!
//! A connection that is closed while bytes arrive is reset, and the client, which was writing, sees
//! a broken pipe instead of the answer that says why (RFC 9112, section 9.6).

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::header;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::timeout;

/// The most bytes taken after the answer.
const MAX_BYTES: usize = 4 << 20;
/// How long they are taken.
const PATIENCE: Duration = Duration::from_secs(2);

/// A body whose rest, when it is dropped, is taken and thrown away: at most four megabytes, for at
/// most two seconds.
struct Drained(Option<Incoming>);

/// A request whose body is drained where it is refused early. A client that waits for `100 Continue`
/// sends nothing before it is asked to, so nothing is taken then.
pub fn drained(request: Request<Incoming>) -> Request {
    let waits = request.headers().contains_key(header::EXPECT);
    request.map(|body| match waits {
        true => axum::body::Body::new(body),
        false => axum::body::Body::new(Drained(Some(body))),
    })
}

impl Body for Drained {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.0 {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        let Some(body) = self.0.take().filter(|body| !body.is_end_stream()) else {
            return;
        };
        // There is none when the server ends.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(timeout(PATIENCE, drain(body)));
        }
    }
}

async fn drain(mut body: Incoming) {
    let mut taken = 0;
    while let Some(Ok(frame)) = body.frame().await {
        taken += frame.data_ref().map_or(0, Bytes::len);
        if taken > MAX_BYTES {
            return;
        }
    }
}
