//! The log of requests, written before they are acknowledged. What is in no segment yet is read from it at the start.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::{Crc, read::MultiGzDecoder};
use hprof_foreign::otlp::read;
use serde::{Deserialize, Serialize};

use crate::MAX_UNPACKED;
use crate::batch::Batch;
use crate::ingest::Ingest;
use crate::{Decoded, seen};

/// The ending of its files.
const ENDING: &str = "log";
/// Length and checksum before each entry.
const HEAD: usize = 8;

/// The protocol of a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Protocol {
    /// OTLP/HTTP.
    Otlp,
    /// That of Pyroscope's `/ingest`, with the type of the body.
    Ingest(Ingest, String),
    /// That of Pyroscope's push service.
    PushService,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its protocol.
    pub protocol: Protocol,
    /// True if the body is gzipped as a whole.
    pub is_packed: bool,
    /// When it came, in seconds since 1970-01-01 UTC.
    pub came: u64,
    /// The body.
    pub body: Vec<u8>,
}

/// Why a request is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// It is not as the protocol has it.
    Invalid(String),
    /// It takes more memory than is allowed.
    TooLarge(String),
}

#[derive(Serialize, Deserialize)]
struct About {
    protocol: Protocol,
    is_packed: bool,
    came: u64,
}

impl Entry {
    /// The request with its profiles.
    ///
    /// # Errors
    /// [`Wrong`], with the fault of the request.
    pub fn decode(self) -> Result<Decoded, Wrong> {
        let batch = self.batch()?;
        let digest = seen::digest(&self);
        Ok(Decoded {
            entry: self,
            batch,
            digest,
        })
    }

    fn batch(&self) -> Result<Batch, Wrong> {
        let unpacked;
        let body = match self.is_packed {
            false => &self.body,
            true => {
                unpacked = unpack(&self.body)?;
                &unpacked
            }
        };
        match &self.protocol {
            Protocol::PushService => {
                Batch::of_push_service(body, self.came).map_err(Wrong::Invalid)
            }
            Protocol::Otlp => {
                let request = read::read(body);
                let request = request.map_err(|error| Wrong::Invalid(error.to_string()))?;
                Ok(Batch::of_otlp(&request, self.came))
            }
            Protocol::Ingest(ingest, content_type) => {
                Batch::of_ingest(ingest, content_type, body, self.came).map_err(Wrong::Invalid)
            }
        }
    }

    /// Adds the entry to bytes for the log.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let about = About {
            protocol: self.protocol.clone(),
            is_packed: self.is_packed,
            came: self.came,
        };
        let about = serde_json::to_vec(&about).unwrap_or_default();
        let mut crc = Crc::new();
        let lengths = (about.len() as u32).to_le_bytes();
        for part in [&lengths[..], &about, &self.body] {
            crc.update(part);
        }
        let length = lengths.len() + about.len() + self.body.len();
        out.extend((length as u32).to_le_bytes());
        out.extend(crc.sum().to_le_bytes());
        out.extend(lengths);
        out.extend(about);
        out.extend(&self.body);
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (about, body) = rest.split_at_checked(length)?;
        let about: About = serde_json::from_slice(about).ok()?;
        Some(Self {
            protocol: about.protocol,
            is_packed: about.is_packed,
            came: about.came,
            body: body.to_vec(),
        })
    }
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>, Wrong> {
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(packed)
        .take(MAX_UNPACKED as u64 + 1)
        .read_to_end(&mut unpacked);
    read.map_err(|_| Wrong::Invalid("the body cannot be unpacked by gzip".to_owned()))?;
    if unpacked.len() > MAX_UNPACKED {
        return Err(Wrong::TooLarge(format!(
            "the body takes more than {MAX_UNPACKED} bytes when it is unpacked; send smaller ones"
        )));
    }
    Ok(unpacked)
}

/// A file of the log that is being written.
pub(super) struct Log {
    file: File,
    /// Its number.
    pub number: u64,
    /// Its length in bytes.
    pub length: u64,
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:016}.{ENDING}"))
}

/// The number in the name of a file of the store.
pub(super) fn number_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// Has the entries of a folder survive a crash of the machine.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The files of the log, the oldest first.
pub(super) fn files(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let Some(number) = number_of(&path)
            && path.extension().is_some_and(|ending| ending == ENDING)
        {
            files.push((number, path));
        }
    }
    files.sort();
    Ok(files)
}

impl Log {
    /// Begins a file.
    pub(super) fn create(folder: &Path, number: u64) -> io::Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path(folder, number))?;
        sync_folder(folder)?;
        Ok(Self {
            file,
            number,
            length: 0,
        })
    }

    /// Adds encoded entries, which survive a crash afterwards. If that fails, the file is as before.
    pub(super) fn append(&mut self, entries: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(entries);
        let written = written.and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => {
                self.length += entries.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Half an entry would end the reading of those behind it.
                self.file.set_len(self.length)?;
                self.file.seek(SeekFrom::Start(self.length))?;
                Err(error)
            }
        }
    }
}

/// Calls a function with each entry of a file up to the first that is not whole; gives the bytes that were not read.
pub(super) fn replay(path: &Path, each: &mut dyn FnMut(Entry)) -> io::Result<u64> {
    let mut file = io::BufReader::new(File::open(path)?);
    let mut left = file.get_ref().metadata()?.len();
    loop {
        let mut head = [0; HEAD];
        if left < HEAD as u64 {
            return Ok(left);
        }
        file.read_exact(&mut head)?;
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let sum = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        if u64::from(length) > left - HEAD as u64 {
            return Ok(left);
        }
        let mut bytes = vec![0; length as usize];
        file.read_exact(&mut bytes)?;
        let mut crc = Crc::new();
        crc.update(&bytes);
        let entry = (crc.sum() == sum).then(|| Entry::parse(&bytes)).flatten();
        let Some(entry) = entry else {
            return Ok(left);
        };
        each(entry);
        left -= HEAD as u64 + u64::from(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(body: &str) -> Entry {
        Entry {
            protocol: Protocol::Otlp,
            is_packed: false,
            came: 7,
            body: body.as_bytes().to_vec(),
        }
    }

    fn bodies(path: &Path) -> (Vec<String>, u64) {
        let mut bodies = Vec::new();
        let left = replay(path, &mut |entry| {
            bodies.push(String::from_utf8(entry.body).unwrap());
        });
        (bodies, left.unwrap())
    }

    #[test]
    fn entries_before_a_torn_one_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::create(folder.path(), 3).unwrap();
        let mut bytes = Vec::new();
        entry("one").encode(&mut bytes);
        let first = bytes.len();
        entry("two").encode(&mut bytes);
        log.append(&bytes).unwrap();
        let (number, path) = files(folder.path()).unwrap().remove(0);
        assert_eq!(number, 3);
        assert_eq!(bodies(&path), (vec!["one".to_owned(), "two".to_owned()], 0));
        for length in first..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            let (found, left) = bodies(&path);
            assert_eq!(
                (found, left),
                (vec!["one".to_owned()], (length - first) as u64)
            );
        }
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(bodies(&path).0, ["one"]);
    }
}
