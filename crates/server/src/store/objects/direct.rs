//! Uploads straight to object storage: multipart uploads of S3 with presigned requests.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::ObjectFiles;
use super::manifest::{UploadEntry, invalid};
use super::remote::Signing;
use crate::ids::{ContentHash, DumpId};
use crate::store::direct::{Direct, Pieces, VALID};
use crate::store::{Fault, PartId};

/// The smallest piece, in bytes. S3 wants 5 MiB at least.
const MIN_PIECE: u64 = 16 << 20;
/// The most pieces, which S3 bounds by 10,000.
const MAX_PIECES: u64 = 9000;

/// The pauses between looks for an object that may come about yet, in milliseconds.
const PAUSES: [u64; 4] = [500, 1000, 1500, 2000];

impl ObjectFiles {
    fn upload(&self, part: &PartId) -> io::Result<UploadEntry> {
        let path = self.remote.path(&["uploads", part.as_str()]);
        UploadEntry::parse(&self.remote.read(&path)?)
    }

    fn signing(&self) -> io::Result<&Signing> {
        let refused = || Fault::Refused("it signs no requests".to_owned());
        self.remote.signing().ok_or_else(|| refused().into())
    }
}

impl Direct for ObjectFiles {
    fn origin(&self) -> &str {
        self.remote.signing().map_or("", |signing| &signing.origin)
    }

    fn begin(&self, part: &PartId, bytes: u64) -> io::Result<Pieces> {
        let blob = self.remote.path(&["blobs", part.as_str()]);
        let entry = UploadEntry {
            upload: self.remote.begin(&blob)?,
            bytes,
            piece: MIN_PIECE.max(bytes.div_ceil(MAX_PIECES)),
        };
        let path = self.remote.path(&["uploads", part.as_str()]);
        let created = self.remote.create(&path, serde_json::to_vec(&entry)?);
        match created {
            Ok(_) => Ok(entry.pieces()),
            Err(error) => {
                // The bucket's lifecycle removes what this does not.
                let _ = self.remote.abort(&blob, &entry.upload);
                Err(error)
            }
        }
    }

    fn pieces(&self, part: &PartId) -> io::Result<Pieces> {
        Ok(self.upload(part)?.pieces())
    }

    fn address(&self, part: &PartId, number: u64) -> io::Result<String> {
        let entry = self.upload(part)?;
        if entry.pieces().length(number).is_none() {
            return Err(invalid("there is no such piece of the upload"));
        }
        let blob = self.remote.path(&["blobs", part.as_str()]);
        let signing = self.signing()?;
        let url = self
            .remote
            .sign(signing, &blob, &entry.upload, number, VALID)?;
        // The operator's endpoint, whatever the client makes of it.
        match url.starts_with(&format!("{}/", signing.origin)) {
            true => Ok(url),
            false => Err(Fault::Refused("the address is of another host".to_owned()).into()),
        }
    }

    fn complete(&self, part: &PartId, etags: &[String], head: u64) -> io::Result<(u64, Vec<u8>)> {
        let entry = self.upload(part)?;
        if etags.len() as u64 != entry.pieces().count() {
            return Err(invalid(
                "the list of pieces has another length than the upload",
            ));
        }
        let blob = self.remote.path(&["blobs", part.as_str()]);
        let completed = self.remote.complete(&blob, &entry.upload, etags);
        let mut found = self.remote.head(&blob, head);
        // The storage may still be at work on a request whose answer was not waited for.
        for pause in PAUSES {
            let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            if completed.is_ok() || !found.as_ref().is_err_and(is_missing) {
                break;
            }
            sleep(Duration::from_millis(pause));
            found = self.remote.head(&blob, head);
        }
        match (completed, found) {
            (Ok(()), found) => found,
            // An earlier request has completed it, and its answer was lost.
            (Err(_), Ok(found)) => Ok(found),
            (Err(error), Err(_)) if error.kind() == io::ErrorKind::NotFound => {
                Err(invalid("the storage has no such upload; begin again"))
            }
            (Err(error), Err(_)) => match Fault::of(&error) {
                Some(Fault::Refused(_)) => Err(invalid(
                    "the storage refuses to put the pieces together: one is missing or another one",
                )),
                _ => Err(error),
            },
        }
    }

    fn publish(
        &self,
        part: &PartId,
        bytes: u64,
        dump: &DumpId,
        sha256: &ContentHash,
    ) -> io::Result<()> {
        self.name_blob(part, bytes, dump, sha256)?;
        // It is a dump by now, and a client that repeats the request would find no upload. An entry
        // that stays goes with the sweep.
        let _ = (self.remote).delete(&self.remote.path(&["uploads", part.as_str()]));
        Ok(())
    }

    fn abandon(&self, part: &PartId) -> io::Result<()> {
        let entry = match self.upload(part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let blob = self.remote.path(&["blobs", part.as_str()]);
        // It is complete already if this fails; then its bytes go.
        let _ = self.remote.abort(&blob, &entry.upload);
        self.remote.delete(&blob)?;
        self.remote
            .delete(&self.remote.path(&["uploads", part.as_str()]))
    }
}
