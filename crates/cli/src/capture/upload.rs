//! An upload in pieces by the tus protocol 1.0.0 (<https://tus.io/protocols/resumable-upload>). After
//! a lost connection it continues where the server says that it is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::client::{Answer, Body};
use super::meter::Meter;
use super::{Client, Interrupt, Patience};

const VERSION: (&str, &str) = ("tus-resumable", "1.0.0");
const BYTES: (&str, &str) = ("content-type", "application/offset+octet-stream");
/// The first piece: as much as the server needs to see that the file is none for it.
const FIRST: u64 = 64 << 10;
/// The longest piece. The server's disk has each before it answers.
const MAX_PIECE: u64 = 16 << 20;
/// How long the removal of an upload may take.
const REMOVAL: Duration = Duration::from_secs(5);

/// The bytes that are sent.
pub struct Parcel<'a> {
    /// The file.
    pub file: &'a mut File,
    /// The name to show for it.
    pub name: &'a str,
    /// More about it: keys and values of the upload's metadata.
    pub metadata: &'a [(&'static str, String)],
}

/// Sends a file; gives the id of the dump that it has become.
///
/// # Errors
/// If the server refuses it, or does not answer for as long as patience lasts.
pub fn send(
    client: &Client,
    parcel: Parcel<'_>,
    patience: &mut Patience,
    interrupt: &Interrupt,
) -> anyhow::Result<String> {
    let length = parcel.file.metadata()?.len();
    let path = begin(client, &parcel, length, patience)?;
    let (deleting, deleted) = (client.clone(), path.clone());
    let leftover = interrupt.removes(move || remove(&deleting, &deleted));
    let meter = Meter::begin("sending", length);
    let mut upload = Upload {
        client,
        path: &path,
        file: parcel.file,
        length,
        meter: &meter,
        interrupt,
        told: 0,
    };
    let sent = upload.send_all(patience);
    drop(leftover);
    sent.inspect_err(|_| {
        // What it would say is not the reason.
        remove(client, &path);
    })
}

/// Begins an upload; gives its path.
fn begin(
    client: &Client,
    parcel: &Parcel<'_>,
    length: u64,
    patience: &mut Patience,
) -> anyhow::Result<String> {
    let length = length.to_string();
    let name = parcel.name.to_owned();
    let pairs = [("filename", name)];
    let pairs = pairs.iter().chain(parcel.metadata);
    let pairs = pairs.map(|(key, value)| format!("{key} {}", BASE64_STANDARD.encode(value)));
    let metadata = pairs.collect::<Vec<_>>().join(",");
    let headers = [
        VERSION,
        ("upload-length", length.as_str()),
        ("upload-metadata", metadata.as_str()),
    ];
    let answer = client.ask("POST", "/api/v1/uploads", &headers, None, patience)?;
    if answer.status != 201 {
        return Err(answer.problem());
    }
    let place = answer.header("location");
    // The token goes to this server only, whatever it answers.
    let at = place.find("/api/v1/uploads/");
    let path = at.and_then(|at| place.get(at..));
    let path = path.context("the answer is not one of `hprof-rs serve`; check the address")?;
    Ok(path.to_owned())
}

/// Removes an upload from the server; gives what to say about it.
fn remove(client: &Client, path: &str) -> String {
    let began = Instant::now();
    loop {
        let answer = client.once("DELETE", path, &[VERSION], Body::Empty);
        match answer.map(|it| it.status) {
            Ok(204 | 404) => return "removed the upload from the server".to_owned(),
            // Its last request is not at its end yet.
            Ok(423) if began.elapsed() < REMOVAL => sleep(Duration::from_millis(50)),
            _ => {
                return "the server keeps the upload for seven days, as it cannot be reached"
                    .to_owned();
            }
        }
    }
}

struct Upload<'a> {
    client: &'a Client,
    path: &'a str,
    file: &'a mut File,
    length: u64,
    meter: &'a Meter,
    interrupt: &'a Interrupt,
    /// The bytes that the meter knows of.
    told: u64,
}

impl Upload<'_> {
    fn send_all(&mut self, patience: &mut Patience) -> anyhow::Result<String> {
        let mut offset = 0;
        loop {
            let sent = self.send_piece(offset);
            self.interrupt.hold();
            match sent {
                Ok(answer) if answer.status == 204 => {
                    if let Some(dump) = became(&answer) {
                        return Ok(dump);
                    }
                    let reached = offset_of(&answer)?;
                    ensure!(
                        reached <= self.length,
                        "the server claims more bytes than there are"
                    );
                    if reached > offset {
                        patience.reset();
                    }
                    offset = reached;
                    self.tell(offset);
                }
                Ok(answer) => {
                    self.client.pause_after(&answer, patience)?;
                    offset = self.ask_offset(patience)?;
                }
                Err(error) => {
                    self.client.pause_without(&error, patience)?;
                    offset = self.ask_offset(patience)?;
                }
            }
        }
    }

    /// Sends the piece at an offset; nothing at the end, which completes an upload whose last
    /// answer was lost.
    fn send_piece(&mut self, offset: u64) -> anyhow::Result<Answer> {
        let most = if offset < FIRST { FIRST } else { MAX_PIECE };
        let length = most.min(self.length - offset);
        self.file.seek(SeekFrom::Start(offset))?;
        let mut piece = Piece {
            file: (&mut *self.file).take(length),
            interrupt: self.interrupt,
        };
        let offset = offset.to_string();
        let headers = [VERSION, BYTES, ("upload-offset", offset.as_str())];
        let body = Body::Bytes(&mut piece, length);
        self.client.once("PATCH", self.path, &headers, body)
    }

    /// How far the server is. The request itself does not count as progress.
    fn ask_offset(&mut self, patience: &mut Patience) -> anyhow::Result<u64> {
        loop {
            match self.client.once("HEAD", self.path, &[VERSION], Body::Empty) {
                Ok(answer) if answer.status == 200 => {
                    let offset = offset_of(&answer)?;
                    ensure!(
                        offset <= self.length,
                        "the server claims more bytes than there are"
                    );
                    self.tell(offset);
                    return Ok(offset);
                }
                // The file was refused, and the answer that said why was lost.
                Ok(answer) if answer.status == 404 => bail!(
                    "the server dropped the upload: it may be no dump, or another client removed it"
                ),
                Ok(answer) => self.client.pause_after(&answer, patience)?,
                Err(error) => self.client.pause_without(&error, patience)?,
            }
        }
    }

    fn tell(&mut self, offset: u64) {
        self.meter.add(offset.saturating_sub(self.told));
        self.told = self.told.max(offset);
    }
}

fn became(answer: &Answer) -> Option<String> {
    let id = answer.header("hprof-dump");
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_id.then(|| id.to_owned())
}

fn offset_of(answer: &Answer) -> anyhow::Result<u64> {
    let offset = answer.header("upload-offset").parse();
    offset.context("the answer is not one of `hprof-rs serve`; check the address")
}

/// The bytes of a piece, which end when a signal comes: the server then frees the upload.
struct Piece<'a> {
    file: Take<&'a mut File>,
    interrupt: &'a Interrupt,
}

impl Read for Piece<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.interrupt.is_raised() {
            true => Err(io::Error::other("interrupted")),
            false => self.file.read(buffer),
        }
    }
}
