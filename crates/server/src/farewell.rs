//! Bodies of requests that are answered before they are read: what a client still sends is taken for
//! a moment and thrown away.
//!
//! A connection that is closed while bytes arrive is reset, and the client, which was writing, sees
//! a broken pipe instead of the answer that says why (RFC 9112, section 9.6).

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::header;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::timeout;

use crate::pace::{Meter, MinimumPace};

/// The most bytes taken after the answer.
const MAX_BYTES: usize = 4 << 20;
/// How long they are taken.
const PATIENCE: Duration = Duration::from_secs(2);

/// A body that has to come at a pace, and ends with [`crate::pace::TooSlow`] otherwise. Its rest, when
/// it is dropped, is taken and thrown away: at most four megabytes, for at most two seconds.
struct Drained {
    body: Option<Incoming>,
    meter: Meter,
    /// True if nothing comes that was not asked for.
    waits: bool,
}

/// A request whose body has to come at a pace, and is drained where it is refused early. A client that
/// waits for `100 Continue` sends nothing before it is asked to, so nothing is taken then.
pub fn drained(request: Request<Incoming>, pace: MinimumPace) -> Request {
    let waits = request.headers().contains_key(header::EXPECT);
    request.map(|body| {
        axum::body::Body::new(Drained {
            body: Some(body),
            meter: Meter::new(pace),
            waits,
        })
    })
}

impl Body for Drained {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        match Pin::new(body).poll_frame(context) {
            Poll::Pending => match self.meter.poll_late(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(slow) => Poll::Ready(Some(Err(slow.into()))),
            },
            Poll::Ready(frame) => {
                let bytes = match &frame {
                    Some(Ok(frame)) => frame.data_ref().map_or(0, Bytes::len),
                    _ => 0,
                };
                self.meter.moved(bytes);
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Drained {
    fn drop(&mut self) {
        if self.waits {
            return;
        }
        let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) else {
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
