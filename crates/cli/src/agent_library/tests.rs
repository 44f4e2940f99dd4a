//! Unpacking against a hostile or broken file system.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;

use super::*;

const CONTENT: &[u8] = b"the library";

fn base() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn lasting(base: &Path) -> Place {
    Place::Lasting {
        base: base.to_owned(),
        create: true,
    }
}

fn unpack_below(base: &Path) -> Result<PathBuf, Refusal> {
    try_place(&lasting(base), CONTENT, "0123", User::current())
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn identity(path: &Path) -> (u64, SystemTime) {
    let found = fs::metadata(path).unwrap();
    (found.ino(), found.modified().unwrap())
}

/// The folders and the file, and nothing left over from writing.
fn assert_whole(path: &Path) {
    assert_eq!(fs::read(path).unwrap(), CONTENT);
    assert!(fs::symlink_metadata(path).unwrap().is_file());
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn the_library_lies_in_private_folders() {
    let base = base();
    let path = unpack_below(base.path()).unwrap();
    assert_eq!(path, base.path().join("hprof-rs/agent/0123/libhprof_rs.so"));
    assert_whole(&path);
    assert_eq!(mode(&path), 0o600);
    for folder in ["hprof-rs", "hprof-rs/agent", "hprof-rs/agent/0123"] {
        assert_eq!(mode(&base.path().join(folder)), 0o700, "{folder}");
    }
}

#[test]
fn a_good_file_is_used_again() {
    let base = base();
    let path = unpack_below(base.path()).unwrap();
    let before = identity(&path);
    assert_eq!(unpack_below(base.path()).unwrap(), path);
    assert_eq!(identity(&path), before);
}

#[test]
fn damage_of_every_kind_is_repaired() {
    let base = base();
    let path = unpack_below(base.path()).unwrap();
    let elsewhere = base.path().join("elsewhere");
    fs::write(&elsewhere, CONTENT).unwrap();
    let damages: [(&str, &dyn Fn()); 6] = [
        ("cut off", &|| fs::write(&path, &CONTENT[..4]).unwrap()),
        ("one byte", &|| fs::write(&path, b"the librarY").unwrap()),
        ("longer", &|| fs::write(&path, b"the library!").unwrap()),
        ("open to others", &|| {
            fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        }),
        ("a link to the same", &|| {
            fs::remove_file(&path).unwrap();
            symlink(&elsewhere, &path).unwrap();
        }),
        ("a pipe", &|| {
            fs::remove_file(&path).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                &path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::RWXU,
                0,
            )
            .unwrap();
        }),
    ];
    for (name, damage) in damages {
        damage();
        assert_eq!(unpack_below(base.path()).unwrap(), path, "{name}");
        assert_whole(&path);
        assert_eq!(mode(&path), 0o600, "{name}");
    }
    assert_eq!(fs::read(&elsewhere).unwrap(), CONTENT, "the link's target");
}

#[test]
fn a_file_that_a_jvm_has_mapped_is_left_to_it() {
    let base = base();
    let path = unpack_below(base.path()).unwrap();
    fs::write(&path, b"an older one").unwrap();
    let mapped = fs::File::open(&path).unwrap();
    unpack_below(base.path()).unwrap();
    assert_eq!(std::io::read_to_string(mapped).unwrap(), "an older one");
}

#[test]
fn a_link_in_the_place_of_any_folder_is_refused() {
    for folder in ["hprof-rs", "hprof-rs/agent", "hprof-rs/agent/0123"] {
        let base = base();
        unpack_below(base.path()).unwrap();
        let folder = base.path().join(folder);
        let moved = base.path().join("moved");
        fs::rename(&folder, &moved).unwrap();
        symlink(&moved, &folder).unwrap();
        let refusal = unpack_below(base.path()).unwrap_err();
        assert!(matches!(&refusal, Refusal::Link(path) if *path == folder));
        assert!(refusal.is_suspicious());
    }
}

#[test]
fn folders_open_to_others_are_refused_with_the_remedy() {
    for (folder, open, remedy) in [
        ("hprof-rs", 0o775, "chmod go-w"),
        ("hprof-rs/agent", 0o755, "chmod 700"),
        ("hprof-rs/agent/0123", 0o701, "chmod 700"),
    ] {
        let base = base();
        unpack_below(base.path()).unwrap();
        let folder = base.path().join(folder);
        fs::set_permissions(&folder, Permissions::from_mode(open)).unwrap();
        let refusal = unpack_below(base.path()).unwrap_err();
        assert!(refusal.is_suspicious());
        let text = refusal.to_string();
        let start = format!(
            "{} is open to other users (mode {open:04o})",
            folder.display()
        );
        assert!(text.starts_with(&start) && text.contains(remedy), "{text}");
    }
}

#[test]
fn others_may_look_into_the_outermost_folder() {
    let base = base();
    fs::create_dir(base.path().join("hprof-rs")).unwrap();
    fs::set_permissions(base.path().join("hprof-rs"), Permissions::from_mode(0o755)).unwrap();
    assert_whole(&unpack_below(base.path()).unwrap());
}

#[test]
fn a_file_or_folder_in_the_way_is_an_error() {
    let base = base();
    fs::write(base.path().join("hprof-rs"), "").unwrap();
    assert!(matches!(
        unpack_below(base.path()),
        Err(Refusal::NotAFolder(_))
    ));
    fs::remove_file(base.path().join("hprof-rs")).unwrap();
    let path = unpack_below(base.path()).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(unpack_below(base.path()), Err(Refusal::Io { .. })));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn the_next_place_serves_and_the_reasons_are_kept() {
    let base = base();
    let equals = base.path().join("a=b");
    let open = base.path().join("open");
    for (folder, mode) in [(&equals, 0o700), (&open, 0o777)] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
    }
    let missing = Place::Lasting {
        base: base.path().join("no"),
        create: false,
    };
    let fresh = Place::Fresh {
        base: base.path().to_owned(),
    };
    let places = [lasting(&equals), lasting(&open), missing, fresh];
    let (path, refusals) = unpack_into(&places, CONTENT, "0123", User::current());
    let path = path.unwrap();
    assert_whole(&path);
    let folder = path.parent().unwrap();
    assert_eq!(folder.parent(), Some(base.path()));
    assert_eq!(mode(folder), 0o700);
    assert!(matches!(
        refusals.as_slice(),
        [
            Refusal::EqualsSign(_),
            Refusal::Open { .. },
            Refusal::Io { .. }
        ]
    ));
    let (path, refusals) = unpack_into(&places[..1], CONTENT, "0123", User::current());
    assert_eq!((path, refusals.len()), (None, 1));
}

#[test]
fn many_at_once_agree() {
    let base = base();
    let barrier = std::sync::Barrier::new(8);
    for _ in 0..20 {
        let paths: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let path = unpack_below(base.path()).unwrap();
                        // Whole at every moment, also while other threads still write.
                        assert_eq!(fs::read(&path).unwrap(), CONTENT);
                        path
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(paths.iter().all(|path| path == &paths[0]));
        assert_whole(&paths[0]);
        fs::remove_dir_all(base.path().join("hprof-rs")).unwrap();
    }
}

#[test]
fn the_embedded_library_is_an_elf_file_with_the_entry_point() {
    assert!(library().starts_with(b"\x7fELF"));
    let entry = b"\0Agent_OnLoad\0";
    assert!(library().windows(entry.len()).any(|bytes| bytes == entry));
    assert_eq!(HASH.len(), 32);
}

#[test]
fn a_copy_is_readable_for_everyone() {
    let base = base();
    let path = copy_to(&base.path().join("new/folder")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), library());
    assert_eq!(mode(&path), 0o644);
    assert!(copy_to(&base.path().join("a=b")).is_err());
}
