//! Segments of pushed profiles in object storage, `pushed/SEGMENT`.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{ObjectFiles, fetch};
use crate::store::objects::manifest::FileEntry;
use crate::store::{FILE_TIME, PushedFiles};

impl PushedFiles for ObjectFiles {
    fn send_pushed(&self, id: &str, file: &Path) -> io::Result<()> {
        let to = self.remote.path(&["pushed", id]);
        self.remote.send(File::open(file)?, &to)
    }

    fn fetch_pushed(&self, id: &str, bytes: u64, sha256: &str, to: &Path) -> io::Result<()> {
        let about = FileEntry {
            name: format!("segment {id}"),
            bytes,
            sha256: sha256.to_owned(),
            modified_nanos: FILE_TIME,
        };
        let from = self.remote.path(&["pushed", id]);
        fetch::file(&self.remote, &from, &about, to)
    }

    fn delete_pushed(&self, id: &str) -> io::Result<()> {
        self.remote.delete(&self.remote.path(&["pushed", id]))
    }
}
