use super::*;

fn same(path: &Path) -> PathBuf {
    path.with_extension("other")
}

#[test]
fn the_final_name_appears_at_the_commit_and_an_older_file_lives_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.txt");
    fs::write(&path, "old").unwrap();
    let mut sink = FileSink::create(&path, Existing::Replace, same).unwrap();
    sink.write_all(b"new").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    sink.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    sink.write_all(b" more").unwrap();
    sink.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new more");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn an_existing_file_is_kept_with_force_n() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.txt");
    fs::write(&path, "old").unwrap();
    let mut sink = FileSink::create(&path, Existing::Keep, same).unwrap();
    assert_eq!(sink.path(), dir.path().join("p.other"));
    sink.write_all(b"new").unwrap();
    sink.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(
        fs::read_to_string(dir.path().join("p.other")).unwrap(),
        "new"
    );
}

#[test]
fn a_file_that_appears_during_the_run_is_kept_with_force_n() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.txt");
    let mut sink = FileSink::create(&path, Existing::Keep, same).unwrap();
    fs::write(&path, "someone else's").unwrap();
    sink.write_all(b"new").unwrap();
    sink.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "someone else's");
    assert_eq!(
        fs::read_to_string(dir.path().join("p.other")).unwrap(),
        "new"
    );
}

#[test]
fn the_profile_of_a_sibling_is_kept_and_that_of_an_earlier_run_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.txt");
    let moment = SystemTime::now() - std::time::Duration::from_secs(60);
    fs::write(&path, "yesterday's").unwrap();
    let long_ago = moment - std::time::Duration::from_secs(60);
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    let create = || FileSink::create(&path, Existing::KeepSince(moment), same).unwrap();
    let (mut first, mut second) = (create(), create());
    first.write_all(b"first").unwrap();
    first.commit().unwrap();
    second.write_all(b"second").unwrap();
    second.commit().unwrap();
    // Its own file is no sibling's.
    first.write_all(b" and more").unwrap();
    first.commit().unwrap();
    let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert_eq!(
        (text("p.txt"), text("p.other")),
        ("first and more".into(), "second".into())
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn space_is_kept_for_a_file_and_given_back() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.txt");
    let mut sink = FileSink::create(&path, Existing::Replace, same).unwrap();
    sink.write_all(b"new").unwrap();
    sink.reserve(1 << 20).unwrap();
    sink.write_all(b" more").unwrap();
    sink.release().unwrap();
    sink.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new more");
    assert!(fs::metadata(&path).unwrap().blocks() < 1 << 10);
}

#[test]
fn a_renewed_file_replaces_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.html");
    let mut sink = FileSink::create(&path, Existing::Keep, same).unwrap();
    for content in ["first", "second"] {
        sink.renew().unwrap();
        sink.write_all(content.as_bytes()).unwrap();
        sink.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_folder_or_a_missing_one_is_an_error_that_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let text = |path: &Path| {
        FileSink::create(path, Existing::Replace, same)
            .err()
            .unwrap()
            .to_string()
    };
    assert!(text(dir.path()).contains("it is a folder"));
    let missing = dir.path().join("no/such/p.txt");
    assert!(
        text(&missing).starts_with(&format!("can't create profile file: {}", missing.display()))
    );
    assert!(text(&missing).contains("no such folder"));
}

#[test]
fn a_folder_that_takes_no_files_is_not_called_missing() {
    let refused = FileSink::create(Path::new("/proc/p.txt"), Existing::Replace, same).err();
    assert_eq!(
        refused.unwrap().to_string(),
        "can't create profile file: /proc/p.txt: no file can be created in /proc; choose a \
         writable place with file="
    );
}

#[test]
fn a_device_is_written_to_as_it_is() {
    let mut sink = FileSink::create(Path::new("/dev/null"), Existing::Replace, same).unwrap();
    sink.write_all(b"x").unwrap();
    sink.commit().unwrap();
}

#[test]
fn a_link_is_replaced_and_what_it_points_to_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (target, link) = (dir.path().join("target"), dir.path().join("p.txt"));
    fs::write(&target, "other").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let mut sink = FileSink::create(&link, Existing::Replace, same).unwrap();
    sink.write_all(b"new").unwrap();
    sink.commit().unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "other");
    assert_eq!(fs::read_to_string(&link).unwrap(), "new");
    assert!(fs::symlink_metadata(&link).unwrap().is_file());
}

#[test]
fn only_an_empty_file_without_its_final_name_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("p.txt");
    let mut sink = FileSink::create(&path, Existing::Replace, same).unwrap();
    sink.write_all(b"1").unwrap();
    assert_eq!(sink.discard_empty(), None);
    assert!(sink.current_path().exists());
    sink.commit().unwrap();
    let empty = FileSink::create(&path, Existing::Replace, same).unwrap();
    assert_eq!(empty.discard_empty(), Some(&*path));
    assert!(!empty.current_path().exists());
    assert_eq!(fs::read_to_string(&path).unwrap(), "1");
}

#[test]
fn a_device_is_refused_unless_it_is_asked_for() {
    let full = Path::new("/dev/full");
    let refused = FileSink::create(full, Existing::Replace, same).err();
    let refused = refused.unwrap().to_string();
    assert!(
        refused.contains("it is a device; name a file, or add force=y"),
        "{refused}"
    );
    let mut sink = FileSink::create(full, Existing::Force, same).unwrap();
    assert!(sink.write_all(b"x").is_err());
}
