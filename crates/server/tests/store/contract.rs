//! The contract of [`Store`], over a folder and over S3.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hprof_server::ids::{ContentHash, DumpId};
use hprof_server::store::{CacheSettings, FolderStore, PartId, Store, open_with};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::s3::S3;

/// A store with another that sees what it publishes, as on another machine.
struct Pair {
    first: Arc<dyn Store>,
    second: Arc<dyn Store>,
    _folder: TempDir,
    s3: Option<S3>,
}

pub fn settings(folder: &Path, bytes: u64) -> CacheSettings {
    CacheSettings {
        patience: Duration::from_secs(40),
        ..CacheSettings::new(folder.to_owned(), bytes)
    }
}

fn stores() -> [Pair; 2] {
    let folder = tempfile::tempdir().unwrap();
    let in_folder: Arc<dyn Store> = Arc::new(FolderStore::open(folder.path()).unwrap());
    let caches = tempfile::tempdir().unwrap();
    let s3 = S3::start();
    let open = |name: &str| {
        let settings = settings(&caches.path().join(name), 64 << 20);
        open_with("s3://dumps/below/here", &s3.environment(30), &settings).unwrap()
    };
    [
        Pair {
            first: Arc::clone(&in_folder),
            second: in_folder,
            _folder: folder,
            s3: None,
        },
        Pair {
            first: open("first"),
            second: open("second"),
            _folder: caches,
            s3: Some(s3),
        },
    ]
}

pub fn hash(bytes: &[u8]) -> ContentHash {
    ContentHash::of_bytes(Sha256::digest(bytes).into())
}

/// Makes bytes a dump.
pub fn publish(store: &dyn Store, bytes: &[u8]) -> DumpId {
    let part = PartId::new().unwrap();
    store.create_part(&part).unwrap().write_all(bytes).unwrap();
    let hash = hash(bytes);
    let dump = DumpId::of_hash(&hash);
    store.publish(&part, &dump, &hash).unwrap();
    // A caller that fails after that can do it again.
    assert_eq!(store.parts().unwrap(), std::slice::from_ref(&part));
    store.publish(&part, &dump, &hash).unwrap();
    store.delete_part(&part).unwrap();
    assert_eq!(store.parts().unwrap().len(), 0);
    dump
}

/// Publishes an analysis of one file.
fn analyse(store: &dyn Store, dump: &DumpId, attempt: u32, text: &str) -> std::io::Result<()> {
    let folder = store.begin_analysis(dump, attempt)?;
    fs::write(folder.join("report.json"), text)?;
    store.publish_analysis(dump, attempt)?;
    store.abandon_analysis(dump, attempt)
}

fn report(store: &dyn Store, dump: &DumpId) -> Option<String> {
    let folder = store.analysis(dump).unwrap()?;
    Some(fs::read_to_string(folder.join("report.json")).unwrap())
}

#[test]
fn a_dump_that_one_publishes_is_there_for_all() {
    // More than one piece and more than one range.
    let bytes: Vec<u8> = (0..9u32 << 20).map(|number| (number / 7) as u8).collect();
    for pair in stores() {
        let dump = publish(&*pair.first, &bytes);
        for store in [&pair.first, &pair.second] {
            let file = store.dump(&dump).unwrap();
            assert!(fs::read(&file).unwrap() == bytes);
            assert_eq!(store.dumps().unwrap(), std::slice::from_ref(&dump));
            assert!(store.occupied().unwrap()[&dump] >= bytes.len() as u64);
        }
        // Stored once, however often it comes.
        publish(&*pair.second, &bytes);
        assert_eq!(pair.first.dumps().unwrap().len(), 1);
        if let Some(s3) = &pair.s3 {
            let blobs = s3.folder.path().join("dumps/below/here/blobs");
            assert_eq!(fs::read_dir(blobs).unwrap().count(), 1);
            let times = [&pair.first, &pair.second].map(|store| {
                let about = fs::metadata(store.dump(&dump).unwrap()).unwrap();
                (about.mtime(), about.mtime_nsec())
            });
            assert_eq!(times[0], times[1], "an index is for a file of one time");
        }
        pair.second.delete(&dump).unwrap();
        assert_eq!(pair.first.dumps().unwrap(), []);
        assert!(pair.second.dump(&dump).is_err());
        pair.second.delete(&dump).unwrap();
    }
}

#[test]
fn an_analysis_is_visible_when_it_is_published_and_goes_with_its_dump() {
    for pair in stores() {
        let dump = publish(&*pair.first, b"JAVA PROFILE 1.0.2\0");
        assert_eq!(report(&*pair.second, &dump), None);
        let folder = pair.first.begin_analysis(&dump, 1).unwrap();
        fs::write(folder.join("report.json"), "half").unwrap();
        assert_eq!(report(&*pair.second, &dump), None, "it is not complete");
        pair.first.abandon_analysis(&dump, 1).unwrap();
        analyse(&*pair.first, &dump, 2, "second").unwrap();
        assert_eq!(report(&*pair.first, &dump).unwrap(), "second");
        assert_eq!(report(&*pair.second, &dump).unwrap(), "second");
        pair.first.delete(&dump).unwrap();
        assert_eq!(report(&*pair.first, &dump), None);
    }
}

#[test]
fn a_worker_thought_dead_does_not_overwrite_its_successor() {
    let [_, pair] = stores();
    let dump = publish(&*pair.first, b"JAVA PROFILE 1.0.2\0");
    analyse(&*pair.second, &dump, 2, "successor").unwrap();
    analyse(&*pair.first, &dump, 1, "late").unwrap();
    assert_eq!(report(&*pair.first, &dump).unwrap(), "successor");
    // If two processes have one attempt, the first wins.
    let error = analyse(&*pair.first, &dump, 2, "twice").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(report(&*pair.second, &dump).unwrap(), "successor");
}
