//! Objects that nothing leads to: of processes that ended before their last step.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use object_store::ObjectMeta;

use super::ObjectFiles;
use super::manifest::attempt_of;
use crate::ids::DumpId;
use crate::store::direct::Direct;
use crate::store::{PartId, Store};

impl ObjectFiles {
    /// Removes uploads and blobs that no dump and no upload names, runs and attempts that later ones
    /// have replaced, and analyses without a dump, as far as they are older than `age`. The contents of the storage
    /// itself decide: a new catalogue removes nothing.
    pub(super) fn remove_orphans(
        &self,
        age: Duration,
        is_upload: &dyn Fn(&PartId) -> bool,
    ) -> io::Result<usize> {
        let before = SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH);
        let before = before
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let is_old = |it: &ObjectMeta| it.last_modified.timestamp() < before as i64;
        let list = |name: &str| self.remote.list(&self.remote.path(&[name]));
        // Blobs first: what is named afterwards is newer than the list.
        let (blobs, uploads, analyses) = (list("blobs")?, list("uploads")?, list("analyses")?);
        let dumps = self.dumps()?;
        let mut named = HashSet::new();
        for dump in &dumps {
            match self.entry(dump) {
                Ok(entry) => named.insert(entry.blob),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
        }
        let mut removed = 0;
        let part_of = |it: &ObjectMeta| it.location.filename()?.parse::<PartId>().ok();
        for upload in uploads.iter().filter(|it| is_old(it)) {
            if let Some(part) = part_of(upload).filter(|part| !is_upload(part)) {
                self.abandon_named(&part, named.contains(part.as_str()))?;
                removed += 1;
            }
        }
        for blob in blobs.iter().filter(|it| is_old(it)) {
            let part = part_of(blob);
            let is_free = |part: &PartId| !named.contains(part.as_str()) && !is_upload(part);
            if part.as_ref().is_some_and(is_free) {
                self.remote.delete(&blob.location)?;
                removed += 1;
            }
        }
        let dumps: HashSet<DumpId> = dumps.into_iter().collect();
        Ok(removed + self.remove_old_analyses(&analyses, &dumps, is_old)?)
    }

    /// Removes an upload; its bytes stay if they are a dump.
    fn abandon_named(&self, part: &PartId, is_dump: bool) -> io::Result<()> {
        match is_dump {
            true => self
                .remote
                .delete(&self.remote.path(&["uploads", part.as_str()])),
            false => self.abandon(part),
        }
    }

    fn remove_old_analyses(
        &self,
        objects: &[ObjectMeta],
        dumps: &HashSet<DumpId>,
        is_old: impl Fn(&ObjectMeta) -> bool,
    ) -> io::Result<usize> {
        let depth = self.remote.path(&["analyses"]).parts().count();
        let mut by_dump: HashMap<DumpId, Vec<(&ObjectMeta, String)>> = HashMap::new();
        for object in objects {
            let mut names = object.location.parts().skip(depth);
            let dump = names
                .next()
                .and_then(|name| name.as_ref().parse::<DumpId>().ok());
            let (Some(dump), Some(name)) = (dump, names.next()) else {
                continue;
            };
            let name = name.as_ref().to_owned();
            by_dump.entry(dump).or_default().push((object, name));
        }
        let mut removed = 0;
        for (dump, found) in by_dump {
            let last = match dumps.contains(&dump) {
                true => found.iter().filter_map(|(_, name)| attempt_of(name)).max(),
                false => None,
            };
            let run = match last {
                Some(attempt) => self.read_attempt(&dump, attempt)?.run,
                None => String::new(),
            };
            let is_last = |name: &str| name == run || last.is_some() && attempt_of(name) == last;
            for (object, name) in found {
                if is_old(object) && !is_last(&name) {
                    self.remote.delete(&object.location)?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }
}
