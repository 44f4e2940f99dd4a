//! Where profiles go, as options and the environment variables of OpenTelemetry have it.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use crate::capture::{Address, Client, Interrupt, Waits};
use crate::export::pairs;
use hprof_stacks::pictures::otlp::PATH as OTLP_PATH;

const PROFILES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The default of `OTEL_EXPORTER_OTLP_TIMEOUT`.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest file of headers that is read, in bytes.
const MAX_HEADERS: u64 = 64 << 10;

/// The protocol of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PushAs {
    /// OpenTelemetry's profiles over HTTP, an alpha: to the path /v1development/profiles, unless the URL has a path.
    Otlp,
    /// Pyroscope: files of pprof to its /ingest.
    Pyroscope,
}

/// How profiles are sent.
#[derive(Debug, Args)]
pub struct PushArguments {
    /// The receiver's protocol [default: otlp; pyroscope for a URL that begins with pyroscope+http].
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    pub push_as: Option<PushAs>,

    /// A file of headers for each request, one `name: value` a line, such as credentials [default:
    /// `OTEL_EXPORTER_OTLP_PROFILES_HEADERS`, `OTEL_EXPORTER_OTLP_HEADERS`].
    #[arg(long, value_name = "FILE")]
    pub push_headers: Option<PathBuf>,

    /// How long to try again at the end while the receiver is away, in seconds [default: 30 for a file, 5 for a program that
    /// was recorded].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub push_patience: Option<u64>,
}

/// A receiver of profiles.
pub struct Destination {
    /// Its protocol.
    pub protocol: PushAs,
    /// The path of requests, below the address.
    pub path: String,
    /// The headers of each request.
    pub headers: Vec<(String, String)>,
    /// The address, for people.
    pub shown: String,
    /// How long to try again at the end.
    pub patience: Duration,
    /// Sends one request.
    pub client: Client,
}

impl PushArguments {
    /// The receiver of a URL; without one, that of the environment. `patience` is how long the end tries again, if the
    /// user does not say it.
    ///
    /// # Errors
    /// If the URL, the environment or the file of headers is not as it must be.
    pub fn destination(
        &self,
        url: Option<&str>,
        patience: Duration,
    ) -> anyhow::Result<Destination> {
        let (url, fixed_path) = match url {
            Some(url) => (url.to_owned(), None),
            None => of_environment()?,
        };
        let (is_pyroscope, plain) = match url.strip_prefix("pyroscope+") {
            Some(plain) => (true, plain),
            None => (false, url.as_str()),
        };
        let protocol = match (self.push_as, is_pyroscope) {
            (Some(PushAs::Otlp), true) => {
                bail!("--push-as otlp takes a URL that begins with http:// or https://")
            }
            (Some(protocol), _) => protocol,
            (None, true) => PushAs::Pyroscope,
            (None, false) => PushAs::Otlp,
        };
        let address = Address::receiver(plain)?;
        let (base, path) = split(&address.base);
        let path = match (protocol, fixed_path) {
            (PushAs::Otlp, Some(FixedPath::AsItIs)) if path.is_empty() => "/".to_owned(),
            (PushAs::Otlp, Some(FixedPath::Base)) => format!("{path}{OTLP_PATH}"),
            (PushAs::Otlp, None) if path.is_empty() => OTLP_PATH.to_owned(),
            (PushAs::Otlp, _) => path.to_owned(),
            (PushAs::Pyroscope, _) if path.ends_with("/ingest") => path.to_owned(),
            (PushAs::Pyroscope, _) => format!("{path}/ingest"),
        };
        let headers = match &self.push_headers {
            Some(file) => headers_of_file(file)?,
            None => headers_of_environment()?,
        };
        let timeout = timeout()?;
        let waits = Waits {
            silence: timeout,
            whole: Some(timeout),
        };
        let authorities = text("OTEL_EXPORTER_OTLP_CERTIFICATE").map(PathBuf::from);
        let shown = format!("{base}{path}");
        let to = Address {
            base: base.to_owned(),
            ..address
        };
        let interrupt = Interrupt::default();
        let client = Client::patient(&to, None, authorities.as_deref(), waits, interrupt)?;
        Ok(Destination {
            protocol,
            path,
            headers,
            shown,
            patience: self.push_patience.map_or(patience, Duration::from_secs),
            client,
        })
    }
}

/// How a URL of the environment is completed.
#[derive(Clone, Copy)]
enum FixedPath {
    /// The path of profiles comes behind its own.
    Base,
    /// Not at all.
    AsItIs,
}

/// A variable of the environment that is set to something.
fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

fn of_environment() -> anyhow::Result<(String, Option<FixedPath>)> {
    let found = text(PROFILES_ENDPOINT).map(|url| (url, Some(FixedPath::AsItIs)));
    let found = found.or_else(|| Some((text(ENDPOINT)?, Some(FixedPath::Base))));
    let Some(found) = found else {
        bail!(
            "there is no receiver: give its URL, such as http://localhost:4318, or set {ENDPOINT}"
        );
    };
    let protocol = text("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL");
    let protocol = protocol.or_else(|| text("OTEL_EXPORTER_OTLP_PROTOCOL"));
    if let Some(other) = protocol.filter(|it| it != "http/protobuf") {
        bail!(
            "OTEL_EXPORTER_OTLP_PROTOCOL asks for {}, and profiles are sent by http/protobuf: give the URL of the \
             receiver's HTTP port, usually 4318",
            other.escape_default()
        );
    }
    Ok(found)
}

/// The limit of one request.
fn timeout() -> anyhow::Result<Duration> {
    let name = "OTEL_EXPORTER_OTLP_TIMEOUT";
    let found = text("OTEL_EXPORTER_OTLP_PROFILES_TIMEOUT").or_else(|| text(name));
    let Some(found) = found else {
        return Ok(TIMEOUT);
    };
    match found.parse() {
        Ok(millis @ 1..=3_600_000) => Ok(Duration::from_millis(millis)),
        _ => bail!("{name} is a number of milliseconds from 1 to 3600000"),
    }
}

/// Scheme and authority, and the path.
fn split(base: &str) -> (&str, &str) {
    let authority = base.find("://").map_or(0, |at| at + 3);
    let end = base[authority..].find('/');
    base.split_at(end.map_or(base.len(), |at| authority + at))
}

fn headers_of_environment() -> anyhow::Result<Vec<(String, String)>> {
    for name in [
        "OTEL_EXPORTER_OTLP_PROFILES_HEADERS",
        "OTEL_EXPORTER_OTLP_HEADERS",
    ] {
        if let Some(text) = text(name) {
            let headers = pairs(&text).with_context(|| format!("the variable {name}"))?;
            return checked(headers, name);
        }
    }
    Ok(Vec::new())
}

fn headers_of_file(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let shown = path.display().to_string();
    let cannot = || format!("cannot read {shown}");
    let file = File::open(path).with_context(cannot)?;
    let mut bytes = Vec::new();
    file.take(MAX_HEADERS + 1)
        .read_to_end(&mut bytes)
        .with_context(cannot)?;
    if bytes.len() as u64 > MAX_HEADERS {
        bail!("{shown} is too long for headers");
    }
    // An error that shows bytes could show a secret.
    let Ok(text) = String::from_utf8(bytes) else {
        bail!("{shown} is no text of UTF-8");
    };
    let mut headers = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once(':') else {
            bail!("{shown}: line {} is no `name: value`", at + 1);
        };
        headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    checked(headers, &shown)
}

/// Headers that HTTP can have. Errors do not show values, as they may be secret.
fn checked(headers: Vec<(String, String)>, source: &str) -> anyhow::Result<Vec<(String, String)>> {
    for (name, value) in &headers {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            bail!("{source}: a header has a name that HTTP does not allow");
        }
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            bail!("{source}: the header {name} has a value that HTTP does not allow");
        }
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn arguments(push_as: Option<PushAs>) -> PushArguments {
        PushArguments {
            push_as,
            push_headers: None,
            push_patience: None,
        }
    }

    #[test]
    fn urls_without_a_path_get_that_of_the_protocol() {
        for (url, push_as, shown) in [
            (
                "http://a:4318",
                None,
                "http://a:4318/v1development/profiles",
            ),
            (
                "http://a:4318/",
                None,
                "http://a:4318/v1development/profiles",
            ),
            ("http://a/b/c", None, "http://a/b/c"),
            ("pyroscope+http://a:4040", None, "http://a:4040/ingest"),
            ("http://a/p", Some(PushAs::Pyroscope), "http://a/p/ingest"),
            (
                "http://a/ingest",
                Some(PushAs::Pyroscope),
                "http://a/ingest",
            ),
        ] {
            let found = arguments(push_as)
                .destination(Some(url), Duration::ZERO)
                .expect(url);
            assert_eq!(found.shown, shown);
        }
        for wrong in [
            "a:4318",
            "ftp://a",
            "http://user:word@a/",
            "http://a/?key=1",
        ] {
            let error = arguments(None)
                .destination(Some(wrong), Duration::ZERO)
                .err();
            let text = format!("{:#}", error.expect(wrong));
            assert!(!text.contains("word"), "{text}");
        }
        let both = arguments(Some(PushAs::Otlp));
        let both = both.destination(Some("pyroscope+http://a"), Duration::ZERO);
        assert!(both.is_err());
    }

    #[test]
    fn headers_come_from_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("headers");
        fs::write(
            &file,
            "# ours\nAuthorization: Bearer a:b\n\nX-Scope-OrgID: 7\n",
        )
        .expect("a file");
        let headers = headers_of_file(&file).expect("headers");
        let expected = [("Authorization", "Bearer a:b"), ("X-Scope-OrgID", "7")];
        assert_eq!(headers, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        for wrong in ["secret", "a b: secret", "a: secret\u{7}"] {
            fs::write(&file, wrong).expect("a file");
            let error = format!("{:#}", headers_of_file(&file).expect_err(wrong));
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_file_without_end_is_no_file_of_headers() {
        let error = headers_of_file(Path::new("/dev/zero")).expect_err("too long");
        assert!(error.to_string().contains("too long"), "{error}");
    }
}
