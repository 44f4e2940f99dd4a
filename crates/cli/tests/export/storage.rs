//! Tables in object storage.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::read::files;
use super::support::{Scene, data, run, stderr};
use super::{contents, export};
use crate::s3::{Fault, S3, SECRET};

/// The tables of the test server, without what it keeps beside them.
fn tables(s3: &S3) -> Vec<PathBuf> {
    let mut found = files(&s3.folder.path().join("dumps/lake"));
    found.retain(|path| path.extension().is_some_and(|it| it == "parquet"));
    found
}

fn below(folder: &Path, path: &Path) -> PathBuf {
    path.strip_prefix(folder).unwrap().to_owned()
}

#[test]
fn tables_in_object_storage_are_those_of_a_folder_whatever_fails_on_the_way() {
    let (scene, s3) = (Scene::new(), S3::start());
    let file = data("hprof-32.bin");
    let labels = [
        "--service",
        "a/b c",
        "--host",
        "web=1",
        "--date",
        "2026-11-22",
    ];
    let lake = export(
        &scene,
        &file,
        &[&labels[..], &["--strings", "--no-index"]].concat(),
    );
    let expected = contents(&lake);
    let send = |more: &[&str], environment: &[(String, String)]| {
        let base = [
            "export",
            &file,
            "--parquet",
            "s3://dumps/lake",
            "--no-index",
        ];
        let mut command = scene.hprof_rs(&[&base[..], &labels, more].concat());
        run(command.envs(environment.iter().cloned()), "")
    };
    s3.faults
        .set(3, &[Fault::Internal, Fault::SlowDown, Fault::Silence]);
    let sent = send(&["--strings"], &s3.environment(2));
    s3.faults.set(0, &[]);
    assert!(sent.status.success(), "{}", stderr(&sent));
    let said = stderr(&sent);
    assert!(said.contains("to s3://dumps/lake, dump="), "{said}");
    assert!(s3.faults.happened.load(Ordering::Relaxed) >= 3);
    let bucket = s3.folder.path().join("dumps/lake");
    let found = tables(&s3);
    assert_eq!(found.len(), 14);
    for (path, (local, bytes)) in found.iter().zip(&expected) {
        // The names of objects are those of the files; the test server keeps each as a file.
        assert_eq!(below(&bucket, path), below(&lake, local));
        assert!(fs::read(path).unwrap() == *bytes, "{}", path.display());
    }
    // A second export replaces the first, with the table that it does not have.
    let again = send(&[], &s3.environment(10));
    assert!(again.status.success(), "{}", stderr(&again));
    assert_eq!(tables(&s3).len(), 13);
    // Nothing is shown of a key, and nothing is sent with a wrong one.
    let mut wrong = s3.environment(5);
    wrong.push((
        "AWS_SECRET_ACCESS_KEY".to_owned(),
        "not-the-secret".to_owned(),
    ));
    let refused = send(&["--dump-name", "other"], &wrong);
    assert!(!refused.status.success());
    let said = stderr(&refused);
    assert!(
        said.contains("--parquet") && !said.contains("not-the-secret") && !said.contains(SECRET),
        "{said}"
    );
    assert_eq!(tables(&s3).len(), 13);
}
