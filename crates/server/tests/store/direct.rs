//! Uploads straight to S3, as capture and browsers send them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hprof_server::ids::DumpId;
use hprof_server::store::{Direct, PartId, Store, open_with};

use crate::contract::{hash, publish, settings};
use crate::s3::S3;

const BYTES: usize = (16 << 20) + 1000;

fn open(s3: &S3, cache: &Path) -> Arc<dyn Store> {
    open_with(
        "s3://dumps/team",
        &s3.environment(30),
        &settings(cache, 64 << 20),
    )
    .unwrap()
}

/// Sends a body to an address; gives the status and the `ETag`.
fn put(address: &str, body: &[u8]) -> (u16, String) {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent = config.proxy(None).build().new_agent();
    let answer = agent.put(address).send(body).unwrap();
    let etag = answer.headers().get("etag");
    let etag = etag.map_or("", |etag| etag.to_str().unwrap()).to_owned();
    (answer.status().as_u16(), etag)
}

fn send_all(direct: &dyn Direct, part: &PartId, bytes: &[u8]) -> Vec<String> {
    let pieces = direct.pieces(part).unwrap();
    let chunks = bytes.chunks(pieces.piece as usize);
    let sent = chunks.zip(1..).map(|(chunk, number)| {
        let (status, etag) = put(&direct.address(part, number).unwrap(), chunk);
        assert_eq!(status, 200);
        etag
    });
    sent.collect()
}

/// The objects whose paths begin so, except for folders.
fn objects(s3: &S3, below: &str) -> usize {
    let folder = s3.folder.path().join("dumps/team").join(below);
    fs::read_dir(folder).map_or(0, |entries| entries.count())
}

#[test]
fn pieces_that_clients_send_become_a_dump() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let store = open(&s3, &caches.path().join("0"));
    let direct = store.direct().unwrap();
    let bytes: Vec<u8> = (0..BYTES as u32).map(|number| (number / 3) as u8).collect();
    let part = PartId::new().unwrap();
    let pieces = direct.begin(&part, bytes.len() as u64).unwrap();
    assert_eq!(pieces.count(), 2);
    let etags = send_all(direct, &part, &bytes);
    let address = direct.address(&part, 1).unwrap();
    assert!(address.starts_with(direct.origin()) && direct.origin().starts_with("http://127."));
    // A signature is for one piece.
    let other = address.replace("partNumber=1", "partNumber=2");
    assert_ne!(put(&other, &bytes[..100]).0, 200);
    assert!(direct.address(&part, 3).is_err());
    let short = direct.complete(&part, &etags[..1], 4).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::InvalidInput);

    let completed = direct.complete(&part, &etags, 4).unwrap();
    assert_eq!(completed, (bytes.len() as u64, bytes[..4].to_vec()));
    // Its answer may have been lost.
    assert_eq!(direct.complete(&part, &etags, 4).unwrap(), completed);
    let sha256 = hash(&bytes);
    let dump = DumpId::of_hash(&sha256);
    assert!(store.dump(&dump).is_err(), "it has no name yet");
    direct.publish(&part, completed.0, &dump, &sha256).unwrap();
    assert_eq!(objects(&s3, "uploads"), 0);
    let other = open(&s3, &caches.path().join("1"));
    assert!(fs::read(other.dump(&dump).unwrap()).unwrap() == bytes);
}

#[test]
fn an_upload_that_the_storage_still_puts_together_is_waited_for() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let settings = settings(caches.path(), 64 << 20);
    let store = open_with("s3://dumps/team", &s3.environment(1), &settings).unwrap();
    let direct = store.direct().unwrap();
    let part = PartId::new().unwrap();
    direct.begin(&part, 4).unwrap();
    let etags = send_all(direct, &part, b"JAVA");
    s3.faults.is_late.store(true, Ordering::Relaxed);
    let completed = direct.complete(&part, &etags, 4).unwrap();
    assert_eq!(completed, (4, b"JAVA".to_vec()));
}

#[test]
fn a_wrong_sha256_is_found_before_the_analysis() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let store = open(&s3, caches.path());
    let direct = store.direct().unwrap();
    let part = PartId::new().unwrap();
    direct.begin(&part, 19).unwrap();
    let etags = send_all(direct, &part, b"JAVA PROFILE 1.0.2\0");
    direct.complete(&part, &etags, 64).unwrap();
    let claimed = hash(b"other bytes");
    let dump = DumpId::of_hash(&claimed);
    direct.publish(&part, 19, &dump, &claimed).unwrap();
    let error = store.dump(&dump).unwrap_err();
    assert!(error.to_string().contains("SHA-256"), "{error}");
    // After it is deleted, the right bytes have room.
    store.delete(&dump).unwrap();
    assert_eq!(publish(&*store, b"other bytes"), dump);
    assert!(store.dump(&dump).is_ok());
}

#[test]
fn what_nobody_finishes_goes() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let store = open(&s3, caches.path());
    let direct = store.direct().unwrap();
    let begin = || {
        let part = PartId::new().unwrap();
        direct.begin(&part, 4).unwrap();
        let etags = send_all(direct, &part, b"JAVA");
        direct.complete(&part, &etags, 4).unwrap();
        part
    };
    let given_up = begin();
    direct.abandon(&given_up).unwrap();
    direct.abandon(&given_up).unwrap();
    assert_eq!((objects(&s3, "uploads"), objects(&s3, "blobs")), (0, 0));

    let (known, unknown) = (begin(), begin());
    let dump = publish(&*store, b"JAVA PROFILE 1.0.2\0");
    let deleted = publish(&*store, b"JAVA PROFILE 1.0.1\0");
    for (dump, attempt) in [(&dump, 1), (&dump, 2), (&deleted, 1)] {
        let folder = store.begin_analysis(dump, attempt).unwrap();
        fs::write(folder.join("report.json"), attempt.to_string()).unwrap();
        store.publish_analysis(dump, attempt).unwrap();
    }
    // A process that ended in the middle of a deletion.
    fs::remove_file(
        s3.folder
            .path()
            .join("dumps/team/dumps")
            .join(deleted.as_str()),
    )
    .unwrap();
    let is_upload = |part: &PartId| *part == known;
    assert_eq!(
        store.sweep(Duration::from_secs(60), &is_upload).unwrap(),
        0,
        "all is young"
    );
    std::thread::sleep(Duration::from_millis(1100));
    assert!(store.sweep(Duration::ZERO, &is_upload).unwrap() >= 5);
    assert!(direct.pieces(&known).is_ok() && direct.pieces(&unknown).is_err());
    assert_eq!(objects(&s3, "blobs"), 2, "of the upload and of the dump");
    assert_eq!(store.sweep(Duration::ZERO, &is_upload).unwrap(), 0);
    let report = store.analysis(&dump).unwrap().unwrap().join("report.json");
    assert_eq!(fs::read_to_string(report).unwrap(), "2");
    let file = |name: &str, most| store.analysis_file(&dump, name, most).unwrap();
    assert_eq!(file("report.json", 1).as_deref(), Some(&b"2"[..]));
    assert_eq!(
        (file("report.json", 0), file("other.json", 9)),
        (None, None)
    );
    assert_eq!(
        store.analysis_file(&deleted, "report.json", 9).unwrap(),
        None
    );
    assert!(store.dump(&dump).is_ok());
}
