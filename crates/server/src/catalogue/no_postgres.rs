//! Addresses of databases in a build without the feature `fleet`: there are none.

use std::str::FromStr;

/// The address of a PostgreSQL database, which a build without the feature `fleet` cannot use.
#[derive(Debug, Clone)]
pub enum DatabaseAddress {}

/// The reason: this build reaches no database.
#[derive(Debug, thiserror::Error)]
#[error("this build has no PostgreSQL: it was made without the feature `fleet`")]
pub struct NoAddress;

impl DatabaseAddress {
    /// True if the text had a password in it.
    pub fn has_password(&self) -> bool {
        match *self {}
    }
}

impl FromStr for DatabaseAddress {
    type Err = NoAddress;

    fn from_str(_: &str) -> Result<Self, NoAddress> {
        Err(NoAddress)
    }
}
