//! Indexes that an attacker has made: whatever they say, they are refused or answer in peace.

use std::fs;
use std::path::{Path, PathBuf};

use super::index::{Reading, reseal};
use super::notes::{KeptNotes, Notes};
use super::{IndexPlace, IndexState, OpenOptions, Snapshot};
use crate::graph::Inbound;
use crate::leaks::{LeakOptions, leaks};
use crate::paths::{Path as Way, ShortestPaths, alternatives, merged};
use crate::retained::{RetainedBy, retained_by, retained_by_several};

/// A generator of numbers that are the same in each run (Marsaglia, "Xorshift RNGs").
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn use_all(snapshot: &Snapshot) {
    let (graph, dominators) = (snapshot.graph(), snapshot.dominators());
    let paths = ShortestPaths::new(graph, snapshot.store()).unwrap();
    let options = LeakOptions {
        threshold: 0.05,
        ..LeakOptions::default()
    };
    leaks(snapshot, options).unwrap();
    merged(snapshot, &paths, |object| object.index() % 97 == 0);
    for by in [
        RetainedBy::Class,
        RetainedBy::Package,
        RetainedBy::Loader,
        RetainedBy::Thread,
    ] {
        retained_by(snapshot, by).unwrap();
    }
    crate::duplicates::duplicates(snapshot, 10).unwrap();
    crate::growth::places(snapshot, &paths).unwrap();
    crate::android::traces(snapshot).unwrap();
    crate::android::bitmaps(snapshot);
    snapshot.threads();
    for (_, object) in snapshot.named_threads() {
        object.map(|object| snapshot.thread_facts(object));
    }
    snapshot.system_properties();
    for place in dominators.largest_children(None, 10) {
        dominators.largest_children(Some(place), 10);
    }
    for object in graph.objects().step_by(graph.len() / 20 + 1) {
        snapshot.describe(object);
        snapshot.fields(object);
        snapshot.elements(object);
        snapshot.primitives(object, 10);
        snapshot.collection_elements(object, 10);
        snapshot.references(object);
        snapshot.retained(object);
        graph.heap_of(snapshot.file(), object);
        graph.roots_of(object);
        for path in alternatives(snapshot, &paths, object, 2) {
            Way::new(snapshot, &path);
        }
    }
}

struct Scene {
    folder: tempfile::TempDir,
    dump: PathBuf,
    index: PathBuf,
    whole: Vec<u8>,
}

impl Scene {
    fn new() -> Self {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../format/tests/data/hprof-32.bin");
        let folder = tempfile::tempdir().unwrap();
        let dump = folder.path().join("heap.hprof");
        fs::copy(data, &dump).unwrap();
        let index = folder.path().join("heap.hprof.hprof-rs-index");
        let mut scene = Self {
            folder,
            dump,
            index,
            whole: Vec::new(),
        };
        assert!(matches!(scene.open().index(), IndexState::Written { .. }));
        scene.whole = fs::read(&scene.index).unwrap();
        scene
    }

    fn open(&self) -> Snapshot {
        self.open_with(false)
    }

    fn open_with(&self, trusts_index: bool) -> Snapshot {
        let options = OpenOptions {
            index: IndexPlace::Folder(self.folder.path().to_owned()),
            trusts_index,
            ..OpenOptions::default()
        };
        Snapshot::open(&self.dump, &options).unwrap()
    }

    /// Opens the dump with a made index; true if that was used.
    fn uses(&self, made: &[u8]) -> bool {
        // Of its own, so that a map of the one before does not change.
        let _ = fs::remove_file(&self.index);
        fs::write(&self.index, made).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&self.index, mode).unwrap();
        let snapshot = self.open();
        let is_used = matches!(snapshot.index(), IndexState::Used);
        if is_used {
            use_all(&snapshot);
        }
        is_used
    }
}

#[test]
fn an_index_of_a_small_dump_is_small_too() {
    let scene = Scene::new();
    let dump = fs::metadata(&scene.dump).unwrap().len();
    // References are stored in chunks of 4 MB, of which the unused part stays out. Of so small a dump the fixed parts are as large as
    // those that grow.
    assert!(
        (scene.whole.len() as u64) < 2 * dump,
        "{} of {dump}",
        scene.whole.len()
    );
}

#[test]
fn an_index_may_be_written_later() {
    let scene = Scene::new();
    fs::remove_file(&scene.index).unwrap();
    let options = OpenOptions {
        index: IndexPlace::Folder(scene.folder.path().to_owned()),
        index_later: true,
        ..OpenOptions::default()
    };
    let mut snapshot = Snapshot::open(&scene.dump, &options).unwrap();
    assert!(matches!(snapshot.index(), IndexState::None));
    assert!(!scene.index.exists());
    // What is noted meanwhile is kept once there is a place for it.
    snapshot.note("sums", &[7, 8]);
    assert_eq!(snapshot.noted("sums", 2), None);
    snapshot.write_index_now();
    assert!(matches!(snapshot.index(), IndexState::Written { .. }));
    assert!(matches!(scene.open().index(), IndexState::Used));
    snapshot.write_index_now();
    assert!(matches!(snapshot.index(), IndexState::Written { .. }));
    let folder = scene.folder.path().join("notes");
    fs::create_dir(&folder).unwrap();
    snapshot.notes = KeptNotes::waiting();
    snapshot.note("sums", &[7, 8]);
    let index = fs::File::open(&scene.index).unwrap();
    snapshot.notes.begin(Notes::in_folder(folder, &index));
    assert_eq!(snapshot.noted("sums", 2), Some(vec![7, 8]));
}

#[test]
fn sums_that_were_noted_are_those_that_were_made() {
    let scene = Scene::new();
    let by = [RetainedBy::Class, RetainedBy::Package, RetainedBy::Loader];
    let rows = |snapshot: &Snapshot| {
        let tables = retained_by_several(snapshot, &by).unwrap();
        serde_json::to_string(&tables).unwrap()
    };
    // Without those of earlier runs, and those that it would leave to later ones.
    let mut plain = scene.open();
    plain.notes = KeptNotes::default();
    let folder = scene.folder.path().join("notes");
    fs::create_dir(&folder).unwrap();
    let notes = || Notes::in_folder(folder.clone(), &fs::File::open(&scene.index).unwrap());
    let mut noting = scene.open();
    noting.notes = KeptNotes::on(notes());
    assert_eq!(rows(&noting), rows(&plain));
    assert_eq!(noting.class_counts(), plain.class_counts());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
    let mut reading = scene.open();
    reading.notes = KeptNotes::on(notes());
    assert_eq!(rows(&reading), rows(&plain));
    assert_eq!(reading.class_counts(), plain.class_counts());
    // They come from there.
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let length = fs::read(&path).unwrap().len();
        fs::write(&path, vec![0; length]).unwrap();
    }
    assert_ne!(rows(&reading), rows(&plain));
    assert_ne!(reading.class_counts(), plain.class_counts());
}

const ODD: [u64; 8] = [
    0,
    1,
    2,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    u64::MAX,
    1 << 40,
];

#[test]
fn a_made_index_with_right_checksums_is_refused_or_answers() {
    let scene = Scene::new();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut used, mut refused) = (0, 0);
    for round in 0..72 {
        let mut reading = Reading::of(&scene.whole).unwrap();
        for _ in 0..=round % 3 {
            // Each array as often as any other, however short it is.
            let filled: Vec<(usize, usize)> = (reading.arrays.iter())
                .filter(|(_, bytes)| *bytes > 0)
                .copied()
                .collect();
            let (start, bytes) = filled[numbers.below(filled.len())];
            let width = if numbers.below(2) == 0 { 4 } else { 8 };
            let at = start + numbers.below((bytes / width).max(1)) * width;
            let odd = ODD[numbers.below(ODD.len())];
            let other = numbers.below(1 << 16) as u64;
            let value = if numbers.below(2) == 0 { odd } else { other };
            let end = (at + width).min(start + bytes);
            reading.body[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
        }
        match scene.uses(&reseal(&reading)) {
            true => used += 1,
            false => refused += 1,
        }
    }
    assert!(refused > 24, "{used} used, {refused} refused");
    assert!(scene.uses(&reseal(&Reading::of(&scene.whole).unwrap())));
}

#[test]
fn a_made_head_with_right_checksums_is_refused_or_answers() {
    let scene = Scene::new();
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    for _ in 0..48 {
        let mut reading = Reading::of(&scene.whole).unwrap();
        let head = String::from_utf8(reading.head.clone()).unwrap();
        // A number somewhere in the JSON becomes another one.
        let digits: Vec<usize> = (1..head.len())
            .filter(|&at| {
                let bytes = head.as_bytes();
                bytes[at].is_ascii_digit() && matches!(bytes[at - 1], b':' | b',' | b'[')
            })
            .collect();
        let at = digits[numbers.below(digits.len())];
        let end = at + head[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        let value = ODD[numbers.below(ODD.len())];
        reading.head = format!("{}{value}{}", &head[..at], &head[end..]).into_bytes();
        scene.uses(&reseal(&reading));
    }
}

#[test]
fn an_index_that_others_may_write_or_that_is_a_link_is_neither_used_nor_replaced() {
    let scene = Scene::new();
    assert!(matches!(scene.open().index(), IndexState::Used));
    let mode = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&scene.index, mode).unwrap();
    };
    for open in [0o620, 0o602, 0o666] {
        mode(open);
        let snapshot = scene.open();
        assert!(
            matches!(snapshot.index(), IndexState::Failed(_)),
            "{open:o}"
        );
        assert_eq!(fs::read(&scene.index).unwrap(), scene.whole);
    }
    mode(0o600);
    let moved = scene.folder.path().join("moved");
    fs::rename(&scene.index, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &scene.index).unwrap();
    assert!(matches!(scene.open().index(), IndexState::Failed(_)));
    fs::remove_file(&scene.index).unwrap();
    fs::rename(&moved, &scene.index).unwrap();
    assert!(matches!(scene.open().index(), IndexState::Used));
}

#[test]
fn an_index_of_another_user_is_not_used() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can give a file to another user");
        return;
    }
    let scene = Scene::new();
    std::os::unix::fs::chown(&scene.index, Some(65_534), None).unwrap();
    assert!(matches!(scene.open().index(), IndexState::Failed(_)));
}

#[test]
fn a_trusted_index_is_used_only_if_it_is_whole() {
    let scene = Scene::new();
    let middle = scene.whole.len() / 2;
    for at in [33, 64, middle, scene.whole.len() - 1] {
        let mut damaged = scene.whole.clone();
        damaged[at] ^= 0x10;
        let _ = fs::remove_file(&scene.index);
        fs::write(&scene.index, &damaged).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&scene.index, mode).unwrap();
        let made = scene.open_with(true);
        assert!(matches!(made.index(), IndexState::Written { .. }), "{at}");
        assert!(matches!(scene.open_with(true).index(), IndexState::Used));
    }
}

#[test]
fn lists_of_referrers_are_those_that_a_walk_finds() {
    let scene = Scene::new();
    let snapshot = scene.open();
    let inbound = Inbound::new(snapshot.graph(), snapshot.store()).unwrap();
    let mut found = 0;
    for object in snapshot.graph().objects() {
        let listed = inbound.referring(object);
        assert_eq!(listed, snapshot.referring(object));
        found += listed.len();
    }
    assert!(found > 3000, "{found}");
}
