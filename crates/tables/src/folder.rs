//! The folder of tables: partitions, temporary names, and the rename that publishes.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::TableError;
use crate::file::TableFile;
use crate::schema::{TABLES, Table};

/// The labels of a dump, by which its tables are partitioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// The service that the program is a part of.
    pub service: String,
    /// The machine that it ran on.
    pub host: String,
    /// The day of the dump in UTC, such as `2026-11-22`.
    pub date: String,
    /// The name of the dump: the hash of its content, or a name from its user.
    pub dump: String,
}

impl Labels {
    /// The folder of a partition below that of its table, in the form of Hive: names and values
    /// with `=` between, and other characters than letters, digits, `-`, `_` and `.` as `%XX`.
    pub fn path(&self) -> PathBuf {
        let parts = [
            ("service", &self.service),
            ("host", &self.host),
            ("date", &self.date),
            ("dump", &self.dump),
        ];
        let part = |(name, value): (&str, &String)| format!("{name}={}", escaped(value));
        parts.into_iter().map(part).collect()
    }
}

fn escaped(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                text.push(char::from(byte));
            }
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

/// A folder that takes the tables of dumps: `TABLE/service=…/host=…/date=…/dump=…/TABLE.parquet`.
///
/// Folders and files can be read by those that can read the folder itself. If it is not there, it is
/// made for its owner alone, as what comes from the memory of a program is private.
pub struct Folder {
    root: PathBuf,
    /// The mode of the folder.
    mode: u32,
}

impl Folder {
    /// The folder at a path, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(root: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let mode = fs::metadata(root)?.permissions().mode() & 0o777;
        Ok(Self {
            root: root.to_owned(),
            mode,
        })
    }

    /// The file of a table of a dump.
    fn path(&self, table: &str, labels: &Labels) -> PathBuf {
        let folder = self.root.join(table).join(labels.path());
        folder.join(format!("{table}.parquet"))
    }

    /// Takes the tables of one dump.
    pub(crate) fn writing(&self, labels: &Labels) -> Writing<'_> {
        Writing {
            folder: self,
            labels: labels.clone(),
            done: Vec::new(),
        }
    }
}

/// The tables of a dump, which have temporary names until all are whole.
pub(crate) struct Writing<'a> {
    folder: &'a Folder,
    labels: Labels,
    done: Vec<(NamedTempFile, PathBuf, u64)>,
}

impl Writing<'_> {
    /// Writes a table.
    pub fn table(
        &mut self,
        name: &'static str,
        write: impl FnOnce(&mut TableFile) -> Result<(), TableError>,
    ) -> Result<u64, TableError> {
        let table = Table::named(name);
        let partition = self.folder.root.join(name).join(self.labels.path());
        let mode = self.folder.mode;
        DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(&partition)?;
        // Readers pass over files that begin with a dot or end otherwise than in `.parquet`.
        let temporary = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".part")
            .permissions(fs::Permissions::from_mode(mode & 0o666))
            .tempfile_in(&partition)?;
        let labels = &self.labels;
        let facts = [
            ("hprof-rs.table", name.to_owned()),
            ("service", labels.service.clone()),
            ("host", labels.host.clone()),
            ("date", labels.date.clone()),
            ("dump", labels.dump.clone()),
        ];
        let mut file = TableFile::new(table, temporary.reopen()?, &facts)?;
        write(&mut file)?;
        let rows = file.finish()?;
        let path = self.folder.path(name, &self.labels);
        self.done.push((temporary, path, rows));
        Ok(rows)
    }

    /// Gives all files their names, in the order in which they were written, and removes those of
    /// an earlier export that this one does not have.
    pub fn publish(self) -> Result<Vec<(PathBuf, u64)>, TableError> {
        let written: Vec<PathBuf> = self.done.iter().map(|done| done.1.clone()).collect();
        let mut published = Vec::new();
        for (temporary, path, rows) in self.done {
            temporary.persist(&path).map_err(|error| error.error)?;
            published.push((path, rows));
        }
        for table in TABLES {
            let path = self.folder.path(table.name, &self.labels);
            if !written.contains(&path) {
                match fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(error.into());
                    }
                    _ => {}
                }
            }
        }
        Ok(published)
    }
}
