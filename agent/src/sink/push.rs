//! `continuous=`: profiles on their way to a receiver, over HTTP/1.1 without encryption.
//!
//! A thread of its own sends them, which knows nothing of the VM. Every wait has a limit: of one request, of memory, and of
//! the program's end.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hprof_stacks::pictures::otlp::{
    PATH, Resource, container_of_groups, container_of_mounts, pairs, service_of,
};
use parking_lot::{Condvar, Mutex};

use crate::options::PushUrl;
use crate::os::native_thread;
use crate::report;

/// The bodies that wait, in bytes. Above it the oldest are given up.
const ROOM: usize = 8 << 20;
/// The limit of one request, if `OTEL_EXPORTER_OTLP_TIMEOUT` says nothing.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The first pause before a request is repeated; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// How long the program's end waits for what was not sent.
const LAST: Duration = Duration::from_secs(5);
/// How long it waits if the receiver took nothing when it was last tried: the program does not end later because a receiver is away.
const LAST_OF_FAILING: Duration = Duration::from_secs(1);
/// The head of an answer is read up to here, in bytes.
const MAX_HEAD: usize = 16 << 10;

/// The requests and their fate.
#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Vec<u8>>>,
    /// The first of them is on its way.
    is_busy: bool,
    bytes: usize,
    delivered: u64,
    dropped: u64,
    refused: u64,
    why: Option<String>,
    /// Failures since the last success.
    failures: u32,
    /// Nothing more will come, and no pause is worth it.
    is_last: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    url: PushUrl,
    /// The lines of each request's head that the user states.
    headers: String,
    timeout: Duration,
}

/// A receiver of profiles.
pub struct PushSink {
    shared: Arc<Shared>,
    every: Duration,
    /// The begin of the next profile: nanoseconds since 1970-01-01 UTC, and by the monotonic clock.
    since: (i64, Instant),
    resource: Option<Resource>,
}

/// How an attempt ended.
enum Fate {
    Delivered,
    Later(String, Option<Duration>),
    Refused(String),
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn now_nanos() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
}

/// The receiver of the environment.
fn of_environment() -> Result<PushUrl, String> {
    const PROFILES: &str = "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT";
    const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let parsed = |name: &str, text: &str| {
        PushUrl::parse(text).map_err(|why| format!("continuous=y: {name}: {why}"))
    };
    if let Some(text) = variable(PROFILES) {
        let mut url = parsed(PROFILES, &text)?;
        if url.path.is_empty() {
            "/".clone_into(&mut url.path);
        }
        return Ok(url);
    }
    let text = variable(ALL).ok_or_else(|| {
        format!("continuous=y takes the receiver of {PROFILES} or {ALL}, and neither is set")
    })?;
    let mut url = parsed(ALL, &text)?;
    url.path.push_str(PATH);
    Ok(url)
}

/// The headers that the environment states, as lines. Errors show no values, as they may be secret.
fn headers() -> Result<String, String> {
    let names = [
        "OTEL_EXPORTER_OTLP_PROFILES_HEADERS",
        "OTEL_EXPORTER_OTLP_HEADERS",
    ];
    let Some((name, text)) = names
        .into_iter()
        .find_map(|name| Some((name, variable(name)?)))
    else {
        return Ok(String::new());
    };
    let mut lines = String::new();
    for (key, value) in pairs(&text).map_err(|why| format!("{name}: {why}"))? {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_value = |byte: u8| matches!(byte, b' '..=b'~');
        if !key.bytes().all(is_name) || !value.bytes().all(is_value) {
            return Err(format!("{name} has a header that HTTP does not allow"));
        }
        lines.push_str(&format!("{key}: {value}\r\n"));
    }
    Ok(lines)
}

fn timeout() -> Duration {
    let names = [
        "OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT",
        "OTEL_EXPORTER_OTLP_TIMEOUT",
    ];
    let found = names.into_iter().find_map(variable);
    let millis = found.and_then(|text| text.parse().ok());
    millis.map_or(TIMEOUT, |millis: u64| {
        Duration::from_millis(millis.clamp(1, 60_000))
    })
}

impl PushSink {
    /// Begins with nothing to send. Without a URL the environment has it.
    ///
    /// # Errors
    /// If the environment is not as it must be, or the system gives no thread; as a sentence.
    pub fn start(url: Option<PushUrl>, every: Duration) -> Result<Self, String> {
        let mut url = url.map_or_else(of_environment, Ok)?;
        if url.path.is_empty() {
            PATH.clone_into(&mut url.path);
        }
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            url,
            headers: headers()?,
            timeout: timeout(),
        });
        let own = Arc::clone(&shared);
        native_thread::spawn("HPROF push", move || work(&own))
            .map_err(|error| format!("no thread for continuous=: {error}"))?;
        Ok(Self {
            shared,
            every,
            since: (now_nanos(), Instant::now()),
            resource: None,
        })
    }

    /// The receiver, for people.
    pub fn place(&self) -> String {
        self.shared.url.to_string()
    }

    /// Returns true if it is time for the next profile.
    pub fn is_due(&self) -> bool {
        self.since.1.elapsed() >= self.every
    }

    /// The time of the profile that ends now, in nanoseconds since 1970-01-01 UTC; the next begins.
    pub fn span(&mut self) -> (i64, i64) {
        let from = self.since.0;
        self.since = (now_nanos(), Instant::now());
        (from, self.since.0.max(from))
    }

    /// The attributes of this process, whose main class or archive is known.
    pub fn resource(&mut self, main: &str) -> &Resource {
        self.resource.get_or_insert_with(|| {
            let mut all = Resource::of_environment().unwrap_or_else(|why| {
                report::note(&format!("OTEL_RESOURCE_ATTRIBUTES: {why}; it is left out"));
                Resource::default()
            });
            if let Some(service) = service_of(main) {
                all.add("service.name", service);
            }
            let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
            let host = text("/proc/sys/kernel/hostname");
            let host = host.trim();
            if !host.is_empty() {
                all.add("host.name", host);
            }
            all.add("process.pid", &std::process::id().to_string());
            let (groups, mounts) = (text("/proc/self/cgroup"), text("/proc/self/mountinfo"));
            let container = container_of_groups(&groups).or_else(|| container_of_mounts(&mounts));
            if let Some(container) = container {
                all.add("container.id", container);
            }
            if variable("KUBERNETES_SERVICE_HOST").is_some() {
                let pod = variable("HOSTNAME").unwrap_or_else(|| host.to_owned());
                all.add("k8s.pod.name", &pod);
            }
            all
        })
    }

    /// Sends a request some time.
    pub fn send(&self, body: Vec<u8>) {
        let mut state = self.shared.state.lock();
        state.bytes += body.len();
        state.waiting.push_back(Arc::new(body));
        // What is on its way stays, and so does the newest.
        let first = usize::from(state.is_busy);
        while state.bytes > ROOM && state.waiting.len() > first + 1 {
            if let Some(old) = state.waiting.remove(first) {
                state.bytes -= old.len();
                state.dropped += 1;
            }
        }
        self.shared.changed.notify_all();
    }

    /// Waits a little for what was not sent, and reports what is lost.
    pub fn close(&mut self) {
        let mut state = self.shared.state.lock();
        let patience = match state.failures {
            0 => LAST,
            _ => LAST_OF_FAILING,
        };
        let until = Instant::now() + patience;
        state.is_last = true;
        self.shared.changed.notify_all();
        while !state.waiting.is_empty() && Instant::now() < until {
            self.shared.changed.wait_until(&mut state, until);
        }
        let undelivered = state.waiting.len() as u64;
        // The thread ends after the attempt that is under way.
        state.waiting.clear();
        let lost = undelivered + state.dropped + state.refused;
        if lost > 0 {
            let why = state.why.as_deref().unwrap_or("it gave no answer in time");
            report::note(&format!(
                "not delivered to {}: {lost} of {} profiles: {}",
                self.shared.url,
                lost + state.delivered,
                why.replace(char::is_control, "?")
            ));
        }
    }
}

/// Sends until the last.
fn work(shared: &Shared) {
    let mut pause = FIRST_PAUSE;
    let mut state = shared.state.lock();
    loop {
        let Some(body) = state.waiting.front().map(Arc::clone) else {
            if state.is_last {
                return;
            }
            shared.changed.wait(&mut state);
            continue;
        };
        state.is_busy = true;
        let was_last = state.is_last;
        drop(state);
        let fate = attempt(shared, &body);
        state = shared.state.lock();
        state.is_busy = false;
        // The end may have given it up meanwhile.
        let is_there = state
            .waiting
            .front()
            .is_some_and(|it| Arc::ptr_eq(it, &body));
        if !is_there {
            continue;
        }
        match fate {
            Fate::Later(why, asked) => {
                state.failures += 1;
                if state.failures == 1 {
                    report::note(&format!(
                        "{} takes no profiles now, and will be tried again: {}",
                        shared.url,
                        why.replace(char::is_control, "?")
                    ));
                }
                state.why = Some(why);
                let until = Instant::now() + asked.unwrap_or(pause).min(MAX_PAUSE);
                pause = (pause * 2).min(MAX_PAUSE);
                while Instant::now() < until && (was_last || !state.is_last) {
                    shared.changed.wait_until(&mut state, until);
                }
                if state.is_last && !was_last {
                    pause = FIRST_PAUSE;
                }
                continue;
            }
            Fate::Delivered => {
                (pause, state.failures) = (FIRST_PAUSE, 0);
                state.delivered += 1;
            }
            Fate::Refused(why) => {
                if state.refused == 0 {
                    report::note(&format!("{} refuses a profile: {why}", shared.url));
                }
                state.refused += 1;
                state.why = Some(why);
            }
        }
        state.waiting.pop_front();
        state.bytes = state.bytes.saturating_sub(body.len());
        shared.changed.notify_all();
    }
}

fn attempt(shared: &Shared, body: &[u8]) -> Fate {
    match request(shared, body) {
        Ok((200..=299, _)) => Fate::Delivered,
        Ok((status @ (408 | 429 | 500..=599), after)) => {
            Fate::Later(format!("status {status}"), after)
        }
        Ok((status @ (401 | 403), _)) => Fate::Refused(format!(
            "status {status}: check the credentials in OTEL_EXPORTER_OTLP_HEADERS"
        )),
        Ok((404, _)) => Fate::Refused("status 404: check the path of the URL".to_owned()),
        Ok((status, _)) => Fate::Refused(format!("status {status}")),
        Err(error) => Fate::Later(error.to_string(), None),
    }
}

/// The time that is left, which no call may take for none.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")),
        false => Ok(left),
    }
}

/// Sends one request on a connection of its own; gives the status, and how long to wait by `Retry-After`.
fn request(shared: &Shared, body: &[u8]) -> io::Result<(u16, Option<Duration>)> {
    let until = Instant::now() + shared.timeout;
    let url = &shared.url;
    let mut stream = None;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (url.host.as_str(), url.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(connected) => {
                stream = Some(connected);
                break;
            }
            Err(error) => last = error,
        }
    }
    let mut stream = stream.ok_or(last)?;
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\nuser-agent: hprof-rs-agent/{}\r\ncontent-type: application/x-protobuf\r\n\
         content-encoding: gzip\r\ncontent-length: {}\r\nconnection: close\r\n{}\r\n",
        url.path,
        url.authority(),
        env!("CARGO_PKG_VERSION"),
        body.len(),
        shared.headers
    );
    for mut part in [head.as_bytes(), body] {
        while !part.is_empty() {
            stream.set_write_timeout(Some(left(until)?))?;
            match stream.write(part)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => part = &part[written..],
            }
        }
    }
    let mut answer = Vec::new();
    let mut block = [0; 1024];
    while !has_head(&answer) && answer.len() < MAX_HEAD {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut block)? {
            0 => break,
            read => answer.extend_from_slice(&block[..read]),
        }
    }
    parse(&answer).ok_or_else(|| io::Error::other("the answer is not HTTP"))
}

fn has_head(answer: &[u8]) -> bool {
    answer.windows(4).any(|four| four == b"\r\n\r\n")
}

/// The status of an answer, and its `Retry-After`.
fn parse(answer: &[u8]) -> Option<(u16, Option<Duration>)> {
    let head = String::from_utf8_lossy(answer);
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?;
    let status = status.split(' ').nth(1)?.parse().ok()?;
    let after = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_after = name.eq_ignore_ascii_case("retry-after");
        is_after.then(|| value.trim().parse().ok()).flatten()
    });
    Some((status, after.map(Duration::from_secs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_a_status_and_perhaps_a_wait() {
        let seconds = Duration::from_secs;
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\n\r\n", Some((200, None))),
            (
                "HTTP/1.0 503 Away\r\nA: b\r\nRetry-After: 7\r\n\r\n",
                Some((503, Some(seconds(7)))),
            ),
            (
                "HTTP/1.1 429 Later\r\nRetry-After: soon\r\n\r\n",
                Some((429, None)),
            ),
            ("SSH-2.0-x\r\n", None),
            ("", None),
        ] {
            assert_eq!(parse(answer.as_bytes()), expected, "{answer}");
        }
    }
}
