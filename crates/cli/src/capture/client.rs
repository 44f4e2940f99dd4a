//! Requests to a server, repeated while it or the way to it is out of order.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use rustls::crypto::ring;
use serde_json::Value;
use ureq::http::{HeaderMap, Request};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::{Agent, SendBody, Timeout};

use super::{Address, Interrupt, Secret};
use crate::render::out::tell;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);
/// The longest answer that is read, in bytes.
const MAX_ANSWER: u64 = 16 << 20;
/// The first pause before a request is repeated; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// An answer.
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    /// A header; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.and_then(|it| it.to_str().ok()).unwrap_or_default()
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// If it is none: something else than `hprof-rs serve` has answered.
    pub fn json(&self) -> anyhow::Result<Value> {
        let other = "the answer is not one of `hprof-rs serve`; check the address";
        serde_json::from_slice(&self.body).context(other)
    }

    /// The problem that the server tells (RFC 9457), in one sentence.
    pub fn problem(&self) -> anyhow::Error {
        let told: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        match (told["title"].as_str(), told["detail"].as_str()) {
            (Some(title), Some(detail)) => anyhow!("the server answers: {title}: {detail}"),
            _ if (300..400).contains(&self.status) => anyhow!(
                "the server sends us on to {}; give that address",
                self.header("location")
            ),
            _ => anyhow!("the server answers with status {}", self.status),
        }
    }

    /// Returns true if the same request may succeed later.
    pub fn is_passing(&self) -> bool {
        match self.status {
            408 | 423 | 425 | 429 => true,
            // A full disk and a missing method stay as they are.
            501 | 505 | 507 => false,
            status => status >= 500,
        }
    }

    /// The pause that the server asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")
            .parse()
            .ok()
            .map(Duration::from_secs)
    }
}

/// How long to go on without success.
#[derive(Debug)]
pub struct Patience {
    limit: Duration,
    since: Instant,
    pause: Duration,
    is_told: bool,
}

impl Patience {
    /// Goes on for `limit` after the last success.
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            since: Instant::now(),
            pause: FIRST_PAUSE,
            is_told: false,
        }
    }

    /// Patience that begins now, and lasts no longer than `limit`.
    pub fn at_most(&self, limit: Duration) -> Self {
        Self::new(self.limit.min(limit))
    }

    /// Something has succeeded.
    pub fn reset(&mut self) {
        *self = Self::new(self.limit);
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// If there was no success for too long.
    pub fn wait(&mut self, why: &anyhow::Error, asked: Option<Duration>) -> anyhow::Result<()> {
        let pause = asked.unwrap_or(self.pause).min(MAX_PAUSE);
        if self.since.elapsed() + pause > self.limit {
            let seconds = self.limit.as_secs();
            bail!("{why:#} (and so for {seconds} s; --patience SECONDS tries for longer)");
        }
        // A short fault is not worth a line.
        if !self.is_told && self.since.elapsed() > Duration::from_secs(2) {
            self.is_told = true;
            tell!("hprof-rs: {why:#}; trying again");
        }
        sleep(pause);
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        Ok(())
    }
}

/// The bytes that a request sends.
pub enum Body<'a> {
    /// Nothing.
    Empty,
    /// JSON.
    Json(&'a Value),
    /// The first N bytes of a reader.
    Bytes(&'a mut dyn Read, u64),
}

/// How long answers may take.
#[derive(Debug, Clone, Copy)]
pub struct Waits {
    /// For as long the server may neither take nor send a byte.
    pub silence: Duration,
    /// A request and its answer may take as long together.
    pub whole: Option<Duration>,
}

/// A server, as it is asked.
#[derive(Clone)]
pub struct Client {
    agent: Agent,
    base: String,
    bearer: Option<String>,
    waits: Waits,
    interrupt: Interrupt,
}

impl Client {
    /// A server at an address, which may neither take nor send a byte for as long as `silence`.
    ///
    /// # Errors
    /// If there are no certificates to check it with.
    pub fn new(
        address: &Address,
        secret: Option<&Secret>,
        authorities: Option<&Path>,
        silence: Duration,
        interrupt: Interrupt,
    ) -> anyhow::Result<Self> {
        let waits = Waits {
            silence,
            whole: None,
        };
        Self::patient(address, secret, authorities, waits, interrupt)
    }

    /// A server at an address, with limits for its answers.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn patient(
        address: &Address,
        secret: Option<&Secret>,
        authorities: Option<&Path>,
        waits: Waits,
        interrupt: Interrupt,
    ) -> anyhow::Result<Self> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("hprof-rs/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT))
            .timeout_resolve(Some(CONNECT))
            .timeout_global(waits.whole)
            .timeout_per_read(Some(waits.silence))
            .timeout_per_write(Some(waits.silence));
        if address.is_tls {
            let roots = roots(authorities)?;
            config = config.tls_config(
                TlsConfig::builder()
                    .provider(TlsProvider::Rustls)
                    .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
                    .root_certs(RootCerts::new_with_certs(&roots))
                    .build(),
            );
        }
        if address.is_local {
            // A proxy elsewhere knows no server of this machine.
            config = config.proxy(None);
        }
        Ok(Self {
            agent: config.build().new_agent(),
            base: address.base.clone(),
            bearer: secret.map(Secret::bearer),
            waits,
            interrupt,
        })
    }

    /// Sends a request once.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn once(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Body<'_>,
    ) -> anyhow::Result<Answer> {
        let uri = format!("{}{path}", self.base);
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(bearer) = &self.bearer {
            request = request.header("authorization", bearer);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = match body {
            Body::Empty => self.agent.run(request.body(())?),
            Body::Json(value) => {
                let request = request.header("content-type", "application/json");
                self.agent.run(request.body(value.to_string())?)
            }
            Body::Bytes(reader, length) => {
                let request = request.header("content-length", length);
                self.agent.run(request.body(SendBody::from_reader(reader))?)
            }
        };
        let mut answer = sent.map_err(|error| self.no_answer(error))?;
        let read = answer.body_mut().with_config().limit(MAX_ANSWER);
        let body = read.read_to_vec().map_err(|error| self.no_answer(error))?;
        Ok(Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body,
        })
    }

    fn no_answer(&self, error: ureq::Error) -> anyhow::Error {
        let seconds = self.waits.silence.as_secs();
        let error = match error {
            ureq::Error::Timeout(_) if self.waits.whole.is_some() => {
                let whole = self.waits.whole.unwrap_or_default();
                anyhow!("none came in {} s", whole.as_secs_f32())
            }
            ureq::Error::Timeout(Timeout::PerRead) => {
                anyhow!("it gave no byte for {seconds} s (--silence SECONDS waits longer)")
            }
            ureq::Error::Timeout(Timeout::PerWrite) => {
                anyhow!("it took no byte for {seconds} s (--silence SECONDS waits longer)")
            }
            error => error.into(),
        };
        error.context(format!("no answer from {}", self.base))
    }

    /// Sends a request until there is an answer that will not change by itself.
    ///
    /// # Errors
    /// If there is none for as long as patience lasts.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
        patience: &mut Patience,
    ) -> anyhow::Result<Answer> {
        loop {
            let body = body.map_or(Body::Empty, Body::Json);
            match self.once(method, path, headers, body) {
                Ok(answer) if !answer.is_passing() => {
                    patience.reset();
                    return Ok(answer);
                }
                Ok(answer) => self.pause(&answer.problem(), answer.retry_after(), patience)?,
                Err(error) => {
                    lasting(&error)?;
                    self.pause(&error, None, patience)?;
                }
            }
        }
    }

    /// Waits before a request is repeated whose answer was `answer`.
    ///
    /// # Errors
    /// The server's problem, if another attempt would end alike; or if patience ends.
    pub fn pause_after(&self, answer: &Answer, patience: &mut Patience) -> anyhow::Result<()> {
        let problem = answer.problem();
        // Another offset is asked for, and sent from there.
        if !answer.is_passing() && answer.status != 409 {
            return Err(problem);
        }
        self.pause(&problem, answer.retry_after(), patience)
    }

    /// Waits before a request is repeated that had no answer.
    ///
    /// # Errors
    /// If another attempt would end alike, or patience ends.
    pub fn pause_without(
        &self,
        error: &anyhow::Error,
        patience: &mut Patience,
    ) -> anyhow::Result<()> {
        lasting(error)?;
        self.pause(error, None, patience)
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// If patience ends.
    pub fn pause(
        &self,
        why: &anyhow::Error,
        asked: Option<Duration>,
        patience: &mut Patience,
    ) -> anyhow::Result<()> {
        self.interrupt.hold();
        patience.wait(why, asked)
    }
}

/// Stops at errors that time does not heal.
///
/// # Errors
/// Such an error.
pub fn lasting(error: &anyhow::Error) -> anyhow::Result<()> {
    let Some(cause) = error.downcast_ref::<ureq::Error>() else {
        return Ok(());
    };
    let of_tls = match cause {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref()),
        _ => None,
    };
    if let Some(rustls::Error::InvalidCertificate(_)) = of_tls {
        bail!("{error:#}: --ca FILE names the authority that signed the server's certificate");
    }
    let is_lasting = matches!(
        cause,
        ureq::Error::BadUri(_)
            | ureq::Error::Http(_)
            | ureq::Error::Tls(_)
            | ureq::Error::InvalidProxyUrl
    );
    match is_lasting {
        true => bail!("{error:#}"),
        false => Ok(()),
    }
}

/// The certificates of a file, or of the authorities that this machine trusts.
fn roots(authorities: Option<&Path>) -> anyhow::Result<Vec<Certificate<'static>>> {
    let Some(path) = authorities else {
        let found = rustls_native_certs::load_native_certs();
        let found = found.certs.iter();
        let roots: Vec<_> = found
            .map(|it| Certificate::from_der(it).to_owned())
            .collect();
        if roots.is_empty() {
            bail!(
                "this machine has no certificates of authorities; install the package \
                 ca-certificates, or give --ca FILE"
            );
        }
        return Ok(roots);
    };
    let shown = || format!("--ca {}", path.display());
    let bytes = fs::read(path).with_context(shown)?;
    let mut roots = Vec::new();
    for item in parse_pem(&bytes) {
        if let PemItem::Certificate(certificate) = item.with_context(shown)? {
            roots.push(certificate);
        }
    }
    if roots.is_empty() {
        bail!("--ca {}: it holds no certificate in PEM", path.display());
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status,
            headers: HeaderMap::new(),
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn what_may_pass_is_tried_again_and_nothing_else() {
        for (status, is_passing) in [
            (200, false),
            (401, false),
            (408, true),
            (413, false),
            (423, true),
            (429, true),
            (500, true),
            (503, true),
            (507, false),
        ] {
            assert_eq!(answer(status, "").is_passing(), is_passing, "{status}");
        }
    }

    #[test]
    fn a_problem_is_told_in_the_servers_words() {
        let told = answer(415, r#"{"title":"Neither","detail":"this is JSON"}"#);
        let text = told.problem().to_string();
        assert_eq!(text, "the server answers: Neither: this is JSON");
        let other = answer(404, "<html>").problem().to_string();
        assert!(other.contains("404"), "{other}");
    }

    #[test]
    fn patience_ends() {
        let mut patience = Patience::new(Duration::from_millis(600));
        let why = anyhow!("nobody is there");
        let waits = (0..10).take_while(|_| patience.wait(&why, None).is_ok());
        assert_eq!(waits.count(), 1, "250 ms, and 500 would be too long");
        patience.reset();
        assert!(patience.wait(&why, None).is_ok());
    }
}
