//! The one layer that all requests pass: rate, Host, Origin, token, role, length of the body; and
//! on the way back headers for browsers, the audit log, counters.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http_body_util::{BodyExt, Limited};
use tokio::time::timeout;

use crate::access::{Caller, PUSH_PATHS, needed};
use crate::catalogue::{Deed, Role};
use crate::connections::{Full, Standing};
use crate::intake::slow as slow_body;
use crate::pace::TooSlow;
use crate::problem::Problem;
use crate::state::AppState;

/// The address of the other end of a connection, in the extensions of each request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// The route that tells whether the server works.
pub(super) const HEALTH: &str = "/healthz";
/// The word of an address by which the page knows that a token was refused (`signin.tsx`).
const REFUSED: &str = "signin=refused";
/// The cookie with the token.
pub(super) const COOKIE: &str = "hprof_rs_session";
/// The longest body that is no upload.
const MAX_BODY: usize = 1 << 20;
/// How long such a body may take.
const BODY_TIME: Duration = Duration::from_secs(20);
/// The content security policy of the page: scripts, styles and data of this server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
     form-action 'none'";

/// Checks a request, has it answered, and completes the answer.
pub(super) async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let address = address(&state, &request);
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let is_safe = matches!(method, Method::GET | Method::HEAD | Method::OPTIONS);
    let mut who = None;
    let mut response = match check(&state, address, request, &mut who).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => *refusal,
    };
    let status = response.status();
    state.counters().count(status);
    let is_refusal = matches!(status.as_u16(), 401 | 403 | 421);
    // Profiles that come every few seconds would be most of the log.
    let is_push = PUSH_PATHS.contains(&&*path) && status.is_success();
    if (!is_safe && !is_push) || is_refusal {
        let who = who.map_or_else(|| "nobody".to_owned(), |caller: Caller| caller.who);
        tracing::info!(target: "audit", %address, who, %method, path, status = status.as_u16());
        if !is_refusal {
            let what = format!("{method} {path}");
            let noted = state.blocking(move |state| {
                Ok(state.catalogue().audit(&Deed {
                    who: &who,
                    address: &address.to_string(),
                    what: &what,
                    status: status.as_u16(),
                })?)
            });
            // The log above has it too.
            let _ = noted.await;
        }
    }
    harden(&state, &path, response.headers_mut());
    response
}

/// Gives the request on, or an answer to it.
async fn check(
    state: &AppState,
    address: IpAddr,
    mut request: Request,
    who: &mut Option<Caller>,
) -> Result<Request, Box<Response>> {
    let refuse = |problem: Problem| Box::new(problem.into_response());
    // A machine that asks for the server's health learns nothing from a limit.
    if request.uri().path() != HEALTH && !state.rates().take(address, Instant::now()) {
        let mut response = too_many().into_response();
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
        return Err(Box::new(response));
    }
    let host = host(state, request.headers()).map_err(refuse)?;
    let is_foreign = is_foreign(&host, request.headers());
    if is_foreign {
        return Err(refuse(forbidden(
            "foreign-origin",
            "the request comes from a page of another site",
        )));
    }
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    if request.method() == Method::GET
        && super::page::is_view(path.strip_prefix('/').unwrap_or_default())
        && let Some(token) = token_in_query(query)
    {
        let place = Place {
            path: path.to_owned(),
            query: without_token(query),
            is_browser: wants_page(request.headers()),
        };
        return Err(Box::new(session(state, token.to_owned(), &place).await));
    }
    let Some(role) = needed(request.method(), path) else {
        stand(&request, address, false).map_err(refuse)?;
        return Ok(request);
    };
    let (token, is_cookie) = token_of(request.headers());
    let is_push = PUSH_PATHS.contains(&path);
    let (token, is_cookie) = match token {
        Some(token) => (Some(token.to_owned()), is_cookie),
        None if is_push => (password_of(request.headers()), false),
        None => (None, false),
    };
    *who = match token {
        None => None,
        Some(token) => caller(state, token).await.map_err(refuse)?,
    };
    stand(&request, address, who.is_some()).map_err(refuse)?;
    let Some(caller) = who else {
        return Err(refuse(unknown()));
    };
    if caller.role < role {
        return Err(refuse(needs(role, caller.role)));
    }
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    // The browser adds the cookie to whatever page asks; only its own word says which page it was.
    if is_cookie && !is_safe && !is_own_page(request.headers()) {
        return Err(refuse(forbidden(
            "no-origin",
            "a request with the cookie must say its origin; programs send the token as \
             `Authorization: Bearer`",
        )));
    }
    request.extensions_mut().insert(caller.clone());
    let is_upload = match *request.method() {
        Method::POST if PUSH_PATHS.contains(&request.uri().path()) => true,
        Method::PUT => request.uri().path() == "/api/v1/dumps",
        Method::PATCH => request.uri().path().starts_with("/api/v1/uploads/"),
        _ => false,
    };
    match is_upload {
        true => Ok(request),
        false => whole(request).await.map_err(refuse),
    }
}

/// Who has a token.
async fn caller(state: &AppState, token: String) -> Result<Option<Caller>, Problem> {
    match state.link_caller(&token) {
        Some(caller) => Ok(Some(caller)),
        None => {
            state
                .at_the_door(move |state| Ok(state.caller(&token)?))
                .await
        }
    }
}

/// Notes for whom the connection of a request stands.
fn stand(request: &Request, address: IpAddr, has_token: bool) -> Result<(), Problem> {
    // Routers in tests are asked without a connection.
    let standing = request.extensions().get::<Standing>();
    let set = standing.map_or(Ok(()), |it| it.set(address, has_token));
    set.map_err(|full| {
        let detail = match full {
            Full::OfAddress(limit) => format!(
                "{address} has {limit} connections with a token; end some, or start the server with \
                 another --max-connections-per-address"
            ),
            Full::OfAll(limit) => format!(
                "there are {limit} connections with a token; wait, or start the server with a larger \
                 --max-connections"
            ),
        };
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too-many-connections",
            "Too many connections",
            detail,
        )
    })
}

/// The address that sends a request; a proxy's word for it counts only where there is a proxy.
fn address(state: &AppState, request: &Request) -> IpAddr {
    let peer = request.extensions().get::<Peer>();
    let peer = peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
    if !state.config().behind_proxy {
        return peer;
    }
    // The proxy adds the last one; those before it are the visitor's own words.
    let told = request
        .headers()
        .get_all("x-forwarded-for")
        .iter()
        .next_back();
    let told = told.and_then(|it| it.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    told.unwrap_or(peer)
}

/// The host that the request names, if it is this server: a page of another site whose name was
/// made to lead here (DNS rebinding) names that site.
fn host(state: &AppState, headers: &HeaderMap) -> Result<Authority, Problem> {
    let named = headers.get(header::HOST);
    let named = named.and_then(|it| it.to_str().ok()?.parse::<Authority>().ok());
    let is_known = |name: &Authority| {
        let name = name.host();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        // A name can be made to lead here, an address cannot.
        bare.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || state
                .config()
                .hosts
                .iter()
                .any(|it| it.eq_ignore_ascii_case(name))
    };
    named.filter(is_known).ok_or_else(|| {
        Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "foreign-host",
            "Another host is meant",
            "the header Host names no host of this server; `serve --host NAME` adds one",
        )
    })
}

/// Returns whether a browser says that a page of another site asks.
fn is_foreign(host: &Authority, headers: &HeaderMap) -> bool {
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        let named = origin.split_once("://").map(|(_, authority)| authority);
        return named != Some(host.as_str());
    }
    // Links may lead here from anywhere; their navigation shows the page, which asks by itself.
    let fetches = headers
        .get("sec-fetch-site")
        .is_some_and(|it| it == "cross-site");
    let navigates = headers
        .get("sec-fetch-mode")
        .is_some_and(|it| it == "navigate");
    fetches && !navigates
}

/// Returns whether a browser says that a page of this server asks; [`is_foreign`] has compared the
/// origin.
fn is_own_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    headers.contains_key(header::ORIGIN) || site.is_some_and(|it| it == "same-origin")
}

/// The token of a request, and whether it is in the cookie.
fn token_of(headers: &HeaderMap) -> (Option<&str>, bool) {
    let text = |name: HeaderName| headers.get(name).and_then(|it| it.to_str().ok());
    let bearer = text(header::AUTHORIZATION).and_then(|it| it.strip_prefix("Bearer "));
    if let Some(token) = bearer {
        return (Some(token.trim()), false);
    }
    let cookies = text(header::COOKIE).unwrap_or_default().split(';');
    let mut pairs = cookies.filter_map(|pair| pair.trim().split_once('='));
    (pairs.find(|(name, _)| *name == COOKIE).map(|it| it.1), true)
}

/// The token of a client of Pyroscope, which can send a password only, whatever the user's name. Browsers send a
/// password that they know to pages of others too, so that it counts for pushes alone.
fn password_of(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let packed = text.strip_prefix("Basic ")?.trim();
    let pair = String::from_utf8(BASE64_STANDARD.decode(packed).ok()?).ok()?;
    pair.split_once(':').map(|(_, token)| token.to_owned())
}

fn token_in_query(query: &str) -> Option<&str> {
    query
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))
}

/// The words of a query but the token.
fn without_token(query: &str) -> String {
    let words = query.split('&').filter(|pair| !pair.starts_with("token="));
    words.collect::<Vec<_>>().join("&")
}

/// Returns true for a browser that opens an address.
fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    accept.is_some_and(|it| it.contains("text/html"))
}

/// The page that a link with a token leads to.
struct Place {
    /// A view of the page, which begins with one slash.
    path: String,
    query: String,
    is_browser: bool,
}

impl Place {
    /// The address without the token.
    fn address(&self, word: Option<&str>) -> String {
        let words = [Some(self.query.as_str()).filter(|it| !it.is_empty()), word];
        let words: Vec<&str> = words.into_iter().flatten().collect();
        match words.is_empty() {
            true => self.path.clone(),
            false => format!("{}?{}", self.path, words.join("&")),
        }
    }
}

/// Answers a link with a token: a cookie, and the page without the token in its address. The page asks a browser with a wrong token for
/// another; programs get a problem.
async fn session(state: &AppState, token: String, place: &Place) -> Response {
    match caller(state, token.clone()).await {
        Err(problem) => problem.into_response(),
        Ok(None) if place.is_browser => {
            let location = [(header::LOCATION, place.address(Some(REFUSED)))];
            (StatusCode::SEE_OTHER, location).into_response()
        }
        Ok(None) => unknown().into_response(),
        Ok(Some(_)) => {
            let config = state.config();
            let secure = match config.tls.is_some() || config.behind_proxy {
                true => "; Secure",
                false => "",
            };
            // Known tokens are hexadecimal digits.
            let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict{secure}");
            let headers = [
                (header::LOCATION, place.address(None)),
                (header::SET_COOKIE, cookie),
            ];
            (StatusCode::SEE_OTHER, headers).into_response()
        }
    }
}

/// Reads the body of a request that is no upload, which is short and comes at once.
async fn whole(request: Request) -> Result<Request, Problem> {
    let (parts, body) = request.into_parts();
    let read = timeout(BODY_TIME, Limited::new(body, MAX_BODY).collect()).await;
    let read = read.map_err(|_| {
        slow_body(format!(
            "it must be complete after {} s",
            BODY_TIME.as_secs()
        ))
    })?;
    let read = read.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            crate::intake::too_large(MAX_BODY as u64)
        } else if let Some(slow) = TooSlow::behind(&*error) {
            slow_body(slow.to_string())
        } else {
            Problem::bad_request("the body broke off")
        }
    })?;
    Ok(Request::from_parts(parts, Body::from(read.to_bytes())))
}

/// Headers that tell browsers to be careful.
fn harden(state: &AppState, path: &str, headers: &mut HeaderMap) {
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    if state.config().tls.is_some() {
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    if path.starts_with("/api/") && !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    // The page alone sends to the storage, where that takes uploads.
    let origin = state.upload_origin().filter(|_| !path.starts_with("/api/"));
    if let Some(origin) = origin
        && let Ok(policy) = HeaderValue::try_from(policy_with(origin))
    {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// The policy of a page that may also send to an origin.
fn policy_with(origin: &str) -> String {
    // Characters that would end the directive are no part of an origin.
    let is_origin = !origin.contains([' ', ';', ',', '\'', '"']);
    match is_origin && origin.starts_with("http") {
        true => POLICY.replace(
            "connect-src 'self'",
            &format!("connect-src 'self' {origin}"),
        ),
        false => POLICY.to_owned(),
    }
}

fn unknown() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "no-token",
        "Who are you?",
        "open the link that the server printed, or send `Authorization: Bearer TOKEN`",
    )
}

fn forbidden(kind: &'static str, detail: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, kind, "Not allowed", detail)
}

fn needs(needed: Role, role: Role) -> Problem {
    let detail = format!(
        "this needs the role {}; yours is {}",
        needed.word(),
        role.word()
    );
    forbidden("wrong-role", &detail)
}

fn too_many() -> Problem {
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too-many-requests",
        "Too many requests",
        "wait a moment; `serve --max-rate` sets the limit",
    )
}
