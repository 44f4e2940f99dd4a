//! The place of the tables: a folder, or object storage.

use std::fs::{self, File};
use std::path::Path;

use anyhow::Context;
#[cfg(feature = "fleet")]
use hprof_server::store::Bucket;
use hprof_server::{TemporaryFolder, temporary_folder};
use hprof_tables::schema::TABLES;
use hprof_tables::{Exported, Folder, Labels};

use crate::render::steps::Step;
use crate::serve::check_place;

/// Where the tables go.
pub struct Place {
    folder: Folder,
    /// Object storage, with the folder on this machine in which tables wait.
    bucket: Option<(Bucket, TemporaryFolder)>,
}

/// Object storage in a build without it: there is none.
#[cfg(not(feature = "fleet"))]
enum Bucket {}

#[cfg(not(feature = "fleet"))]
impl Bucket {
    fn open(_: &str) -> anyhow::Result<Self> {
        anyhow::bail!("object storage is not built in")
    }

    fn send(&self, _: File, _: &str) -> anyhow::Result<()> {
        match *self {}
    }

    fn delete(&self, _: &str) -> anyhow::Result<()> {
        match *self {}
    }
}

impl Place {
    /// The place with a name: a folder, or a URL such as `s3://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// If the folder cannot be made, or the storage refuses or does not answer.
    pub fn open(name: &Path) -> anyhow::Result<Self> {
        let url = name.to_str().filter(|name| name.contains("://"));
        let Some(url) = url else {
            let folder = Folder::new(name)
                .with_context(|| format!("cannot make the folder {}", name.display()))?;
            return Ok(Self {
                folder,
                bucket: None,
            });
        };
        check_place(url)?;
        let bucket = Bucket::open(url)
            // The option of `serve` for the same URLs.
            .map_err(|error| {
                anyhow::Error::msg(error.to_string().replace("--store", "--parquet"))
            })?;
        let waiting = temporary_folder("tables-")?;
        Ok(Self {
            folder: Folder::new(waiting.path())?,
            bucket: Some((bucket, waiting)),
        })
    }

    /// The folder to write tables into.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Sends the tables of a dump to object storage, in the order in which they were written.
    ///
    /// # Errors
    /// If the storage refuses or does not answer.
    pub fn publish(&self, labels: &Labels, exported: &Exported) -> anyhow::Result<()> {
        let Some((bucket, waiting)) = &self.bucket else {
            return Ok(());
        };
        let step = Step::begin("sending", exported.bytes());
        let mut sent = Vec::new();
        for (path, _) in &exported.files {
            let name = path.strip_prefix(waiting.path())?;
            let name = name.to_str().context("a name of a table is not in UTF-8")?;
            let file = File::open(path)?;
            let length = file.metadata()?.len();
            bucket.send(file, name).context("cannot send a table")?;
            fs::remove_file(path)?;
            step.add(length);
            sent.push(name.to_owned());
        }
        // As in a folder, tables of an earlier export do not stay.
        for table in TABLES {
            let name = format!("{0}/{1}/{0}.parquet", table.name, labels.path().display());
            if !sent.contains(&name) {
                bucket.delete(&name).context("cannot remove a table")?;
            }
        }
        Ok(())
    }
}
