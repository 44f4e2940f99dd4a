//! Where a server is, and the token for it.

use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, bail};

/// The environment variable with the token.
const TOKEN: &str = "HPROF_RS_TOKEN";
/// The longest token that is read from a file, in bytes.
const MAX_TOKEN: usize = 4096;

/// A token. It has no `Display`, and its `Debug` shows nothing, so that it gets into no message.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// A token as the user wrote it.
    ///
    /// # Errors
    /// If it cannot stand in a header.
    fn new(text: &str, source: &str) -> anyhow::Result<Self> {
        let text = text.trim();
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_plain || text.len() > MAX_TOKEN {
            bail!("{source} holds no token: `hprof-rs serve --new-token uploader` prints one");
        }
        Ok(Self(text.to_owned()))
    }

    /// The value of the header `Authorization`.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// The token of the flags or the environment, the first of: `--token`, `--token-file`,
    /// `HPROF_RS_TOKEN`.
    ///
    /// # Errors
    /// If the file cannot be read or holds no token.
    pub fn find(flag: Option<&str>, file: Option<&Path>) -> anyhow::Result<Option<Self>> {
        if let Some(text) = flag {
            return Self::new(text, "--token").map(Some);
        }
        if let Some(path) = file {
            let fail = || format!("cannot read the token in {}", path.display());
            let text = fs::read_to_string(path).with_context(fail)?;
            return Self::new(&text, &path.display().to_string()).map(Some);
        }
        match std::env::var(TOKEN) {
            Ok(text) if !text.is_empty() => Self::new(&text, TOKEN).map(Some),
            _ => Ok(None),
        }
    }
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Scheme and authority, and the path below which a proxy has the server; without a slash at
    /// the end.
    pub base: String,
    /// The token in a link that `hprof-rs serve` printed.
    pub secret: Option<Secret>,
    /// True if TLS protects the way.
    pub is_tls: bool,
    /// True if the server is on this machine.
    pub is_local: bool,
}

impl Address {
    /// Reads an address: a URL, or the link that `hprof-rs serve` printed.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let wrong = "--server takes a URL such as https://dumps.example.com, or the link that \
             `hprof-rs serve` printed";
        let (place, query) = text.trim().split_once('?').unwrap_or((text.trim(), ""));
        let Some((scheme, rest)) = place.split_once("://") else {
            bail!("{wrong}");
        };
        let is_tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => bail!("{wrong}"),
        };
        let rest = rest.trim_end_matches('/');
        let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&byte);
        if authority.is_empty() || !rest.bytes().all(is_plain) {
            bail!("{wrong}");
        }
        if authority.contains('@') {
            bail!("--server takes no user name; give the token by HPROF_RS_TOKEN or --token-file");
        }
        let secret = query.split('&').find_map(|it| it.strip_prefix("token="));
        let secret = secret.map(|token| Secret::new(token, "the link"));
        Ok(Self {
            base: format!("{}://{rest}", if is_tls { "https" } else { "http" }),
            secret: secret.transpose()?,
            is_tls,
            is_local: is_local(authority),
        })
    }

    /// Reads the URL of a receiver of profiles.
    ///
    /// # Errors
    /// If it is none. The error does not show it, as it may have a password in it.
    pub fn receiver(text: &str) -> anyhow::Result<Self> {
        let wrong = "the receiver's URL is no http://HOST:PORT or https://HOST:PORT, with or without a path";
        if text.contains(['?', '#']) {
            bail!("{wrong}; it takes no query");
        }
        let authority = text.split_once("://").map_or("", |it| it.1);
        if authority
            .split('/')
            .next()
            .is_some_and(|it| it.contains('@'))
        {
            bail!(
                "the receiver's URL takes no user name; give credentials by OTEL_EXPORTER_OTLP_HEADERS or \
                 --push-headers FILE"
            );
        }
        Self::parse(text).map_err(|_| anyhow::Error::msg(wrong))
    }

    /// The page of a dump.
    pub fn link(&self, dump: &str) -> String {
        format!("{}/dumps/{dump}", self.base)
    }
}

/// Returns true if an authority leads to this machine.
fn is_local(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_link_is_an_address_with_its_token() {
        let link = Address::parse("http://127.0.0.1:7117/?token=0a1b\n").unwrap();
        assert_eq!(link.base, "http://127.0.0.1:7117");
        assert_eq!(link.secret.as_ref().unwrap().bearer(), "Bearer 0a1b");
        assert!(link.is_local && !link.is_tls);
        assert_eq!(link.link("0a"), "http://127.0.0.1:7117/dumps/0a");
        assert!(!format!("{link:?}").contains("0a1b"));
    }

    #[test]
    fn addresses_are_checked() {
        let far = Address::parse("HTTPS://dumps.example.com/below/").unwrap();
        assert_eq!(far.base, "https://dumps.example.com/below");
        assert!(far.is_tls && !far.is_local && far.secret.is_none());
        for (text, is_local) in [
            ("http://[::1]:80", true),
            ("http://localhost:1/", true),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Address::parse(text).unwrap().is_local, is_local, "{text}");
        }
        for wrong in [
            "",
            "dumps.example.com",
            "ftp://a",
            "http://",
            "http://a b",
            "http://user:word@a/",
            "http://a/?token=a%20b c",
            "http://a/?token=",
        ] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_token_comes_from_the_flag_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        fs::write(&file, "abc\n").unwrap();
        let found = |flag, file| Secret::find(flag, file).unwrap().unwrap().bearer();
        assert_eq!(found(Some("x"), Some(file.as_path())), "Bearer x");
        assert_eq!(found(None, Some(file.as_path())), "Bearer abc");
        fs::write(&file, "two words").unwrap();
        assert!(Secret::find(None, Some(&file)).is_err());
    }
}
