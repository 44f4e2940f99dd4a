//! Object storage for files with names of their own, such as exported tables.

use std::fs::File;
use std::io;
use std::time::Duration;

use super::OpenError;
use super::clients::remote;
use super::objects::Remote;
use super::open::environment;

/// How long a request is repeated while the storage does not work.
const PATIENCE: Duration = Duration::from_secs(60);

/// Object storage below a prefix. All calls block.
pub struct Bucket(Remote);

impl Bucket {
    /// The bucket and prefix of a URL such as `s3://BUCKET/PREFIX`, with the keys of the environment.
    ///
    /// # Errors
    /// If the URL is wrong, or the storage refuses or does not answer.
    pub fn open(place: &str) -> Result<Self, OpenError> {
        Self::open_with(place, &environment())
    }

    /// As [`Self::open`], with names and values in the place of the environment.
    ///
    /// # Errors
    /// If the URL is wrong, or the storage refuses or does not answer.
    pub fn open_with(place: &str, environment: &[(String, String)]) -> Result<Self, OpenError> {
        let (remote, _) = remote(place, environment, PATIENCE)?;
        Ok(Self(remote))
    }

    /// Sends a file under a name below the prefix, with `/` between its parts. The object is there
    /// when it is whole, and replaces one of that name.
    ///
    /// # Errors
    /// Returns the errors of the storage. Fails too if the name is no path.
    pub fn send(&self, file: File, name: &str) -> io::Result<()> {
        self.0.send(file, &self.0.named(name)?)
    }

    /// Removes an object, if it is there.
    ///
    /// # Errors
    /// Returns the errors of the storage. Fails too if the name is no path.
    pub fn delete(&self, name: &str) -> io::Result<()> {
        self.0.delete(&self.0.named(name)?)
    }
}
