//! Helpers that several tests share; each test uses a part of them.
#![allow(dead_code)]

use std::io::Read;
use std::path::PathBuf;

use hprof_format::reader::{Damage, Event, StreamError, StreamReader};

/// A file of this crate's own test data.
pub fn data(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A larger file, from the folder named by `HPROF_FIXTURES` or from one beside the workspace. If it
/// is not there, says so.
pub fn shared(name: &str) -> Option<Vec<u8>> {
    let manifest = env!("CARGO_MANIFEST_DIR");
    let named = std::env::var_os("HPROF_FIXTURES").map(PathBuf::from);
    let beside = ["fixtures", "goldens"];
    let beside = beside.map(|folder| PathBuf::from(format!("{manifest}/../../../shared/{folder}")));
    let mut folders = named.iter().chain(&beside);
    let found = folders.find_map(|folder| std::fs::read(folder.join(name)).ok());
    if found.is_none() {
        println!("{name} is not there: set HPROF_FIXTURES to the folder that holds it");
    }
    found
}

/// Hands out a few bytes per call, as a socket may.
pub struct Dribble<'a> {
    pub bytes: &'a [u8],
    pub step: usize,
}

impl Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.bytes.len().min(self.step).min(buffer.len());
        let (head, rest) = self.bytes.split_at(length);
        buffer[..length].copy_from_slice(head);
        self.bytes = rest;
        Ok(length)
    }
}

/// Walks over a whole file with a [`StreamReader`].
pub fn for_each_event(bytes: &[u8], step: usize, mut see: impl FnMut(Result<Event<'_>, Damage>)) {
    let mut reader = StreamReader::new(Dribble { bytes, step }).expect("a header");
    reader.set_file_length(bytes.len() as u64);
    while let Some(event) = reader.next() {
        match event {
            Ok(event) => see(Ok(event)),
            Err(StreamError::Damage(damage)) => see(Err(damage)),
            Err(other) => panic!("{other}"),
        }
    }
}
