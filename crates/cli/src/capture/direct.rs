//! An upload straight to the storage of a server: the server gives addresses, and the pieces go
//! there, several at once. The token goes to the server only.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::client::Body;
use super::meter::Meter;
use super::{Address, Client, Interrupt, Parcel, Patience};
use crate::render::out::tell;

/// Pieces that are sent at once; each is in memory, and one more.
const SENDERS: usize = 4;
/// How long the first piece is tried before the server is asked to take the file instead.
const FIRST_PATIENCE: Duration = Duration::from_secs(20);
/// The longest piece that is taken into memory.
const MAX_PIECE: u64 = 1 << 30;

/// The server's answer to an announced file.
#[derive(Debug, Deserialize)]
struct Begun {
    id: String,
    piece_bytes: u64,
    pieces: u64,
    origin: String,
}

/// An upload under way.
struct Upload<'a> {
    client: &'a Client,
    storage: Client,
    origin: String,
    path: String,
    meter: Meter,
    is_failed: AtomicBool,
}

/// Sends a file straight to the storage; gives the id of the dump that it has become, and none if the
/// server takes the bytes itself. `storage` makes a client for an address.
///
/// # Errors
/// If the server refuses the file, or storage or server do not answer for as long as patience lasts.
pub fn send_direct(
    client: &Client,
    server: &Address,
    storage: impl FnOnce(&Address) -> anyhow::Result<Client>,
    parcel: &mut Parcel<'_>,
    patience: &mut Patience,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<String>> {
    let length = parcel.file.metadata()?.len();
    let Some(begun) = begin(client, parcel, length, patience)? else {
        return Ok(None);
    };
    let path = format!("/api/v1/direct-uploads/{}", begun.id);
    let (deleting, deleted) = (client.clone(), path.clone());
    let remove = move || match deleting.once("DELETE", &deleted, &[], Body::Empty) {
        Ok(answer) if matches!(answer.status, 204 | 404) => {
            "removed the upload from the storage".to_owned()
        }
        _ => "the storage keeps the upload for seven days, as the server cannot be reached"
            .to_owned(),
    };
    let leftover = interrupt.removes(remove.clone());
    let made = storage_of(server, &begun).and_then(|address| storage(&address));
    let sent = made.and_then(|storage| {
        let upload = Upload {
            client,
            storage,
            origin: begun.origin.clone(),
            path: path.clone(),
            meter: Meter::begin("sending", length),
            is_failed: AtomicBool::new(false),
        };
        let etag = upload.first(parcel.file, &begun, patience)?;
        Ok((upload, etag))
    });
    let (upload, first) = match sent {
        Ok(made) => made,
        Err(error) => {
            drop(leftover);
            remove();
            tell!("hprof-rs: not straight to the storage: {error:#}; sending to the server");
            return Ok(None);
        }
    };
    let sent = upload.all(parcel.file, &begun, first, length, patience);
    drop(leftover);
    sent.map(Some).inspect_err(|_| {
        // What it would say is not the reason.
        remove();
    })
}

/// Announces the file; gives none if the server has no such way.
fn begin(
    client: &Client,
    parcel: &Parcel<'_>,
    length: u64,
    patience: &mut Patience,
) -> anyhow::Result<Option<Begun>> {
    let mut file = json!({"name": parcel.name, "length": length});
    for (key, value) in parcel.metadata {
        file[*key] = json!(value);
    }
    let answer = client.ask("POST", "/api/v1/direct-uploads", &[], Some(&file), patience)?;
    match answer.status {
        201 => {}
        // An older server.
        404 | 405 => return Ok(None),
        409 if answer.json()?["type"] == "no-direct-upload" => return Ok(None),
        _ => return Err(answer.problem()),
    }
    let begun: Begun = serde_json::from_value(answer.json()?)
        .context("the answer is not one of `hprof-rs serve`; check the address")?;
    let is_id = begun.id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_whole = (1..=MAX_PIECE).contains(&begun.piece_bytes)
        && begun.pieces == length.div_ceil(begun.piece_bytes).max(1);
    ensure!(
        is_id && is_whole,
        "the answer is not one of `hprof-rs serve`; check the address"
    );
    Ok(Some(begun))
}

/// The address of the storage, unless it would protect the dump less than the server does.
fn storage_of(server: &Address, begun: &Begun) -> anyhow::Result<Address> {
    let storage = Address::parse(&begun.origin).context("the server names no storage")?;
    ensure!(
        storage.is_tls || !server.is_tls,
        "http:// leads to the storage, which protects the dump less than the server does"
    );
    ensure!(
        server.is_local || !storage.is_local,
        "the server names a storage on this machine"
    );
    Ok(storage)
}

impl Upload<'_> {
    /// Sends the first piece, which shows whether the storage can be reached; gives its `ETag`.
    fn first(&self, file: &mut File, begun: &Begun, patience: &Patience) -> anyhow::Result<String> {
        file.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        file.take(begun.piece_bytes).read_to_end(&mut bytes)?;
        let mut patience = patience.at_most(FIRST_PATIENCE);
        let etag = self.piece(1, &bytes, &mut patience)?;
        self.meter.add(bytes.len() as u64);
        file.seek(SeekFrom::Start(0))?;
        Ok(etag)
    }

    /// Sends the other pieces, and has them put together; gives the dump's id.
    fn all(
        &self,
        file: &mut File,
        begun: &Begun,
        first: String,
        length: u64,
        patience: &mut Patience,
    ) -> anyhow::Result<String> {
        let (mut etags, sha256) = self.pieces(file, begun, length, patience)?;
        if let Some(etag) = etags.first_mut() {
            *etag = first;
        }
        let completion = json!({"etags": etags, "sha256": sha256});
        let path = format!("{}/complete", self.path);
        let answer = self
            .client
            .ask("POST", &path, &[], Some(&completion), patience)?;
        if answer.status != 201 {
            return Err(answer.problem());
        }
        let dump = answer.json()?["id"].as_str().map(str::to_owned);
        dump.context("the answer is not one of `hprof-rs serve`; check the address")
    }

    /// Reads the file, and sends its pieces but the first; gives their `ETag`s and the SHA-256.
    fn pieces(
        &self,
        file: &mut File,
        begun: &Begun,
        length: u64,
        patience: &Patience,
    ) -> anyhow::Result<(Vec<String>, String)> {
        let etags = Mutex::new(vec![String::new(); usize::try_from(begun.pieces)?]);
        let (sender, receiver) = mpsc::sync_channel::<(usize, Vec<u8>)>(1);
        let receiver = Arc::new(Mutex::new(receiver));
        let hash = thread::scope(|scope| {
            let senders: Vec<_> = (0..SENDERS)
                .map(|_| {
                    let receiver = Arc::clone(&receiver);
                    let etags = &etags;
                    scope.spawn(move || self.sender(&receiver, etags, patience))
                })
                .collect();
            // The last sender that ends drops it, and then nothing can be sent.
            drop(receiver);
            let mut hasher = Sha256::new();
            let mut read = Ok(());
            for number in 0..begun.pieces {
                let start = number * begun.piece_bytes;
                let mut bytes = vec![0; begun.piece_bytes.min(length - start) as usize];
                read = file
                    .read_exact(&mut bytes)
                    .context("the file became shorter");
                hasher.update(&bytes);
                let index = number as usize;
                if read.is_ok() && index == 0 {
                    continue;
                }
                if read.is_err() || sender.send((index, bytes)).is_err() {
                    break;
                }
            }
            drop(sender);
            for sender in senders {
                match sender.join() {
                    Ok(sent) => sent?,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            read.map(|()| hasher.finalize())
        })?;
        let etags = etags.into_inner().unwrap_or_else(PoisonError::into_inner);
        let hash = hash.iter().map(|byte| format!("{byte:02x}"));
        Ok((etags, hash.collect()))
    }

    /// Sends pieces until there are no more, or one fails.
    fn sender(
        &self,
        receiver: &Mutex<mpsc::Receiver<(usize, Vec<u8>)>>,
        etags: &Mutex<Vec<String>>,
        patience: &Patience,
    ) -> anyhow::Result<()> {
        let mut patience = patience.at_most(Duration::MAX);
        while !self.is_failed.load(Ordering::Relaxed) {
            let next = receiver
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .recv();
            let Ok((index, bytes)) = next else {
                break;
            };
            let etag = self.piece(index as u64 + 1, &bytes, &mut patience);
            let etag = etag.inspect_err(|_| self.is_failed.store(true, Ordering::Relaxed))?;
            if let Some(place) = etags
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get_mut(index)
            {
                *place = etag;
            }
            self.meter.add(bytes.len() as u64);
        }
        Ok(())
    }

    /// Sends a piece, from 1; gives its `ETag`. Each attempt has an address of its own, as they end.
    fn piece(&self, number: u64, bytes: &[u8], patience: &mut Patience) -> anyhow::Result<String> {
        loop {
            let path = self.address(number, patience)?;
            let mut reader = bytes;
            let body = Body::Bytes(&mut reader, bytes.len() as u64);
            match self.storage.once("PUT", &path, &[], body) {
                Ok(answer) if answer.status == 200 => {
                    let etag = answer.header("etag");
                    ensure!(!etag.is_empty(), "the storage tells no ETag of a piece");
                    patience.reset();
                    return Ok(etag.to_owned());
                }
                Ok(answer) if answer.status == 404 => {
                    bail!("the storage dropped the upload: it was removed there")
                }
                // An address may have ended on the way: 403.
                Ok(answer) if answer.status == 403 || answer.is_passing() => {
                    let why = anyhow!("the storage answers with status {}", answer.status);
                    self.client.pause(&why, None, patience)?;
                }
                Ok(answer) => bail!("the storage answers with status {}", answer.status),
                Err(error) => self.storage.pause_without(&error, patience)?,
            }
        }
    }

    /// The address of a piece, below the origin.
    fn address(&self, number: u64, patience: &mut Patience) -> anyhow::Result<String> {
        let path = format!("{}/addresses", self.path);
        let wanted = json!({"pieces": [number]});
        let answer = self
            .client
            .ask("POST", &path, &[], Some(&wanted), patience)?;
        if answer.status != 200 {
            return Err(answer.problem());
        }
        let answer = answer.json()?;
        let address = answer["addresses"][0].as_str().unwrap_or_default();
        let below = address
            .strip_prefix(&self.origin)
            .filter(|it| it.starts_with('/'));
        let below = below.context("the server names an address of another storage")?;
        Ok(below.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_protects_a_dump_as_the_server_does() {
        let allowed = |server: &str, origin: &str| {
            let begun = Begun {
                id: "0".to_owned(),
                piece_bytes: 1,
                pieces: 1,
                origin: origin.to_owned(),
            };
            storage_of(&Address::parse(server).unwrap(), &begun).is_ok()
        };
        assert!(allowed(
            "https://dumps.example.com",
            "https://s3.example.com"
        ));
        assert!(allowed("http://127.0.0.1:7117", "http://127.0.0.1:9000"));
        assert!(allowed("http://10.0.0.1", "https://s3.example.com"));
        assert!(!allowed(
            "https://dumps.example.com",
            "http://s3.example.com"
        ));
        assert!(!allowed("http://10.0.0.1", "http://127.0.0.1:631"));
        assert!(!allowed("https://dumps.example.com", "file:///etc"));
        assert!(!allowed("https://dumps.example.com", ""));
    }
}
