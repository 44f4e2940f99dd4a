//! The catalogue in a file and the store: dumps that go.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hprof_server::catalogue::{DumpPatch, SqliteCatalogue, Upload};
use hprof_server::ids::DumpId;
use hprof_server::intake::Digested;
use hprof_server::state::AppState;
use hprof_server::store::{FolderStore, PartId};
use hprof_server::{Config, Fleet, Millis, Retention, retention};

const DAY: i64 = 24 * 60 * 60 * 1000;

fn server(folder: &Path, keep: Retention) -> AppState {
    let config = Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        folder: folder.to_owned(),
        fleet: Fleet::default(),
        store: None,
        executable: "unused".into(),
        memory: 1 << 30,
        workers: 1,
        allowed_roots: Vec::new(),
        max_upload: 1 << 30,
        strip: None,
        connections: hprof_server::ConnectionLimits::default(),
        pace: hprof_server::MinimumPace::default(),
        hosts: Vec::new(),
        tls: None,
        behind_proxy: false,
        max_rate: 1000,
        keep_pushed: Default::default(),
        keep,
        recognise: |_| None,
        machine: None,
        network: None,
    };
    let catalogue = SqliteCatalogue::open(&folder.join("catalogue.db")).unwrap();
    let store = FolderStore::open(folder).unwrap();
    AppState::new(config, Box::new(catalogue), Arc::new(store))
}

/// Adds a dump of `bytes` bytes, as an upload does.
fn add(state: &AppState, bytes: usize) -> DumpId {
    let part = PartId::new().unwrap();
    let mut content = b"JAVA PROFILE 1.0.2\0".to_vec();
    content.resize(bytes, 7);
    let mut file = state.store().create_part(&part).unwrap();
    file.write_all(&content).unwrap();
    let mut digested = Digested::default();
    digested.take(&content, |_| None).unwrap();
    state.admit(&part, "a.hprof", digested).unwrap().id
}

#[test]
fn a_later_catalogue_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.db");
    drop(SqliteCatalogue::open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    let refused = SqliteCatalogue::open(&path).err().unwrap();
    assert!(refused.to_string().contains("later version"), "{refused}");
}

#[test]
fn old_dumps_go_and_pinned_ones_stay() {
    let folder = tempfile::tempdir().unwrap();
    let keep = Retention {
        days: Some(10),
        bytes: None,
    };
    let state = server(folder.path(), keep);
    let (old, pinned, busy) = (add(&state, 100), add(&state, 200), add(&state, 300));
    for dump in [&old, &pinned] {
        let job = state.dump(dump).unwrap().job.unwrap();
        state.cancel(job.id).unwrap();
    }
    let patch = DumpPatch {
        pinned: Some(true),
        ..DumpPatch::default()
    };
    state.catalogue().change_dump(&pinned, &patch).unwrap();
    let at = |days: i64| Millis(Millis::now().0 + days * DAY);
    retention::sweep(&state, at(9)).unwrap();
    assert!(state.dump(&old).is_ok());
    retention::sweep(&state, at(11)).unwrap();
    assert!(state.dump(&old).is_err() && state.store().dump(&old).is_err());
    assert!(state.dump(&pinned).is_ok() && state.dump(&busy).is_ok());
}

#[test]
fn the_oldest_dumps_go_when_all_take_too_much_room() {
    let folder = tempfile::tempdir().unwrap();
    let keep = Retention {
        days: None,
        bytes: Some(250_000),
    };
    let state = server(folder.path(), keep);
    let mut dumps = Vec::new();
    for extra in 0..4 {
        let dump = add(&state, 100_000 + extra);
        let job = state.dump(&dump).unwrap().job.unwrap();
        state.cancel(job.id).unwrap();
        dumps.push(dump);
        // They must not come in the same millisecond.
        std::thread::sleep(Duration::from_millis(3));
    }
    retention::sweep(&state, Millis::now()).unwrap();
    let left = dumps.iter().map(|dump| state.dump(dump).is_ok());
    assert_eq!(left.collect::<Vec<_>>(), [false, false, true, true]);
}

#[test]
fn uploads_that_nobody_continues_go() {
    let folder = tempfile::tempdir().unwrap();
    let state = server(folder.path(), Retention::default());
    let part = PartId::new().unwrap();
    state.store().create_part(&part).unwrap();
    let upload = Upload {
        id: part.as_str().to_owned(),
        name: "a".to_owned(),
        length: 10,
        created_at: Millis::now(),
        strips: false,
        fail_above: String::new(),
        stripped: String::new(),
        dump: None,
    };
    state.catalogue().add_upload(&upload).unwrap();
    let later = |days: i64| Millis(Millis::now().0 + days * DAY);
    retention::sweep(&state, later(6)).unwrap();
    assert_eq!(state.store().parts().unwrap().len(), 1);
    retention::sweep(&state, later(8)).unwrap();
    assert_eq!(state.store().parts().unwrap().len(), 0);
    assert!(state.catalogue().upload(&upload.id).unwrap().is_none());
}
