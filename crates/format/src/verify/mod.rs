//! Verifies a finished binary file: that it can be read to its end, and that everything one
//! record refers to is in another one.
//!
//! The references between records are described in the manual of HPROF ("HPROF: A Heap/CPU Profiling Tool",
//! Java SE 8 documentation). The file is read twice: first to learn what there is, then to look
//! up what is referred to, as references may point ahead.

mod known;
mod references;

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

use thiserror::Error;

use crate::reader::{Event, HeaderError, StreamError, StreamReader};
use known::Known;
use references::References;

/// Messages kept per kind of fault.
const MESSAGES: u64 = 5;

/// Why a file cannot be verified at all.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// Reading failed.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
    /// It is no HPROF file.
    #[error(transparent)]
    Header(#[from] HeaderError),
}

/// The findings in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Top-level records.
    pub records: u64,
    /// Sub-records of heap dumps.
    pub sub_records: u64,
    /// References that were looked up.
    pub references: u64,
    /// References from an array in a global JNI reference to objects that are not in the dump.
    /// From JDK 17 on, HotSpot holds the objects of its class data archive so, among them the
    /// class objects of classes that were never loaded, which its dumper leaves out.
    pub archived: u64,
    /// Places that are wrong.
    pub faults: u64,
    /// The faults in words, a few of each kind.
    pub messages: Vec<String>,
}

/// Collects faults.
#[derive(Debug, Default)]
struct Faults {
    count: u64,
    kinds: BTreeMap<&'static str, u64>,
    messages: Vec<String>,
}

impl Faults {
    fn add(&mut self, kind: &'static str, message: impl FnOnce() -> String) {
        self.count += 1;
        let seen = self.kinds.entry(kind).or_default();
        *seen += 1;
        if *seen <= MESSAGES {
            self.messages.push(message());
        }
    }
}

/// Verifies a binary file.
///
/// It takes eight bytes of memory for each object of the file's heap dumps.
///
/// # Errors
/// When reading fails, or there is no HPROF header. Damage is no error but a fault.
pub fn verify(mut file: impl Read + Seek) -> Result<Verified, VerifyError> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    let id_size = StreamReader::new(&mut file)
        .map_err(fatal)?
        .header()
        .id_size;
    let mut known = Known::new(id_size);
    let mut faults = Faults::default();
    let mut verified = Verified::default();
    each_event(&mut file, length, |event| match event {
        Ok(event) => {
            match event {
                Event::SubRecord { .. } | Event::LongSubRecord { .. } => verified.sub_records += 1,
                Event::Record(_) | Event::Heap { .. } => verified.records += 1,
            }
            known.add(&event);
        }
        Err(damage) => faults.add("damage", || damage),
    })?;
    known.finish(&mut faults);
    let mut references = References::new(&known, &mut faults);
    each_event(&mut file, length, |event| {
        if let Ok(event) = event {
            references.check(&event);
        }
    })?;
    verified.references = references.count();
    verified.archived = references.archived();
    for (kind, count) in &faults.kinds {
        if *count > MESSAGES {
            let more = count - MESSAGES;
            faults
                .messages
                .push(format!("{more} more of this kind: {kind}"));
        }
    }
    verified.faults = faults.count;
    verified.messages = faults.messages;
    Ok(verified)
}

fn each_event<F: Read + Seek>(
    file: &mut F,
    length: u64,
    mut then: impl FnMut(Result<Event<'_>, String>),
) -> Result<(), VerifyError> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = StreamReader::new(file).map_err(fatal)?;
    reader.set_file_length(length);
    // Every element of an array is to be looked up.
    reader.hold_long_sub_records();
    while let Some(event) = reader.next() {
        match event {
            Ok(event) => then(Ok(event)),
            Err(StreamError::Damage(damage)) => then(Err(damage.to_string())),
            Err(error) => return Err(fatal(error)),
        }
    }
    Ok(())
}

fn fatal(error: StreamError) -> VerifyError {
    match error {
        StreamError::Io(error) => VerifyError::Io(error),
        StreamError::Header(error) => VerifyError::Header(error),
        // The reader continues after damage; as an end of reading it is an I/O error.
        StreamError::Damage(damage) => VerifyError::Io(io::Error::other(damage)),
    }
}

#[cfg(test)]
mod tests;
