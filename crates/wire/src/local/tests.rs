use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;

/// More than any test waits for.
const LONG: Duration = Duration::from_secs(60);

fn in_time() -> Instant {
    Instant::now() + LONG
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A listener that accepts nothing, with a queue that takes nothing more.
fn full(path: &Path) -> (UnixListener, Vec<UnixStream>) {
    let listener = UnixListener::bind(path).unwrap();
    // Shorter than the standard library's.
    rustix::net::listen(&listener, 0).unwrap();
    let node = Node::open(path).unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = node.connect(Users::Any, Instant::now()) {
        waiting.push(stream);
    }
    (listener, waiting)
}

#[test]
fn a_listener_of_our_own_is_reached() {
    let folder = folder();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let node = Node::open(&path).unwrap();
    let mut stream = node.connect(Users::own(), in_time()).unwrap();
    let (mut other, _) = listener.accept().unwrap();
    let own = Peer {
        pid: std::process::id(),
        uid: rustix::process::geteuid().as_raw(),
    };
    assert_eq!((peer(&stream).unwrap(), peer(&other).unwrap()), (own, own));
    stream.write_all(b"x").unwrap();
    other.read_exact(&mut [0]).unwrap();
    assert!(node.has_listener());
}

#[test]
fn a_full_queue_is_waited_for_until_the_deadline() {
    let folder = folder();
    let path = folder.path().join("s");
    let (listener, _waiting) = full(&path);
    let node = Node::open(&path).unwrap();
    let start = Instant::now();
    let result = node.connect(Users::own(), start + Duration::from_millis(300));
    assert!(matches!(result, Err(ConnectError::Busy)), "{result:?}");
    assert!(start.elapsed() >= Duration::from_millis(300) && start.elapsed() < LONG);
    assert!(node.has_listener());
    std::thread::scope(|scope| {
        scope.spawn(|| listener.accept().unwrap());
        assert!(node.connect(Users::own(), in_time()).is_ok());
    });
}

#[test]
fn what_belongs_to_others_is_not_connected_to() {
    let folder = folder();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    let own = rustix::process::geteuid().as_raw();
    let node = Node::open(&path).unwrap();
    if own == 0 {
        assert!(Users::OrRoot(1).include(0), "root may do as anybody");
        return;
    }
    let result = node.connect(Users::OrRoot(own + 1), in_time());
    assert!(matches!(result, Err(ConnectError::Foreign(uid)) if uid == own));
    assert!(listener.accept().is_err(), "nobody has connected");
}

/// Returns whether files can be given to others, and threads can become them: root may be without these rights.
pub(crate) fn may_act_for_others() -> bool {
    let nobody = 65534;
    let given = tempfile::NamedTempFile::new()
        .and_then(|file| std::os::unix::fs::chown(file.path(), Some(nobody), None));
    let become_nobody = move || {
        let uid = rustix::process::Uid::from_raw(nobody);
        rustix::thread::set_thread_res_uid(None, uid, None).is_ok()
    };
    let may = given.is_ok() && std::thread::spawn(become_nobody).join().unwrap_or(false);
    if !may {
        eprintln!("not tested: this takes the right to act for other users (chown, setuid)");
    }
    may
}

#[test]
fn a_listener_of_another_user_is_found_out() {
    if !may_act_for_others() {
        return;
    }
    let folder = folder();
    let path = folder.path().join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    let nobody = 65534;
    std::os::unix::fs::chown(&path, Some(nobody), None).unwrap();
    let node = Node::open(&path).unwrap();
    let result = node.connect(Users::own(), in_time());
    assert!(matches!(result, Err(ConnectError::Foreign(uid)) if uid == nobody));
    // The node is ours, and another user listens.
    let path = folder.path().join("other");
    let _listener = std::thread::scope(|scope| {
        let as_nobody = scope.spawn(|| {
            let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
            rustix::net::bind(&socket, &SocketAddrUnix::new(&path)?)?;
            // Changes the user of this thread alone, which ends.
            let uid = rustix::process::Uid::from_raw(nobody);
            rustix::thread::set_thread_res_uid(None, uid, None)?;
            rustix::net::listen(&socket, 1)?;
            rustix::io::Result::Ok(socket)
        });
        as_nobody.join().unwrap().unwrap()
    });
    let node = Node::open(&path).unwrap();
    let result = node.connect(Users::own(), in_time());
    assert!(matches!(result, Err(ConnectError::ForeignListener(uid)) if uid == nobody));
}

#[test]
fn only_sockets_are_opened() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let _listener = UnixListener::bind(path("s")).unwrap();
    symlink(path("s"), path("link")).unwrap();
    std::fs::write(path("file"), "").unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), fifo, mode, 0).unwrap();
    for name in ["link", "file", "fifo", "."] {
        let result = Node::open(&path(name));
        assert!(matches!(result, Err(ConnectError::NotASocket)), "{name}");
    }
    assert!(Node::open(&path("none")).unwrap_err().is_absent());
    let node = Node::open_through_links(&path("link")).unwrap();
    assert!(node.connect(Users::own(), in_time()).is_ok());
}

#[test]
fn a_socket_that_was_left_behind_is_absent() {
    let folder = folder();
    let path = folder.path().join("s");
    drop(UnixListener::bind(&path).unwrap());
    let node = Node::open(&path).unwrap();
    assert!(!node.has_listener());
    let error = node.connect(Users::own(), in_time()).unwrap_err();
    assert!(error.is_absent(), "{error}");
}

#[test]
fn long_paths_do_not_matter() {
    let folder = folder();
    let deep = folder.path().join("x".repeat(200));
    std::fs::create_dir(&deep).unwrap();
    let short = folder.path().join("s");
    let _listener = UnixListener::bind(&short).unwrap();
    std::fs::rename(&short, deep.join("s")).unwrap();
    let node = Node::open(&deep.join("s")).unwrap();
    assert!(node.connect(Users::own(), in_time()).is_ok());
}

#[test]
fn one_deadline_holds_for_a_peer_that_drips() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let dripping = std::thread::spawn(move || {
        while theirs.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let start = Instant::now();
    let mut timed = Timed::new(ours, start + Duration::from_millis(300));
    let error = timed.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    let error = timed.write_all(b"late").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(start.elapsed() < LONG);
    drop(timed);
    dripping.join().unwrap();
}

#[test]
fn a_peer_that_takes_nothing_is_given_up() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let mut timed = Timed::new(ours, Instant::now() + Duration::from_millis(200));
    let error = timed.write_all(&vec![0; 64 << 20]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}
