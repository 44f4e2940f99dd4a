//! Connections: accepted, limited in number and patience, ended gracefully.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use crate::api::Peer;
use crate::farewell::drained;
use crate::tls;

/// Connections at once; each takes some ten kilobytes.
const MAX_CONNECTIONS: usize = 1024;
/// How long the head of a request, or the greeting of TLS, may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// The longest head of a request, and the most bytes of a body in one piece.
const MAX_BUFFER: usize = 64 << 10;
/// The most headers of a request.
const MAX_HEADERS: usize = 64;
/// How long requests under way may take when the server stops.
const FAREWELL: Duration = Duration::from_secs(5);
/// The pause after an error of the system, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers connections until `stop` ends, and then those under way for a moment.
pub async fn serve(
    listener: TcpListener,
    tls: Option<tls::Acceptor>,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                sleep(PAUSE).await;
                continue;
            }
        };
        let (tls, router, watcher) = (tls.clone(), router.clone(), graceful.watcher());
        tokio::spawn(async move {
            let _place = place;
            connection(stream, peer, tls, router, watcher).await;
        });
    }
    drop(listener);
    if timeout(FAREWELL, graceful.shutdown()).await.is_err() {
        tracing::info!("requests that are under way are cut off");
    }
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<tls::Acceptor>,
    router: Router,
    watcher: Watcher,
) {
    // Small answers go at once.
    let _ = stream.set_nodelay(true);
    match tls {
        None => talk(stream, peer, router, watcher).await,
        Some(tls) => match timeout(HEAD_TIME, tls.accept(stream)).await {
            Ok(Ok(stream)) => talk(stream, peer, router, watcher).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS"),
            Err(_) => tracing::debug!(%peer, "the greeting of TLS takes too long"),
        },
    }
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    router: Router,
    watcher: Watcher,
) {
    let service = router.map_request(move |request: Request<Incoming>| {
        let mut request = drained(request);
        request
            .extensions_mut()
            .insert(Peer(peer.ip().to_canonical()));
        request
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    // Visitors go whenever they like.
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%peer, %error, "a connection broke off");
    }
}
