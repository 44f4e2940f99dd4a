use std::os::unix::fs::symlink;

use super::*;

fn own() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The socket that a client finds by the descriptors of this process, if it is one in `base`.
fn found_in(base: &Path) -> Option<Node> {
    // Other tests have sockets, too.
    for entry in fs::read_dir("/proc/self/fd").unwrap() {
        let path = entry.unwrap().path();
        let Ok(link) = fs::read_link(&path) else {
            continue;
        };
        if link.starts_with(base) && is_folder(&link) {
            let folder = File::open(&link).unwrap();
            return socket_in(&folder, &name(std::process::id())).ok();
        }
    }
    None
}

fn reached(socket: &ControlSocket) -> bool {
    let base = socket.path().parent().unwrap().parent().unwrap();
    let node = found_in(base).expect("the folder is shown");
    node.connect(Users::own(), Instant::now()).is_ok()
}

#[test]
fn the_socket_lies_in_a_private_folder_and_goes_with_its_owner() {
    let base = tempfile::tempdir().unwrap();
    let socket = ControlSocket::open_in(&[base.path()]).unwrap();
    let folder = base.path().join(format!(".hprof_rs_{}", own()));
    let path = folder.join(format!("pid{}", std::process::id()));
    assert_eq!((socket.path(), socket.remark()), (path.as_path(), None));
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    assert!(reached(&socket));
    drop(socket);
    assert!(!path.exists() && found_in(base.path()).is_none());
}

#[test]
fn a_client_finds_it_by_the_descriptors() {
    let socket = ControlSocket::open_in(&[Path::new("/tmp")]).unwrap();
    let found = |uid, pid| match find(Path::new("/proc/self/fd"), uid, pid).unwrap() {
        Found::Socket(node) => Some(node),
        Found::Removed | Found::Nothing => None,
    };
    let node = found(own(), std::process::id()).expect("a socket");
    let same = fs::symlink_metadata(socket.path()).unwrap();
    assert_eq!(node.metadata().ino(), same.ino());
    // No process has this id, so none has left a socket of that name in the shared folder.
    let above_all = (1 << 22) + 1;
    assert!(found(own(), above_all).is_none());
    if own() != 0 {
        assert!(found(own() + 1, std::process::id()).is_none());
    }
}

#[test]
fn a_socket_whose_name_is_gone_is_known_as_such() {
    let base = tempfile::tempdir().unwrap();
    let socket = ControlSocket::open_in(&[base.path()]).unwrap();
    assert!(socket.is_reachable());
    let folder = socket.path().parent().unwrap().to_owned();
    fs::remove_file(socket.path()).unwrap();
    assert!(!socket.is_reachable());
    // Its successor keeps the name when the first one goes.
    let next = ControlSocket::open_in(&[base.path()]).unwrap();
    assert_eq!(next.path(), socket.path());
    drop(socket);
    assert!(next.is_reachable() && reached(&next));
    fs::remove_dir_all(folder).unwrap();
    assert!(!next.is_reachable());
    assert!(
        ControlSocket::open_in(&[base.path()])
            .unwrap()
            .is_reachable()
    );
}

#[test]
fn a_socket_is_found_without_the_descriptors() {
    let socket = ControlSocket::open_in(&[Path::new("/tmp")]).unwrap();
    let open = |path: &Path| Ok(open_folder(path, 0)?.into());
    let node = find_below(open, own(), std::process::id()).expect("a socket");
    let same = fs::symlink_metadata(socket.path()).unwrap();
    assert_eq!(node.metadata().ino(), same.ino());
    assert!(find_below(open, own(), (1 << 22) + 1).is_none());
}

#[test]
fn a_taken_name_costs_a_remark() {
    type Take = fn(&Path);
    let takes: [(&str, Take); 5] = [
        ("is open to other users", |name| {
            fs::create_dir(name).unwrap();
            fs::set_permissions(name, Permissions::from_mode(0o777)).unwrap();
        }),
        ("is not a folder", |name| symlink("/", name).unwrap()),
        ("is not a folder", |name| symlink("/nowhere", name).unwrap()),
        ("is not a folder", |name| {
            let fifo = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, name, fifo, Mode::RWXU, 0).unwrap();
        }),
        ("is not a folder", |name| {
            drop(UnixListener::bind(name).unwrap());
        }),
    ];
    for (words, take) in takes {
        let base = tempfile::tempdir().unwrap();
        let taken = base.path().join(format!(".hprof_rs_{}", own()));
        take(&taken);
        let socket = ControlSocket::open_in(&[base.path()]).unwrap();
        let remark = socket.remark().expect("a remark");
        assert!(remark.contains(words), "{remark}");
        assert!(
            remark.contains(&socket.path().display().to_string()),
            "{remark}"
        );
        assert!(!socket.path().starts_with(&taken));
        assert!(reached(&socket), "{words}");
        let folder = socket.path().parent().unwrap().to_owned();
        drop(socket);
        assert!(!folder.exists(), "the random folder goes, too");
    }
}

#[test]
fn a_folder_of_another_user_is_passed_over() {
    if !crate::local::tests::may_act_for_others() {
        return;
    }
    let base = tempfile::tempdir().unwrap();
    let taken = base.path().join(format!(".hprof_rs_{}", own()));
    DirBuilder::new().mode(0o700).create(&taken).unwrap();
    std::os::unix::fs::chown(&taken, Some(65534), None).unwrap();
    let socket = ControlSocket::open_in(&[base.path()]).unwrap();
    let remark = socket.remark().expect("a remark");
    assert!(
        remark.contains("belongs to another user (id 65534)"),
        "{remark}"
    );
    assert!(reached(&socket));
}

#[test]
fn a_socket_of_a_dead_process_is_replaced() {
    let base = tempfile::tempdir().unwrap();
    let socket = ControlSocket::open_in(&[base.path()]).unwrap();
    let path = socket.path().to_owned();
    drop(socket);
    drop(UnixListener::bind(&path).unwrap());
    let socket = ControlSocket::open_in(&[base.path()]).unwrap();
    assert_eq!((socket.path(), socket.remark()), (path.as_path(), None));
    assert!(reached(&socket));
}

#[test]
fn a_second_copy_in_one_process_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let _first = ControlSocket::open_in(&[base.path()]).unwrap();
    let refusal = ControlSocket::open_in(&[base.path()]).unwrap_err();
    assert!(
        refusal.contains("another copy of the agent controls this JVM"),
        "{refusal}"
    );
}

#[test]
fn the_next_base_serves_where_the_first_takes_nothing() {
    let base = tempfile::tempdir().unwrap();
    let missing = base.path().join("missing");
    let socket = ControlSocket::open_in(&[&missing, base.path()]).unwrap();
    assert!(socket.remark().is_none() && reached(&socket));
    let refusal = ControlSocket::open_in(&[&missing]).unwrap_err();
    assert!(refusal.contains("No such file"), "{refusal}");
}
