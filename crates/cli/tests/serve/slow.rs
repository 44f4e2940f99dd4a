//! Clients that read or write slowly hold no others up: many connections from one address that take
//! nothing, heads and bodies that come byte by byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use crate::capture::token;
use crate::server::{Answer, Server, eventually};
use crate::support::Scene;

/// Connections that read slowly: more than a server takes.
const READERS: usize = 1_200;
/// The deadline of a connection's bytes.
const PATIENCE: Duration = Duration::from_secs(240);

/// Raises the limit of open files of this process for many connections.
fn raise_files() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a struct to write to, and to read from.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit), 0);
        limit.rlim_cur = limit.rlim_max.min(limit.rlim_cur.max(8_192));
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0);
    }
}

/// The path of the page's script, the largest file that is for anybody.
fn script(server: &Server) -> String {
    let page = server.bare_request("GET", "/", &[], b"").text();
    let script = page.split('"').find(|it| it.starts_with("/assets/index-"));
    script.expect("a script").to_owned()
}

/// The memory of a connection that takes next to nothing, in bytes; the system makes it a little more.
const TINY: usize = 4 << 10;

/// A connection that has sent something, with so much memory for what comes.
fn connect(server: &Server, sent: &[u8], memory: usize) -> TcpStream {
    let address: SocketAddr = server.address.parse().unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(memory).unwrap();
    socket.connect_timeout(&address.into(), PATIENCE).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may have ended the connection already.
    let _ = stream.write_all(sent);
    stream
}

/// Requests for the script, one after another on a connection.
fn requests(server: &Server, path: &str) -> Vec<u8> {
    let host = &server.address;
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
        .repeat(20)
        .into_bytes()
}

/// A figure of `/metrics`.
fn figure(server: &Server, name: &str) -> u64 {
    let text = server.get("/metrics").text();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{name}: {text}"))
        .trim()
        .parse()
        .unwrap()
}

/// Reads until the server ends the connection, and gives what came.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset ends it as well.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

#[track_caller]
fn assert_ok(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn many_connections_that_read_slowly_hold_no_others_up() {
    raise_files();
    let scene = Scene::new();
    let reader = token(&scene, "reader:team");
    let server = Server::start(&scene, &[]);
    let sent = requests(&server, &script(&server));
    let slow: Vec<_> = (0..READERS)
        .map(|_| connect(&server, &sent, TINY))
        .collect();
    // They stay connected, as far as it is up to them. New connections are answered meanwhile.
    for path in ["/healthz", "/", "/api/v1/dumps"] {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {reader}\r\n\
             Connection: close\r\n\r\n",
            server.address
        );
        let answer = server.raw(head.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    assert_ok(&server.get("/api/v1/server"));
    assert!(figure(&server, "hprof_rs_connections_gave_way_total ") > 0);
    assert!(figure(&server, "hprof_rs_connections_without_token ") <= 512);
    // Those that came last are still served, at their own pace.
    let mut last = slow.last().unwrap();
    let mut head = [0; 15];
    last.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
}

#[test]
fn an_answer_that_is_not_taken_ends_and_one_that_is_taken_at_a_pace_does_not() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--body-timeout", "5", "--min-rate", "1000"]);
    let path = script(&server);
    let sent = requests(&server, &path);
    let stuck = connect(&server, &sent, TINY);
    let mut steady = connect(&server, &sent, 64 << 10);
    // Slow, and far above the rate, for longer than the window.
    let mut piece = [0; 8192];
    for _ in 0..160 {
        sleep(Duration::from_millis(50));
        assert!(steady.read(&mut piece).expect("bytes") > 0);
    }
    let gone = || (figure(&server, "hprof_rs_connections_too_slow_total ") == 1).then_some(());
    eventually("a connection that was too slow", gone);
    let whole = server.bare_request("GET", &path, &[], b"").body.len();
    assert!(rest(stuck).len() < 10 * whole);
    assert!(steady.read(&mut piece).expect("bytes") > 0);
}

#[test]
fn heads_and_bodies_that_come_byte_by_byte_hold_no_others_up_and_end() {
    let scene = Scene::new();
    let server = Server::start(&scene, &["--body-timeout", "2"]);
    let (host, token) = (&server.address, &server.token);
    let put = format!(
        "PUT /api/v1/dumps?name=slow HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: 100000\r\n\r\nJAVA PROFILE 1.0.2\0"
    );
    let heads = (0..100).map(|_| connect(&server, b"GET / HTTP/1.1\r\nHo", TINY));
    let heads: Vec<_> = heads.collect();
    // More bodies than the server has threads.
    let bodies = (0..80).map(|_| connect(&server, put.as_bytes(), TINY));
    let mut bodies: Vec<_> = bodies.collect();
    assert_ok(&server.bare_request("GET", "/healthz", &[], b""));
    assert_ok(&server.get("/api/v1/dumps"));
    // A byte now and then is not silence, and no pace either.
    let mut slow = bodies.swap_remove(0);
    slow.set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    eventually("the end of a body", || {
        // The server may have ended the connection.
        let _ = slow.write_all(b"x");
        (slow.peek(&mut [0]).ok()? > 0).then_some(())
    });
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    let text = String::from_utf8_lossy(&rest(slow)).into_owned();
    assert!(
        text.starts_with("HTTP/1.1 408") && text.contains("slow-body"),
        "{text}"
    );
    for head in heads {
        let text = String::from_utf8_lossy(&rest(head)).into_owned();
        assert!(!text.starts_with("HTTP/1.1 200"), "{text}");
    }
    assert_ok(&server.get("/api/v1/dumps"));
}
