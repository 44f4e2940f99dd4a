//! Helpers that several tests share; each test uses a part of them.
#![allow(dead_code)]

pub mod made;

use std::path::{Path, PathBuf};

use hprof_analysis::contents::{Contents, ReadOptions, read};
use hprof_analysis::input::Input;

/// A file of the test data, which lies with the crate of the formats.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../format/tests/data")
        .join(name)
}

/// A larger file, from the folder named by `HPROF_FIXTURES` or from one beside the workspace. If it
/// is not there, says so.
pub fn shared(name: &str) -> Option<PathBuf> {
    let manifest = env!("CARGO_MANIFEST_DIR");
    let named = std::env::var_os("HPROF_FIXTURES").map(PathBuf::from);
    let beside = ["fixtures", "goldens"];
    let beside = beside.map(|folder| PathBuf::from(format!("{manifest}/../../../shared/{folder}")));
    let folders = named.iter().chain(&beside);
    let mut paths = folders.map(|folder| folder.join(name));
    let found = paths.find(|path| path.exists());
    if found.is_none() {
        println!("{name} is not there: set HPROF_FIXTURES to the folder that holds it");
    }
    found
}

/// Reads a file as the command does.
pub fn contents(path: &Path) -> Contents {
    read(Input::open(path).unwrap(), &ReadOptions::default()).unwrap()
}

/// Reads bytes that come one after the other.
pub fn stream(bytes: Vec<u8>) -> Contents {
    let input = Input::from_reader("test", std::io::Cursor::new(bytes));
    read(input, &ReadOptions::default()).unwrap()
}
