//! Files with names of their own in object storage.

use std::fs::{self, File};

use hprof_server::store::Bucket;

use crate::s3::{Fault, S3};

#[test]
fn objects_have_the_names_that_are_given_and_are_replaced() {
    let s3 = S3::start();
    let bucket = Bucket::open_with("s3://dumps/lake", &s3.environment(30)).unwrap();
    s3.faults.set(3, &[Fault::Internal, Fault::SlowDown]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    // As partitions are named, and in more than one piece.
    let name = "objects/service=a%2Fb/dump=1/objects.parquet";
    let stored = s3.folder.path().join("dumps/lake").join(name);
    for length in [10_000_000, 5] {
        fs::write(&file, vec![7; length]).unwrap();
        bucket.send(File::open(&file).unwrap(), name).unwrap();
        assert_eq!(fs::read(&stored).unwrap().len(), length);
    }
    bucket.delete(name).unwrap();
    bucket.delete(name).unwrap();
    assert!(!stored.exists());
    assert!(bucket.send(File::open(&file).unwrap(), "a/../b").is_err());
}
