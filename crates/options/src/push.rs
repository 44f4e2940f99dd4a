//! `continuous=`: the receiver of profiles.

use std::fmt;

/// The port of a URL that names none.
const PORT: u16 = 80;
/// The reason that the agent refuses encrypted connections.
const NO_TLS: &str = "the agent has no TLS: give a receiver on this host or in the same pod, or start the program by hprof-rs run --push";

/// The URL of a receiver of OpenTelemetry's profiles, which the agent reaches without encryption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushUrl {
    /// Name or address, without brackets.
    pub host: String,
    /// The TCP port, not 0.
    pub port: u16,
    /// The path, with its slash; empty if the URL has none.
    pub path: String,
}

impl PushUrl {
    /// Parses `http://HOST:PORT/PATH`.
    ///
    /// # Errors
    /// If it is none, with the reason, which does not show credentials in it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with("https://") {
            return Err(NO_TLS.to_owned());
        }
        if text.starts_with("pyroscope+") {
            return Err(
                "the agent sends OTLP alone: for Pyroscope start the program by hprof-rs run --push"
                    .to_owned(),
            );
        }
        let rest = text.strip_prefix("http://");
        let rest = rest.ok_or("a receiver is a URL such as http://localhost:4318")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"?#".contains(&byte);
        if authority.contains('@') || !rest.bytes().all(is_plain) {
            return Err(
                "the URL has no user name, no query and no blanks; credentials go into OTEL_EXPORTER_OTLP_HEADERS"
                    .to_owned(),
            );
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or("an IPv6 address ends with ]")?,
            None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => PORT,
            Some(digits) => digits.parse().map_err(|_| "a port is 1 to 65535")?,
            None => return Err("behind ] comes the port".to_owned()),
        };
        if host.is_empty() || port == 0 {
            return Err("the URL needs a host, and a port from 1 to 65535".to_owned());
        }
        Ok(Self {
            host: host.to_owned(),
            port,
            path: path.trim_end_matches('/').to_owned(),
        })
    }

    /// Host and port, as HTTP has them.
    #[must_use]
    pub fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for PushUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_host_a_port_and_a_path() {
        for (text, host, port, path) in [
            ("http://localhost:4318", "localhost", 4318, ""),
            ("http://collector/", "collector", 80, ""),
            ("http://[::1]:4318/own/path", "::1", 4318, "/own/path"),
        ] {
            let url = PushUrl::parse(text).expect(text);
            assert_eq!((&*url.host, url.port, &*url.path), (host, port, path));
        }
        let url = PushUrl::parse("http://[::1]/p").expect("a URL");
        assert_eq!(url.to_string(), "http://[::1]:80/p");
        for (wrong, reason) in [
            ("https://a", "no TLS"),
            ("pyroscope+http://a", "OTLP alone"),
            ("localhost:4318", "such as"),
            ("http://me:secret@a", "no user name"),
            ("http://a?key=1", "no query"),
            ("http://a:0", "port"),
            ("http://a:x", "port"),
            ("http://:80", "host"),
            ("http://[::1", "]"),
        ] {
            let error = PushUrl::parse(wrong).expect_err(wrong);
            assert!(
                error.contains(reason) && !error.contains("secret"),
                "{error}"
            );
        }
    }
}
