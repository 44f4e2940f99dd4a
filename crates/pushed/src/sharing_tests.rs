//! Servers that share segments: each has all, once, wherever one is killed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::Path;

use crate::Pushed;
use crate::keeping::Retention;
use crate::sharing::{Fleet, FleetId, FleetSegment, Reservation, remove, sha256};
use crate::tests::{ALL, KEEP, START, entry, put, total};

/// A fleet in memory, whose calls can be made to fail one by one.
#[derive(Default)]
struct Memory {
    names: RefCell<BTreeMap<FleetId, (FleetSegment, State)>>,
    files: RefCell<HashMap<FleetId, Vec<u8>>>,
    /// The calls until one fails, after what it does or before.
    left: Cell<Option<(u32, bool)>>,
    is_keeper: Cell<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Reserved,
    Live,
    Gone,
}

impl Memory {
    fn call<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        let away = || io::Error::from(io::ErrorKind::TimedOut);
        match self.left.get() {
            Some((0, is_after)) => {
                self.left.set(None);
                if is_after {
                    work();
                }
                Err(away())
            }
            Some((left, is_after)) => {
                self.left.set(Some((left - 1, is_after)));
                Ok(work())
            }
            None => Ok(work()),
        }
    }

    fn live(&self) -> usize {
        let names = self.names.borrow();
        names.values().filter(|it| it.1 == State::Live).count()
    }
}

impl Fleet for Memory {
    fn list(&self) -> io::Result<Vec<FleetSegment>> {
        self.call(|| {
            let names = self.names.borrow();
            let live = names.values().filter(|it| it.1 == State::Live);
            live.map(|it| it.0.clone()).collect()
        })
    }

    fn reserve(&self, segment: &FleetSegment) -> io::Result<Reservation> {
        self.call(|| {
            let mut names = self.names.borrow_mut();
            let new = (segment.clone(), State::Reserved);
            match names.entry(segment.id.clone()).or_insert(new).1 {
                State::Reserved => Reservation::Open,
                State::Live | State::Gone => Reservation::Published,
            }
        })
    }

    fn send(&self, id: &FleetId, file: &Path) -> io::Result<()> {
        let bytes = fs::read(file)?;
        self.call(|| {
            self.files.borrow_mut().insert(id.clone(), bytes);
        })
    }

    fn fetch(&self, segment: &FleetSegment, to: &Path) -> io::Result<()> {
        let bytes = self.call(|| self.files.borrow().get(&segment.id).cloned())?;
        fs::write(to, bytes.ok_or(io::ErrorKind::NotFound)?)?;
        match sha256(to)? == segment.sha256 {
            true => Ok(()),
            false => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn publish(&self, id: &FleetId) -> io::Result<bool> {
        self.call(|| {
            let mut names = self.names.borrow_mut();
            let state = &mut names.get_mut(id).unwrap().1;
            let is_open = *state == State::Reserved;
            if is_open {
                *state = State::Live;
            }
            is_open
        })
    }

    fn replace(&self, new: Option<&FleetId>, gone: &[FleetId]) -> io::Result<bool> {
        self.call(|| {
            let mut names = self.names.borrow_mut();
            if gone.iter().any(|id| names[id].1 != State::Live) {
                return false;
            }
            for id in gone {
                names.get_mut(id).unwrap().1 = State::Gone;
            }
            if let Some(new) = new {
                names.get_mut(new).unwrap().1 = State::Live;
            }
            true
        })
    }

    fn is_keeper(&self) -> io::Result<bool> {
        self.call(|| self.is_keeper.get())
    }

    fn sweep(&self, _: Retention) -> io::Result<()> {
        Ok(())
    }
}

const NOW: u32 = START as u32 + 1000;

fn share(store: &Pushed, fleet: &Memory) -> io::Result<usize> {
    store.share(fleet, KEEP, NOW)
}

#[test]
fn servers_have_what_each_other_received() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let fleet = Memory::default();
    let one = Pushed::open(folders[0].path()).unwrap();
    let two = Pushed::open(folders[1].path()).unwrap();
    put(&one, entry("shop{pod=a}", START, "main;work 5\n"));
    put(&two, entry("shop{pod=b}", START, "main;work 7\n"));
    for store in [&one, &two] {
        store.make_segment().unwrap();
        share(store, &fleet).unwrap();
    }
    share(&one, &fleet).unwrap();
    assert_eq!([&one, &two].map(|it| total(it, "", ALL)), [12; 2]);
    // A third that comes later has all of it, and again after a start.
    for _ in 0..2 {
        let three = Pushed::open(folders[2].path()).unwrap();
        share(&three, &fleet).unwrap();
        assert_eq!(total(&three, "", ALL), 12);
    }
    assert_eq!(fleet.live(), 2);
}

#[test]
fn one_merges_and_removes_for_all() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let fleet = Memory::default();
    let stores = folders
        .each_ref()
        .map(|it| Pushed::open(it.path()).unwrap());
    for round in 0..8 {
        for store in &stores {
            put(store, entry("shop", START + 10 * round, "main;work 1\n"));
            store.make_segment().unwrap();
            share(store, &fleet).unwrap();
        }
    }
    assert_eq!(fleet.live(), 16);
    fleet.is_keeper.set(true);
    share(&stores[0], &fleet).unwrap();
    fleet.is_keeper.set(false);
    assert_eq!(fleet.live(), 2);
    for store in &stores {
        share(store, &fleet).unwrap();
        assert_eq!(total(store, "", ALL), 16);
        assert_eq!(store.figures().segments, 2);
    }
    let nothing = Retention { bytes: 0, ..KEEP };
    fleet.is_keeper.set(true);
    stores[1].share(&fleet, nothing, NOW).unwrap();
    fleet.is_keeper.set(false);
    share(&stores[0], &fleet).unwrap();
    assert_eq!(stores.each_ref().map(|it| total(it, "", ALL)), [0; 2]);
    for folder in &folders {
        let left = fs::read_dir(folder.path()).unwrap();
        let left = left.filter_map(|it| it.ok()?.file_name().into_string().ok());
        let left: Vec<String> = left
            .filter(|it| it.ends_with(".seg") || it.ends_with(".shared"))
            .collect();
        assert_eq!(left, Vec::<String>::new());
    }
}

/// Each call fails once, before or after the fleet has done what it asks, and the server is killed there.
#[test]
fn what_is_pushed_counts_once_wherever_a_server_is_killed() {
    for (fails, is_after) in (0..24).flat_map(|it| [(it, false), (it, true)]) {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let fleet = Memory::default();
        fleet.is_keeper.set(true);
        let mut one = Pushed::open(folders[0].path()).unwrap();
        let two = Pushed::open(folders[1].path()).unwrap();
        for round in 0..4 {
            put(
                &two,
                entry("shop{pod=b}", START + 10 * round, "main;work 7\n"),
            );
            two.make_segment().unwrap();
        }
        share(&two, &fleet).unwrap();
        for round in 0..4 {
            put(
                &one,
                entry("shop{pod=a}", START + 10 * round, "main;work 5\n"),
            );
            one.make_segment().unwrap();
        }
        fleet.left.set(Some((fails, is_after)));
        let is_cut = share(&one, &fleet).is_err();
        fleet.left.set(None);
        if is_cut {
            drop(one);
            one = Pushed::open(folders[0].path()).unwrap();
            assert!(total(&one, "", ALL) >= 20, "after call {fails}");
        }
        share(&one, &fleet).unwrap();
        share(&two, &fleet).unwrap();
        let totals = [&one, &two].map(|it| total(it, "", ALL));
        assert_eq!(totals, [48; 2], "cut at call {fails}, after it: {is_after}");
        assert_eq!(fleet.live(), 1);
    }
}

#[test]
fn a_lost_index_publishes_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let fleet = Memory::default();
    let store = Pushed::open(folder.path()).unwrap();
    put(&store, entry("shop", START, "main;work 5\n"));
    store.make_segment().unwrap();
    share(&store, &fleet).unwrap();
    drop(store);
    for name in ["index.db", "index.db-wal", "index.db-shm"] {
        remove(&folder.path().join(name)).unwrap();
    }
    let store = Pushed::open(folder.path()).unwrap();
    share(&store, &fleet).unwrap();
    assert_eq!((fleet.live(), total(&store, "", ALL)), (1, 5));
}

#[test]
fn a_file_that_is_lost_or_damaged_keeps_no_other_from_coming() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let fleet = Memory::default();
    let one = Pushed::open(folders[0].path()).unwrap();
    for round in 0..3 {
        put(&one, entry("shop", START + 10 * round, "main;work 5\n"));
        one.make_segment().unwrap();
    }
    share(&one, &fleet).unwrap();
    let ids: Vec<FleetId> = fleet.files.borrow().keys().cloned().collect();
    fleet.files.borrow_mut().remove(&ids[0]);
    fleet.files.borrow_mut().get_mut(&ids[1]).unwrap()[20] ^= 1;
    let two = Pushed::open(folders[1].path()).unwrap();
    for _ in 0..2 {
        assert_eq!(share(&two, &fleet).unwrap(), 2);
        assert_eq!(total(&two, "", ALL), 5);
    }
    // The server that has them merges and removes them all the same.
    fleet.is_keeper.set(true);
    let nothing = Retention { bytes: 0, ..KEEP };
    assert_eq!(one.share(&fleet, nothing, NOW).unwrap(), 0);
    assert_eq!(share(&two, &fleet).unwrap(), 0);
    assert_eq!(total(&two, "", ALL), 0);
}

/// As often as the storage fails, no file is left over.
#[test]
fn a_storage_that_fails_fills_no_disk() {
    let folder = tempfile::tempdir().unwrap();
    let fleet = Memory::default();
    let one = Pushed::open(folder.path()).unwrap();
    for round in 0..8 {
        put(&one, entry("shop", START + 10 * round, "main;work 5\n"));
        one.make_segment().unwrap();
    }
    share(&one, &fleet).unwrap();
    fleet.is_keeper.set(true);
    for _ in 0..3 {
        // List, keeper, reserve; sending the merged segment fails.
        fleet.left.set(Some((3, false)));
        assert!(share(&one, &fleet).is_err());
    }
    let files = fs::read_dir(folder.path()).unwrap();
    let files = files.filter_map(|it| it.ok()?.file_name().into_string().ok());
    let segments = files.filter(|it| !it.starts_with("index.db") && !it.ends_with(".log"));
    assert_eq!(segments.count(), 16, "eight segments and their names");
    assert_eq!(share(&one, &fleet).unwrap(), 0);
    assert_eq!((fleet.live(), total(&one, "", ALL)), (1, 40));
}

#[test]
fn a_server_that_ends_hands_over_what_it_has() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let fleet = Memory::default();
    let one = Pushed::open(folders[0].path()).unwrap();
    put(&one, entry("shop", START, "main;work 5\n"));
    one.hand_over(&fleet).unwrap();
    let two = Pushed::open(folders[1].path()).unwrap();
    share(&two, &fleet).unwrap();
    assert_eq!(total(&two, "", ALL), 5);
}
