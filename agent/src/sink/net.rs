//! The profile to a front-end that listens: TCP, or a Unix socket.
//!
//! A front-end can be slow, stop reading, close, or vanish. The writer waits for it, and
//! that is the profile thread alone; the program's threads never do. One that takes not a single
//! byte for [`STALL`] is given up, as is one whose connection breaks: the writer gets an error, and
//! continues elsewhere. While the VM waits for its end, a front-end has to take [`FINAL_RATE`] on
//! average, with a tolerance of [`FINAL_STALL`]. So what the end can take is proportional to
//! what the front-end has received, however it reads.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::endpoint::{Endpoint, NetSource, Stream};
use super::poll;

/// Set when the VM waits: then a stalled front-end is given up sooner.
#[derive(Clone, Debug, Default)]
pub struct VmWaits(Arc<AtomicBool>);

/// A connection that the profile is written to.
pub struct NetSink {
    stream: Stream,
    endpoint: Endpoint,
    stall: Duration,
    vm_waits: VmWaits,
    pace: Pace,
}

/// The delay of the front-end against [`FINAL_RATE`]. Being early earns nothing: a front-end that took
/// a lot fast may not stop afterwards.
#[derive(Debug, Default)]
struct Pace {
    behind: Duration,
}

/// How long a front-end may take nothing before it is given up.
pub const STALL: Duration = Duration::from_secs(30);
/// The allowed delay against [`FINAL_RATE`] while the VM waits to exit.
pub const FINAL_STALL: Duration = Duration::from_secs(5);
/// Bytes a second that it has to take then.
pub const FINAL_RATE: usize = 1 << 20;
/// Most bytes for one call of the kernel, which may wait for each part of them.
const PIECE: usize = 64 << 10;
/// How often a stalled writer looks at the clock.
const LOOK: Duration = Duration::from_millis(250);

impl VmWaits {
    /// The VM waits from now on, or no more.
    pub fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Endpoint {
    /// Connects, trying again until `patience` is over. `vm_waits` tells when to be less patient with
    /// the front-end afterwards.
    ///
    /// # Errors
    /// The error of the last attempt.
    pub fn connect(&self, patience: Duration, vm_waits: &VmWaits) -> io::Result<NetSink> {
        NetSink::new(self.open(patience)?, self.clone(), vm_waits.clone())
    }
}

impl NetSink {
    fn new(stream: Stream, endpoint: Endpoint, vm_waits: VmWaits) -> io::Result<Self> {
        match &stream {
            Stream::Tcp(tcp) => {
                tcp.set_write_timeout(Some(LOOK))?;
                // Records are small, and a user may look at them as they come.
                tcp.set_nodelay(true)?;
            }
            Stream::Unix(unix) => unix.set_write_timeout(Some(LOOK))?,
        }
        Ok(Self {
            stream,
            endpoint,
            stall: STALL,
            vm_waits,
            pace: Pace::default(),
        })
    }

    /// Where the front-end listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The other direction.
    ///
    /// # Errors
    /// When the process has no more descriptors.
    pub fn source(&self) -> io::Result<NetSource> {
        Ok(NetSource(match &self.stream {
            Stream::Tcp(tcp) => Stream::Tcp(tcp.try_clone()?),
            Stream::Unix(unix) => Stream::Unix(unix.try_clone()?),
        }))
    }

    /// How long nothing may move.
    fn stall(&self) -> Duration {
        if self.vm_waits.is_set() {
            self.stall.min(FINAL_STALL.saturating_sub(self.pace.behind))
        } else {
            self.stall
        }
    }

    /// Returns true if the front-end is fast enough, after it took `moved` bytes in a call of this length.
    fn keeps_pace(&mut self, waited: Duration, moved: usize) -> bool {
        if !self.vm_waits.is_set() {
            self.pace = Pace::default();
            return true;
        }
        self.pace.add(waited, moved);
        self.pace.behind <= FINAL_STALL
    }

    /// Returns true if the other side has all that was written.
    pub fn is_confirmed(&self) -> bool {
        self.unconfirmed() == 0
    }

    /// Waits until the other side has all that was written: until then a connection that breaks
    /// takes it along.
    ///
    /// # Errors
    /// When the connection broke, or the front-end stopped reading, or reads too slowly.
    pub fn confirm(&mut self) -> io::Result<()> {
        let mut left = self.unconfirmed();
        let mut looked = Instant::now();
        let mut moved = Instant::now();
        let mut pause = Duration::from_micros(50);
        loop {
            if let Some(error) = self.take_error()? {
                return Err(error);
            }
            let now = self.unconfirmed();
            if now == 0 {
                return Ok(());
            }
            let gone = usize::try_from(left - now).unwrap_or(0);
            if gone > 0 {
                (left, moved) = (now, Instant::now());
            }
            let waited = std::mem::replace(&mut looked, Instant::now()).elapsed();
            if !self.keeps_pace(waited, gone) || moved.elapsed() > self.stall {
                return Err(stalled());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Ends the stream in order: the front-end sees its end.
    pub fn close(&self) {
        self.stream.shutdown(Shutdown::Write);
        // A front-end that closes its side has read all. One that does not is not waited for long.
        let closed = Instant::now();
        while closed.elapsed() < Duration::from_millis(200) {
            match poll(
                self.stream.as_fd(),
                libc::POLLRDHUP,
                Duration::from_millis(50),
            ) {
                Ok(0) => {}
                _ => break,
            }
        }
        self.stream.shutdown(Shutdown::Both);
    }

    /// Breaks the connection off, which also wakes a reader.
    pub fn abort(&self) {
        self.stream.shutdown(Shutdown::Both);
    }

    /// Bytes that the kernel still holds for the front-end. 0 when it does not tell.
    fn unconfirmed(&self) -> i32 {
        let mut count: libc::c_int = 0;
        // SAFETY: SIOCOUTQ (the number of TIOCOUTQ) writes an int, a local.
        let result = unsafe {
            libc::ioctl(
                self.stream.as_fd().as_raw_fd(),
                libc::TIOCOUTQ,
                &raw mut count,
            )
        };
        if result == 0 { count } else { 0 }
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        match &self.stream {
            Stream::Tcp(tcp) => tcp.take_error(),
            Stream::Unix(unix) => unix.take_error(),
        }
    }
}

impl Pace {
    fn add(&mut self, waited: Duration, moved: usize) {
        let due = Duration::from_secs_f64(moved as f64 / FINAL_RATE as f64);
        self.behind = (self.behind + waited).saturating_sub(due);
    }
}

impl Write for NetSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(PIECE)];
        let started = Instant::now();
        loop {
            let socket = self.stream.as_fd().as_raw_fd();
            // SAFETY: the kernel reads the slice only. MSG_NOSIGNAL: no SIGPIPE, which could end
            // the program.
            let sent = unsafe {
                libc::send(
                    socket,
                    bytes.as_ptr().cast(),
                    bytes.len(),
                    libc::MSG_NOSIGNAL,
                )
            };
            if let Ok(sent) = usize::try_from(sent) {
                return match self.keeps_pace(started.elapsed(), sent) {
                    true => Ok(sent),
                    false => Err(stalled()),
                };
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock if started.elapsed() < self.stall() => {}
                io::ErrorKind::WouldBlock => return Err(stalled()),
                _ => return Err(error),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stalled() -> io::Error {
    io::Error::new(
        io::ErrorKind::TimedOut,
        "the front-end does not read any more, or far too slowly",
    )
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::thread;

    use hprof_wire::local::{Node, Users};

    use super::super::endpoint::MAX_CONNECT;
    use super::*;

    fn listen() -> (TcpListener, Endpoint) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, Endpoint::Tcp("localhost".into(), port))
    }

    #[test]
    fn bytes_arrive_and_the_end_is_seen() {
        let (listener, endpoint) = listen();
        let reader = thread::spawn(move || {
            let mut text = String::new();
            listener
                .accept()
                .unwrap()
                .0
                .read_to_string(&mut text)
                .unwrap();
            text
        });
        let mut sink = endpoint
            .connect(Duration::ZERO, &VmWaits::default())
            .unwrap();
        sink.write_all(b"whole").unwrap();
        sink.confirm().unwrap();
        sink.close();
        assert_eq!(reader.join().unwrap(), "whole");
    }

    #[test]
    fn unix_sockets_work_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let mut sink = Endpoint::Unix(path)
            .connect(Duration::ZERO, &VmWaits::default())
            .unwrap();
        sink.write_all(b"x").unwrap();
        let mut byte = [0];
        listener.accept().unwrap().0.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x");
        sink.confirm().unwrap();
    }

    #[test]
    fn what_is_no_socket_or_takes_no_connection_costs_no_more_than_the_deadline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        std::fs::write(&path, "").unwrap();
        let file = Endpoint::Unix(path).connect(Duration::ZERO, &VmWaits::default());
        assert!(file.err().unwrap().to_string().contains("it is no socket"));
        let path = dir.path().join("full");
        let listener = UnixListener::bind(&path).unwrap();
        // SAFETY: a valid descriptor; only the queue becomes shorter.
        unsafe { libc::listen(listener.as_raw_fd(), 0) };
        let node = Node::open(&path).unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = node.connect(Users::own(), Instant::now()) {
            waiting.push(stream);
        }
        let started = Instant::now();
        let full = Endpoint::Unix(path).connect(Duration::ZERO, &VmWaits::default());
        assert_eq!(full.err().unwrap().kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() < MAX_CONNECT * 3);
    }

    #[test]
    fn what_a_closed_peer_did_not_get_is_not_confirmed() {
        let (listener, endpoint) = listen();
        let mut sink = endpoint
            .connect(Duration::ZERO, &VmWaits::default())
            .unwrap();
        drop(listener.accept().unwrap());
        // The first bytes are taken by our own kernel, and refused by the other side's.
        let written = sink.write_all(b"lost");
        assert!(written.and_then(|()| sink.confirm()).is_err());
    }

    #[test]
    fn a_peer_that_reads_nothing_is_given_up() {
        let (listener, endpoint) = listen();
        let mut sink = endpoint
            .connect(Duration::ZERO, &VmWaits::default())
            .unwrap();
        sink.stall = Duration::from_millis(300);
        let _open = listener.accept().unwrap();
        let error = sink.write_all(&vec![0; 64 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(sink.confirm().is_err());
    }

    #[test]
    fn a_slow_peer_is_given_up_when_the_vm_waits() {
        let (_listener, endpoint) = listen();
        let vm_waits = VmWaits::default();
        let mut sink = endpoint.connect(Duration::ZERO, &vm_waits).unwrap();
        let second = Duration::from_secs(1);
        assert!(sink.keeps_pace(FINAL_STALL * 2, 1), "nobody waits");
        vm_waits.set(true);
        for _ in 0..1000 {
            assert!(sink.keeps_pace(second, FINAL_RATE), "fast enough for ever");
        }
        assert!(sink.keeps_pace(Duration::ZERO, 1000 * FINAL_RATE));
        // What came early does not count: at 23 kB/s the end comes after the stall and no later.
        let mut seconds = 0;
        while sink.keeps_pace(second, 23_000) {
            seconds += 1;
        }
        assert_eq!(seconds, FINAL_STALL.as_secs());
        assert_eq!(sink.stall(), Duration::ZERO);
    }

    #[test]
    fn what_is_ready_is_read_without_waiting() {
        let (listener, endpoint) = listen();
        let sink = endpoint
            .connect(Duration::ZERO, &VmWaits::default())
            .unwrap();
        let mut source = sink.source().unwrap();
        let mut peer = listener.accept().unwrap().0;
        let mut bytes = [0; 8];
        let nothing = source.read_ready(&mut bytes).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        peer.write_all(b"ab").unwrap();
        source.read_exact(&mut bytes[..1]).unwrap();
        assert_eq!(source.read_ready(&mut bytes).unwrap(), 1);
    }

    #[test]
    fn connecting_is_tried_again() {
        let (listener, endpoint) = listen();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert!(
            endpoint
                .connect(Duration::ZERO, &VmWaits::default())
                .is_err()
        );
        let late = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            TcpListener::bind(address).unwrap()
        });
        assert!(
            endpoint
                .connect(Duration::from_secs(20), &VmWaits::default())
                .is_ok()
        );
        drop(late.join().unwrap());
    }

    #[test]
    fn a_name_without_address_is_an_error() {
        let nowhere = Endpoint::Tcp("no-such-host.invalid".into(), 1);
        assert!(
            nowhere
                .connect(Duration::ZERO, &VmWaits::default())
                .is_err()
        );
    }
}
