//! An S3 server on loopback, with faults on demand.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use futures_util::Stream;
use http_body_util::{BodyExt, Empty, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// The key of the server.
pub const KEY: &str = "AKIATESTKEY";
/// Its secret.
pub const SECRET: &str = "a-secret-of-the-test";
/// How long a request waits that gets no answer.
const STALL: Duration = Duration::from_secs(3600);
/// How long the storage takes for a request that it carries out late.
const LATE: Duration = Duration::from_secs(3);

/// A way in which storage fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Status 500.
    Internal,
    /// Status 503.
    SlowDown,
    /// Status 403.
    Refused,
    /// No answer.
    Silence,
    /// Half of a body, then the end of the connection.
    Truncated,
    /// A body with one bit changed.
    Flipped,
}

/// The faults of a server: every `every`-th request has the next of `kinds`.
#[derive(Debug, Default)]
pub struct Faults {
    every: AtomicU32,
    seen: AtomicU32,
    /// Faults that happened.
    pub happened: AtomicU32,
    kinds: parking_lot::Mutex<Vec<Fault>>,
    /// Requests with pieces that pages of browsers have sent.
    pub from_pages: AtomicU32,
    /// True if the next request that puts pieces together gets no answer, and is carried out late.
    pub is_late: AtomicBool,
    /// True if such a request is under way.
    is_busy: AtomicBool,
}

impl Faults {
    /// Has every `every`-th request fail; 0 for none.
    pub fn set(&self, every: u32, kinds: &[Fault]) {
        *self.kinds.lock() = kinds.to_vec();
        self.seen.store(0, Ordering::Relaxed);
        self.every.store(every, Ordering::Relaxed);
    }

    fn next(&self) -> Option<Fault> {
        let every = self.every.load(Ordering::Relaxed);
        let seen = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        if every == 0 || !seen.is_multiple_of(every) {
            return None;
        }
        let kinds = self.kinds.lock();
        let happened = self.happened.fetch_add(1, Ordering::Relaxed) as usize;
        kinds.get(happened % kinds.len().max(1)).copied()
    }
}

/// A server, which ends when it is dropped.
pub struct S3 {
    address: SocketAddr,
    /// How it fails.
    pub faults: Arc<Faults>,
    /// The stored objects.
    pub folder: TempDir,
    _runtime: Runtime,
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

impl S3 {
    /// A server with an empty bucket `dumps`.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("dumps")).unwrap();
        let mut builder = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = builder.build();
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            // It reads files in pieces of 4 kB, each on such a thread: hundreds of them keep waking one another.
            .max_blocking_threads(4)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let faults = Arc::new(Faults::default());
        let shared = Arc::clone(&faults);
        runtime.spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else {
                    return;
                };
                let (service, faults) = (service.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    let answer = service_fn(move |request| {
                        answer(service.clone(), Arc::clone(&faults), request)
                    });
                    let server = hyper::server::conn::http1::Builder::new();
                    // A client that has gone is none of its concern.
                    let _ = server.serve_connection(TokioIo::new(socket), answer).await;
                });
            }
        });
        Self {
            address,
            faults,
            folder,
            _runtime: runtime,
        }
    }

    /// The variables that a client needs, which waits for answers this number of seconds.
    pub fn environment(&self, seconds: u32) -> Vec<(String, String)> {
        let endpoint = format!("http://{}", self.address);
        [
            ("AWS_ENDPOINT", endpoint.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_TIMEOUT", &format!("{seconds} seconds")),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }
}

async fn answer(
    service: S3Service,
    faults: Arc<Faults>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    // As a bucket with the CORS rules of docs/storage.md.
    let origin = request.headers().get("origin").cloned();
    if let (Some(origin), "OPTIONS") = (&origin, request.method().as_str()) {
        let mut response =
            Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
        allow(origin, response.headers_mut());
        return Ok(response);
    }
    faults
        .from_pages
        .fetch_add(u32::from(origin.is_some()), Ordering::Relaxed);
    let answered = answer_to(service, faults, request).await;
    answered.map(|mut response| {
        if let Some(origin) = &origin {
            allow(origin, response.headers_mut());
        }
        response
    })
}

/// Lets pages of an origin send pieces and see their `ETag`.
fn allow(origin: &HeaderValue, headers: &mut HeaderMap) {
    headers.insert("access-control-allow-origin", origin.clone());
    for (name, value) in [
        ("access-control-allow-methods", "PUT"),
        ("access-control-expose-headers", "ETag"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

async fn answer_to(
    service: S3Service,
    faults: Arc<Faults>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let fault = faults.next();
    let failure = |status: StatusCode| {
        let body = Full::new(Bytes::from_static(
            b"<Error><Code>InternalError</Code></Error>",
        ));
        let body = body.map_err(|never| match never {}).boxed_unsync();
        let mut response = Response::new(body);
        *response.status_mut() = status;
        Ok(response)
    };
    match fault {
        Some(Fault::Internal) => return failure(StatusCode::INTERNAL_SERVER_ERROR),
        Some(Fault::SlowDown) => return failure(StatusCode::SERVICE_UNAVAILABLE),
        Some(Fault::Refused) => return failure(StatusCode::FORBIDDEN),
        Some(Fault::Silence) => tokio::time::sleep(STALL).await,
        _ => {}
    }
    let is_get = request.method() == "GET";
    let query = request.uri().query().unwrap_or_default();
    if request.method() == "POST" && query.contains("uploadId=") {
        if faults.is_busy.load(Ordering::Relaxed) {
            // The upload that it completes is no upload any more, and no object yet.
            return failure(StatusCode::NOT_FOUND);
        }
        if faults.is_late.swap(false, Ordering::Relaxed) {
            faults.is_busy.store(true, Ordering::Relaxed);
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(|body| body.to_bytes());
            tokio::spawn(async move {
                tokio::time::sleep(LATE).await;
                let body = s3s::Body::from(body.unwrap_or_default());
                // No client waits for the answer.
                let _ = service.call(Request::from_parts(head, body)).await;
                faults.is_busy.store(false, Ordering::Relaxed);
            });
            tokio::time::sleep(STALL).await;
            return failure(StatusCode::INTERNAL_SERVER_ERROR);
        }
    }
    let answered = service.call(request.map(s3s::Body::from)).await;
    let Ok(response) = answered else {
        return failure(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let (head, body) = response.into_parts();
    let Ok(bytes) = body.collect().await.map(|body| body.to_bytes()) else {
        return failure(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let body = match fault {
        Some(Fault::Truncated) if is_get && !bytes.is_empty() => {
            let half = bytes.slice(..bytes.len() / 2);
            StreamBody::new(Cut(Some(half))).boxed_unsync()
        }
        Some(Fault::Flipped) if is_get && !bytes.is_empty() => {
            let mut bytes = bytes.to_vec();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            Full::new(bytes.into())
                .map_err(|never| match never {})
                .boxed_unsync()
        }
        _ => Full::new(bytes)
            .map_err(|never| match never {})
            .boxed_unsync(),
    };
    Ok(Response::from_parts(head, body))
}

/// A body that breaks off after its first piece.
struct Cut(Option<Bytes>);

impl Stream for Cut {
    type Item = io::Result<Frame<Bytes>>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(Some(match self.0.take() {
            Some(bytes) => Ok(Frame::data(bytes)),
            None => Err(io::ErrorKind::ConnectionReset.into()),
        }))
    }
}
