//! The bytes of a connection: a peer that takes an answer too slowly is cut.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::places::Shared;
use crate::pace::{Meter, MinimumPace};

/// A connection whose peer has to take what is written at a pace. Bodies that come have meters of their
/// own, as a connection may stay silent between requests.
pub(super) struct Paced {
    stream: TcpStream,
    writes: Meter,
    shared: Arc<Shared>,
}

impl Paced {
    pub(super) fn new(stream: TcpStream, pace: MinimumPace, shared: Arc<Shared>) -> Self {
        Self {
            stream,
            writes: Meter::new(pace),
            shared,
        }
    }

    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.writes.moved(bytes);
                self.shared.touch();
                Poll::Ready(Ok(bytes))
            }
            Poll::Ready(failed) => Poll::Ready(failed),
            Poll::Pending => match self.writes.poll_late(context) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(slow) => {
                    self.shared.cut();
                    Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, slow)))
                }
            },
        }
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        if self.shared.is_cut() {
            // The system would keep what the peer has not taken, for minutes.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.shared.touch();
        }
        read
    }
}

impl AsyncWrite for Paced {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
