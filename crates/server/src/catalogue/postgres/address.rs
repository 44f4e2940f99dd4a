//! Where the database is, and how it is reached safely.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(3);
/// How long a peer may leave what was sent unconfirmed.
const SILENCE: Duration = Duration::from_secs(6);

/// The address of a PostgreSQL database, with the means to enter it. Its `Debug` and `Display`
/// texts have no password.
#[derive(Clone)]
pub struct DatabaseAddress {
    pub(super) config: Config,
    has_password: bool,
}

/// A text is no address of a database.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0}: an address of PostgreSQL is expected, such as postgres://hprof@db.example.com/hprof (a Unix \
     socket: postgres://hprof@%2Frun%2Fpostgresql/hprof)"
)]
pub struct NoAddress(String);

impl DatabaseAddress {
    /// Returns whether the text had a password in it.
    pub fn has_password(&self) -> bool {
        self.has_password
    }

    /// Returns whether connections are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.config.get_ssl_mode() != SslMode::Disable
    }
}

impl FromStr for DatabaseAddress {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        let text = text.trim();
        let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
        if !is_url {
            return Err(NoAddress("it does not begin with postgres://".to_owned()));
        }
        let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
            let source = std::error::Error::source(&error);
            NoAddress(source.map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().is_empty() {
            return Err(NoAddress("it names no host".to_owned()));
        }
        let is_here = |host: &Host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
        };
        // Passwords and rows do not cross a network in clear text unless the address asks for that.
        if !text.contains("sslmode=") {
            config.ssl_mode(match config.get_hosts().iter().all(is_here) {
                true => SslMode::Disable,
                false => SslMode::Require,
            });
        } else if config.get_ssl_mode() == SslMode::Prefer {
            config.ssl_mode(SslMode::Require);
        }
        config
            .application_name("hprof-rs")
            .connect_timeout(CONNECT)
            .tcp_user_timeout(SILENCE)
            .keepalives_idle(SILENCE);
        Ok(Self {
            has_password: config.get_password().is_some(),
            config,
        })
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => Path::display(path).to_string(),
        };
        let hosts: Vec<_> = self.config.get_hosts().iter().map(host).collect();
        let name = self.config.get_dbname().unwrap_or("?");
        write!(f, "database {name} at {}", hosts.join(", "))
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_never_shows_its_password() {
        let address: DatabaseAddress = "postgres://me:secret@localhost/x".parse().unwrap();
        assert!(address.has_password());
        assert!(!format!("{address} {address:?}").contains("secret"));
        let wrong = "postgres://me:secret@localhost:port/x".parse::<DatabaseAddress>();
        let message = wrong.unwrap_err().to_string();
        assert!(!message.contains("secret"), "{message}");
    }

    #[test]
    fn beyond_this_machine_connections_are_encrypted_unless_the_address_refuses() {
        for (address, is) in [
            ("postgres://me@localhost/x", false),
            ("postgres://me@%2Frun%2Fpostgresql/x", false),
            ("postgres://me@localhost/x?sslmode=require", true),
            ("postgres://me@db/x", true),
            ("postgres://me@db/x?sslmode=prefer", true),
            ("postgres://me@db/x?sslmode=disable", false),
        ] {
            let parsed: DatabaseAddress = address.parse().unwrap();
            assert_eq!(parsed.is_encrypted(), is, "{address}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_an_example() {
        for text in ["", "host=db", "mysql://db/x", "postgres://"] {
            let refused = text.parse::<DatabaseAddress>().unwrap_err().to_string();
            assert!(refused.contains("postgres://hprof@"), "{refused}");
        }
    }
}
