//! Uploads that go to the storage without passing through this server.
//!
//! The client that sends one computes its SHA-256; the first worker that fetches the dump compares
//! it.

use std::io;

use http::StatusCode;

use super::{HEAD, Wishes, file_name, look, too_large};
use crate::catalogue::{Dump, NewDump, Upload};
use crate::ids::{ContentHash, DumpId};
use crate::problem::Problem;
use crate::state::AppState;
use crate::store::{self, Direct, PartId, Pieces};
use crate::time::Millis;

/// Uploads that may be under way.
const MAX_UPLOADS: usize = 1000;

impl AppState {
    /// The way into the storage, where it has one and nothing has to be blanked here.
    ///
    /// # Errors
    /// If it has none: the client sends the bytes to the server.
    fn direct(&self, strips: bool) -> Result<&dyn Direct, Problem> {
        let none = |detail: &str| {
            Problem::new(
                StatusCode::CONFLICT,
                "no-direct-upload",
                "Bytes come through the server",
                detail,
            )
        };
        if strips || self.config().strip.is_some() {
            return Err(none("the server blanks values, so it has to see the bytes"));
        }
        let direct = self.store().direct();
        direct.ok_or_else(|| none("the store of this server takes bytes from it only"))
    }

    /// Scheme, host and port of the storage that takes uploads, if there is any.
    pub fn upload_origin(&self) -> Option<&str> {
        let direct = self.direct(false).ok()?;
        Some(direct.origin())
    }

    /// Begins an upload straight to the storage. Blocks.
    ///
    /// # Errors
    /// If there is no such way, or it is too large.
    pub fn begin_direct(
        &self,
        name: &str,
        bytes: u64,
        strip: &str,
        fail_above: &str,
        stripped: &str,
    ) -> Result<(PartId, Pieces), Problem> {
        let wishes = Wishes::of_texts(strip, fail_above, stripped)?;
        let direct = self.direct(wishes.strips)?;
        let limit = self.config().max_upload;
        if bytes > limit {
            return Err(too_large(limit));
        }
        let uploads = self.catalogue().uploads()?;
        if uploads.iter().filter(|it| it.dump.is_none()).count() >= MAX_UPLOADS {
            let detail = format!("{MAX_UPLOADS} uploads are under way; end or delete some");
            return Err(Problem::conflict(detail));
        }
        let part = PartId::new().map_err(Problem::internal)?;
        self.catalogue().add_upload(&Upload {
            id: part.as_str().to_owned(),
            name: file_name(name),
            length: bytes,
            created_at: Millis::now(),
            strips: false,
            fail_above: fail_above.to_owned(),
            stripped: stripped.to_owned(),
            dump: None,
        })?;
        match direct.begin(&part, bytes) {
            Ok(pieces) => Ok((part, pieces)),
            Err(error) => {
                self.catalogue().delete_upload(part.as_str())?;
                Err(store::problem(&error))
            }
        }
    }

    /// An upload straight to the storage. Blocks.
    fn direct_upload(&self, id: &str) -> Result<(PartId, Upload), Problem> {
        let gone = || Problem::not_found("there is no such upload; begin again");
        let part: PartId = id.parse().map_err(|()| gone())?;
        let upload = self.catalogue().upload(id)?.ok_or_else(gone)?;
        Ok((part, upload))
    }

    /// The addresses for some pieces of an upload. Blocks.
    ///
    /// # Errors
    /// If there is no such upload or piece.
    pub fn direct_addresses(&self, id: &str, numbers: &[u64]) -> Result<Vec<String>, Problem> {
        let (part, _) = self.direct_upload(id)?;
        let direct = self.direct(false)?;
        let address = |&number: &u64| direct.address(&part, number).map_err(of_request);
        numbers.iter().map(address).collect()
    }

    /// Makes a dump of an upload whose pieces have all come, and has it analysed. Blocks.
    ///
    /// # Errors
    /// If a piece is missing, the length is another one, or the bytes are no dump: then the upload
    /// goes.
    pub fn complete_direct(
        &self,
        id: &str,
        etags: &[String],
        sha256: &str,
    ) -> Result<Dump, Problem> {
        let sha256: ContentHash = sha256
            .parse()
            .map_err(|()| Problem::bad_request("sha256 has 64 hexadecimal digits in lower case"))?;
        let (part, upload) = self.direct_upload(id)?;
        if let Some(dump) = upload.dump {
            // The answer was lost.
            return self.dump(&dump);
        }
        let direct = self.direct(false)?;
        let completed = direct.complete(&part, etags, HEAD as u64);
        let (bytes, head) = completed.map_err(of_request)?;
        let taken = match bytes == upload.length {
            true => look(&head, self.config().recognise),
            false => Err(Problem::bad_request(format!(
                "{} bytes came and {} were announced; send the file again",
                bytes, upload.length
            ))),
        };
        if let Err(problem) = taken {
            self.abandon_direct(id)?;
            return Err(problem);
        }
        let dump = DumpId::of_hash(&sha256);
        self.check_id(&dump, &sha256)?;
        self.give_way(&dump)?;
        let published = direct.publish(&part, bytes, &dump, &sha256);
        published.map_err(|error| store::problem(&error))?;
        let wishes = Wishes::of_texts("", &upload.fail_above, &upload.stripped)?;
        let dump = self.register(NewDump {
            id: dump,
            name: upload.name,
            bytes,
            sha256,
            stripped: false,
            strippings: wishes.stripped.into_iter().collect(),
            note: String::new(),
        })?;
        if !wishes.rules.is_empty() {
            self.set_rules(&dump.id, &wishes.rules)?;
        }
        self.catalogue().complete_upload(id, &dump.id)?;
        self.dump(&dump.id)
    }

    /// Gives an upload straight to the storage up. Blocks.
    ///
    /// # Errors
    /// If there is none, or it is a dump already.
    pub fn abandon_direct(&self, id: &str) -> Result<(), Problem> {
        let (part, upload) = self.direct_upload(id)?;
        if upload.dump.is_some() {
            return Err(Problem::conflict("the upload is complete; delete the dump"));
        }
        if let Some(direct) = self.store().direct() {
            let removed = direct.abandon(&part);
            removed.map_err(|error| store::problem(&error))?;
        }
        self.catalogue().delete_upload(id)?;
        Ok(())
    }
}

/// The problem of a request that the storage could not fulfil.
fn of_request(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::InvalidInput => Problem::conflict(error.to_string()),
        io::ErrorKind::NotFound => Problem::not_found("there is no such upload; begin again"),
        _ => store::problem(&error),
    }
}
