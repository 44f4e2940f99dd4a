//! Storage that fails: what passes is repeated, and the rest is said clearly.

use std::fs;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_server::ids::DumpId;
use hprof_server::store::{CacheSettings, Fault as StoreFault, PartId, Store, open_with};

use crate::contract::{hash, publish, settings};
use crate::s3::{Fault, KEY, S3, SECRET};

fn open(s3: &S3, settings: &CacheSettings) -> Arc<dyn Store> {
    open_with("s3://dumps", &s3.environment(2), settings).unwrap()
}

#[test]
fn faults_that_pass_are_not_seen() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..17u32 << 20).map(|number| (number / 5) as u8).collect();
    let slow = s3.environment(30);
    let store = open_with(
        "s3://dumps",
        &slow,
        &settings(&caches.path().join("0"), 64 << 20),
    );
    let store = store.unwrap();
    s3.faults.set(3, &[Fault::Internal, Fault::SlowDown]);
    let dump = publish(&*store, &bytes);
    for (number, kinds) in [
        &[Fault::Internal, Fault::SlowDown][..],
        &[Fault::Truncated],
        &[Fault::Silence],
    ]
    .into_iter()
    .enumerate()
    {
        s3.faults.set(0, &[]);
        let cache = caches.path().join((number + 1).to_string());
        let store = open(&s3, &settings(&cache, 64 << 20));
        s3.faults.set(3, kinds);
        let before = s3
            .faults
            .happened
            .load(std::sync::atomic::Ordering::Relaxed);
        let file = store.dump(&dump).unwrap();
        assert!(fs::read(&file).unwrap() == bytes, "{kinds:?}");
        let after = s3
            .faults
            .happened
            .load(std::sync::atomic::Ordering::Relaxed);
        assert!(after > before, "no {kinds:?} happened");
    }
}

#[test]
fn bytes_that_changed_on_the_way_are_fetched_again_and_never_shown() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let bytes = vec![7; 1 << 20];
    let store = open(&s3, &settings(&caches.path().join("0"), 64 << 20));
    let dump = publish(&*store, &bytes);
    let other = open(&s3, &settings(&caches.path().join("1"), 64 << 20));
    other.occupied().unwrap();
    // The entry is known: the next request is for the bytes.
    s3.faults.set(1, &[Fault::Flipped]);
    let error = other.dump(&dump).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("SHA-256") && said.contains("send it again"),
        "{said}"
    );
    let names = |folder: &str| {
        fs::read_dir(caches.path().join("1").join(folder))
            .unwrap()
            .count()
    };
    assert_eq!((names("dumps"), names("coming")), (0, 0));
    // Once only: the second try has the right ones.
    s3.faults.set(0, &[]);
    assert!(fs::read(other.dump(&dump).unwrap()).unwrap() == bytes);
}

#[test]
fn storage_that_stays_broken_is_told_in_time_and_without_keys() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let patient = settings(&caches.path().join("0"), 64 << 20);
    let store = open(&s3, &patient);
    let dump = publish(&*store, b"JAVA PROFILE 1.0.2\0");
    let settings = CacheSettings {
        patience: Duration::from_secs(1),
        ..settings(&caches.path().join("1"), 64 << 20)
    };
    let other = open(&s3, &settings);
    for fault in [Fault::SlowDown, Fault::Silence] {
        s3.faults.set(1, &[fault]);
        let began = Instant::now();
        let error = other.dump(&dump).unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(25), "{fault:?}");
        assert!(
            matches!(StoreFault::of(&error), Some(StoreFault::Unavailable(_))),
            "{error}"
        );
        let said = format!("{error} {error:?}");
        assert!(!said.contains(KEY) && !said.contains(SECRET), "{said}");
    }
}

#[test]
fn what_the_storage_does_not_take_stays_and_can_be_published_later() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let settings = CacheSettings {
        patience: Duration::from_secs(1),
        ..settings(caches.path(), 64 << 20)
    };
    let store = open(&s3, &settings);
    let bytes = b"JAVA PROFILE 1.0.2\0";
    let (part, hash) = (PartId::new().unwrap(), hash(bytes));
    let dump = DumpId::of_hash(&hash);
    store.create_part(&part).unwrap().write_all(bytes).unwrap();
    for fault in [Fault::Refused, Fault::Internal] {
        s3.faults.set(1, &[fault]);
        let error = store.publish(&part, &dump, &hash).unwrap_err();
        let is_refused = matches!(StoreFault::of(&error), Some(StoreFault::Refused(_)));
        assert_eq!(is_refused, fault == Fault::Refused, "{error}");
        assert_eq!(store.parts().unwrap(), std::slice::from_ref(&part));
    }
    s3.faults.set(0, &[]);
    store.publish(&part, &dump, &hash).unwrap();
    store.delete_part(&part).unwrap();
    assert!(fs::read(store.dump(&dump).unwrap()).unwrap() == bytes);
}

#[test]
fn a_wrong_key_or_bucket_is_told_at_the_start_without_repeating_it() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let settings = settings(caches.path(), 64 << 20);
    let mut environment = s3.environment(2);
    environment.push((
        "AWS_SECRET_ACCESS_KEY".to_owned(),
        "another-secret".to_owned(),
    ));
    let Err(error) = open_with("s3://dumps", &environment, &settings) else {
        panic!("a wrong key was taken");
    };
    let said = format!("{error} {error:?}");
    assert!(said.contains("refuses"), "{said}");
    assert!(
        !said.contains(KEY) && !said.contains("another-secret"),
        "{said}"
    );
    let Err(error) = open_with("s3://nowhere", &s3.environment(2), &settings) else {
        panic!("a bucket that is not there was taken");
    };
    assert!(error.to_string().contains("bucket"), "{error}");
}

#[test]
fn the_cache_stays_within_its_size_and_keeps_what_is_in_use() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let folder = caches.path().join("small");
    let store = open(&s3, &settings(&caches.path().join("0"), 64 << 20));
    let dumps: Vec<_> = (0..4u8)
        .map(|byte| publish(&*store, &vec![byte; 1 << 20]))
        .collect();
    let small = open(&s3, &settings(&folder, 5 << 19));
    let kept = || fs::read_dir(folder.join("dumps")).unwrap().count();
    let held = small.dump(&dumps[0]).unwrap();
    for dump in &dumps[1..] {
        small.dump(dump).unwrap();
        assert_eq!(kept(), 2);
    }
    assert!(held.exists(), "it is in use");
    let other = small.dump(&dumps[1]).unwrap();
    let error = small.dump(&dumps[2]).unwrap_err();
    assert!(error.to_string().contains("--cache-size"), "{error}");
    drop((held, other));
    small.dump(&dumps[2]).unwrap();
    drop(small);
    // The next process finds it, and fetches nothing.
    let small = open(&s3, &settings(&folder, 5 << 19));
    small.occupied().unwrap();
    s3.faults.set(1, &[Fault::SlowDown]);
    assert!(small.dump(&dumps[2]).unwrap().exists());
}

#[test]
fn two_processes_do_not_share_a_cache() {
    let s3 = S3::start();
    let caches = tempfile::tempdir().unwrap();
    let settings = settings(caches.path(), 64 << 20);
    let _first = open(&s3, &settings);
    let second = open_with("s3://dumps", &s3.environment(2), &settings);
    assert!(second.is_err_and(|error| error.to_string().contains("--cache")));
}
