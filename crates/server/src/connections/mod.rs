//! Connections: accepted, limited in number and patience, ended gracefully.
//!
//! Every connection is accepted at once. [`places`] says which of the others gives way where there are
//! too many, [`paced`] ends those whose peer takes its answer too slowly.

mod paced;
mod places;

pub use places::{ConnectionLimits, Full, PlaceFigures, Standing};

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use crate::api::Peer;
use crate::farewell::drained;
use crate::pace::{MinimumPace, TooSlow};
use crate::tls;
use paced::Paced;
use places::{Line, Places};

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
/// Bytes that the system keeps for a peer beyond those on their way. A peer that takes nothing shows
/// once as many wait.
const UNSENT: u32 = 128 << 10;
/// Files of the process that are no connections.
const OTHER_FILES: u64 = 512;
/// The fewest connections, however few files the system allows.
const FEWEST: usize = 64;

/// The demands of a server on connections.
#[derive(Debug, Clone, Copy, Default)]
pub struct Demands {
    /// Their number.
    pub limits: ConnectionLimits,
    /// Their pace.
    pub pace: MinimumPace,
    /// True if they come from a proxy.
    pub is_proxied: bool,
}

/// Raises this process's limit of open files as far as the system allows, and lowers the number of
/// connections to what fits.
fn within_files(limits: ConnectionLimits) -> ConnectionLimits {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limits.all as u64 + OTHER_FILES;
    let mut files = limit.current.unwrap_or(u64::MAX);
    if files < wanted {
        let raised = limit.maximum.map_or(wanted, |most| most.min(wanted));
        let new = Rlimit {
            current: Some(raised),
            maximum: limit.maximum,
        };
        if setrlimit(Resource::Nofile, new).is_ok() {
            files = raised;
        }
    }
    let fits = usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
    let all = limits.all.min(fits.max(FEWEST));
    if all < limits.all {
        tracing::warn!(
            files,
            connections = all,
            "the system's limit of open files (ulimit -n) leaves room for fewer connections"
        );
    }
    ConnectionLimits { all, ..limits }
}

/// Answers connections until `stop` ends, and then those under way for a moment.
pub async fn serve(
    listener: TcpListener,
    tls: Option<tls::Acceptor>,
    router: Router,
    demands: Demands,
    stop: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    let places = Places::new(within_files(demands.limits), demands.is_proxied);
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                places.make_room();
                sleep(PAUSE).await;
                continue;
            }
        };
        let visitor = Visitor {
            peer,
            line: places.admit(peer.ip().to_canonical()),
            pace: demands.pace,
        };
        let (tls, router, watcher) = (tls.clone(), router.clone(), graceful.watcher());
        tokio::spawn(async move {
            let shared = Arc::clone(&visitor.line.shared);
            tokio::select! {
                () = connection(stream, visitor, tls, router, watcher) => {}
                () = shared.ended() => {}
            }
        });
    }
    drop(listener);
    if timeout(FAREWELL, graceful.shutdown()).await.is_err() {
        tracing::info!("requests that are under way are cut off");
    }
}

/// The other end of a connection.
struct Visitor {
    peer: SocketAddr,
    line: Line,
    pace: MinimumPace,
}

async fn connection(
    stream: TcpStream,
    visitor: Visitor,
    tls: Option<tls::Acceptor>,
    router: Router,
    watcher: Watcher,
) {
    // Small answers go at once.
    let _ = stream.set_nodelay(true);
    // A system without them serves as well, and notices slow peers later.
    let socket = SockRef::from(&stream);
    let _ = socket.set_tcp_notsent_lowat(UNSENT);
    let _ = socket.set_tcp_user_timeout(Some(visitor.pace.window * 2));
    let peer = visitor.peer;
    let stream = Paced::new(stream, visitor.pace, Arc::clone(&visitor.line.shared));
    match tls {
        None => talk(stream, visitor, router, watcher).await,
        Some(tls) => match timeout(HEAD_TIME, tls.accept(stream)).await {
            Ok(Ok(stream)) => talk(stream, visitor, router, watcher).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS"),
            Err(_) => tracing::debug!(%peer, "the greeting of TLS takes too long"),
        },
    }
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    visitor: Visitor,
    router: Router,
    watcher: Watcher,
) {
    let Visitor { peer, line, pace } = visitor;
    let (standing, shared) = (line.standing(), Arc::clone(&line.shared));
    let asked = Arc::clone(&line.shared);
    let service = router
        .map_request(move |request: Request<Incoming>| {
            asked.set_asked(true);
            let mut request = drained(request, pace);
            let extensions = request.extensions_mut();
            extensions.insert(Peer(peer.ip().to_canonical()));
            extensions.insert(standing.clone());
            request
        })
        .map_response(move |response: Response| {
            shared.set_asked(false);
            response
        });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    // Visitors go whenever they like.
    if let Err(error) = watcher.watch(connection).await {
        match TooSlow::behind(&error) {
            Some(slow) => {
                line.count_slow();
                tracing::info!(%peer, bytes = slow.bytes, "an answer is taken too slowly");
            }
            None => tracing::debug!(%peer, %error, "a connection broke off"),
        }
    }
    drop(line);
}
