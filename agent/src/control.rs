//! The control socket: requests from outside, without `net=`.
//!
//! A thread of the agent's own, which the VM does not know, waits for clients; each is served by
//! another, so that a long dump does not block other requests. What a request does
//! is done by the profile thread; see `hprof_wire::control` for what there is.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hprof_wire::control::{MAX_REQUEST, Reply, Request};
use hprof_wire::local::{Timed, Users, peer};
use hprof_wire::socket::ControlSocket;
use parking_lot::Mutex;

use crate::os::{descriptors, native_thread};
use crate::report;
use crate::vm::VmHandle;

static OPEN: Mutex<Option<Arc<ControlSocket>>> = Mutex::new(None);
static CLIENTS: AtomicUsize = AtomicUsize::new(0);

/// More clients than this wait.
const MAX_CLIENTS: usize = 8;
/// How long a client may take to send its line, and to take the reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// Carries a request out.
pub type Serve = fn(Request, VmHandle) -> Reply;

/// Opens the socket, unless it is open and clients find it: a cleaner of temporary folders may have
/// removed it. `carry_out` does what is asked for.
///
/// # Errors
/// Why there is none.
pub fn open(vm: VmHandle, carry_out: Serve) -> Result<(), String> {
    let mut open = OPEN.lock();
    if open.as_ref().is_some_and(|socket| socket.is_reachable()) {
        return Ok(());
    }
    descriptors::occupy_standard();
    let socket = Arc::new(ControlSocket::open()?);
    if let Some(remark) = socket.remark() {
        report::note(remark);
    }
    let accepting = Arc::clone(&socket);
    native_thread::spawn("HPROF control", move || {
        accept(accepting.listener(), vm, carry_out)
    })
    .map_err(|error| format!("no control socket: {error}"))?;
    if let Some(lost) = open.replace(socket) {
        end(&lost);
    }
    Ok(())
}

/// Closes the socket; its thread ends.
pub fn close() {
    if let Some(socket) = OPEN.lock().take() {
        end(&socket);
    }
}

fn end(socket: &ControlSocket) {
    // The thread holds it a moment longer.
    socket.remove_name();
    // SAFETY: a valid descriptor; this wakes the thread that waits in accept.
    unsafe { libc::shutdown(socket.listener().as_raw_fd(), libc::SHUT_RDWR) };
}

fn accept(listener: &UnixListener, vm: VmHandle, carry_out: Serve) {
    loop {
        match listener.accept() {
            Ok((stream, _)) if CLIENTS.load(Ordering::Relaxed) < MAX_CLIENTS => {
                CLIENTS.fetch_add(1, Ordering::Relaxed);
                let served = native_thread::spawn("HPROF request", move || {
                    serve(stream, vm, carry_out);
                    CLIENTS.fetch_sub(1, Ordering::Relaxed);
                });
                if served.is_err() {
                    CLIENTS.fetch_sub(1, Ordering::Relaxed);
                }
            }
            // Not waited for: others come after this one.
            Ok((stream, _)) => {
                let _ = stream.set_nonblocking(true);
                let reply = Reply::error("too many requests at a time");
                let _ = (&stream).write_all(reply.to_string().as_bytes());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Closed.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return,
            // Out of descriptors, perhaps.
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
        if OPEN.lock().is_none() {
            return;
        }
    }
}

fn serve(stream: UnixStream, vm: VmHandle, carry_out: Serve) {
    if !is_allowed(&stream) {
        return answer(stream, &Reply::error("only the JVM's user may control it"));
    }
    let request = match read_line(&stream) {
        Ok(line) => line.parse::<Request>().map_err(|error| error.to_string()),
        Err(error) => Err(format!("no request: {error}")),
    };
    let reply = match request {
        Ok(request) => carry_out(request, vm),
        Err(text) => Reply::error(text),
    };
    answer(stream, &reply);
}

/// Returns true if the other side runs as our user, or as root.
fn is_allowed(stream: &UnixStream) -> bool {
    peer(stream).is_ok_and(|peer| Users::own().include(peer.uid))
}

fn read_line(stream: &UnixStream) -> io::Result<String> {
    let mut stream = Timed::new(stream.try_clone()?, Instant::now() + PATIENCE);
    let mut line = Vec::new();
    let mut buffer = [0; 1024];
    while !line.contains(&b'\n') {
        if line.len() > MAX_REQUEST {
            return Err(io::Error::other("the line is too long"));
        }
        match stream.read(&mut buffer)? {
            0 => break,
            count => line.extend_from_slice(&buffer[..count]),
        }
    }
    let end = line.iter().position(|&byte| byte == b'\n');
    line.truncate(end.unwrap_or(line.len()));
    String::from_utf8(line).map_err(io::Error::other)
}

fn answer(stream: UnixStream, reply: &Reply) {
    let mut stream = Timed::new(stream, Instant::now() + PATIENCE);
    // All signals are blocked on this thread, SIGPIPE too. Who has gone does not want it.
    let _ = stream.write_all(reply.to_string().as_bytes());
    // What is unread when a socket closes takes the reply along.
    let _ = stream.stream().shutdown(std::net::Shutdown::Write);
    let mut rest = [0; 4096];
    for _ in 0..256 {
        match stream.read(&mut rest) {
            Ok(1..) => {}
            _ => return,
        }
    }
}

/// Opens the socket at the start of the VM; a failure is only said.
pub fn open_or_say(vm: VmHandle, carry_out: Serve) {
    if let Err(text) = open(vm, carry_out) {
        report::note(&text);
    }
}
