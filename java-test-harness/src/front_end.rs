//! A front-end for tests: it listens, keeps what the agent sends, and sends what the test wants.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Listens on a free port of the loopback interface.
pub struct FrontEnd {
    listener: TcpListener,
}

/// A connected agent.
pub struct Peer {
    stream: TcpStream,
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(300);

impl FrontEnd {
    /// Begins to listen.
    ///
    /// # Panics
    ///
    /// When there is no port.
    pub fn new() -> FrontEnd {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        FrontEnd { listener }
    }

    /// Begins to listen with the smallest buffers that the kernel gives: what is not read stays with
    /// the agent.
    ///
    /// # Panics
    ///
    /// When there is no port.
    pub fn with_small_buffers() -> FrontEnd {
        use std::os::fd::AsRawFd;
        let front_end = Self::new();
        let least: libc::c_int = 1;
        // SAFETY: the kernel reads the local of that size.
        unsafe {
            libc::setsockopt(
                front_end.listener.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                (&raw const least).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            );
        }
        front_end
    }

    /// The agent's option.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn option(&self) -> String {
        let port = self.listener.local_addr().expect("it is bound").port();
        format!("net=localhost:{port}")
    }

    /// The next agent, whose stream is read as fast as it comes.
    ///
    /// # Panics
    ///
    /// When none comes.
    pub fn accept(&self) -> Peer {
        let mut peer = self.accept_silently();
        let mut stream = peer.stream.try_clone().expect("a descriptor");
        let bytes = Arc::clone(&peer.bytes);
        peer.reader = Some(thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                bytes.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        }));
        peer
    }

    /// The next agent, of which nothing is read.
    ///
    /// # Panics
    ///
    /// When none comes.
    pub fn accept_silently(&self) -> Peer {
        self.listener.set_nonblocking(true).expect("a socket");
        let started = Instant::now();
        let stream = loop {
            match self.listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) => assert!(started.elapsed() < PATIENCE, "no agent: {error}"),
            }
            thread::sleep(Duration::from_millis(10));
        };
        stream.set_nonblocking(false).expect("a socket");
        Peer {
            stream,
            bytes: Arc::default(),
            reader: None,
        }
    }
}

impl Default for FrontEnd {
    fn default() -> Self {
        Self::new()
    }
}

impl Peer {
    /// The connection.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends bytes. Errors are left to those who look at what comes back.
    pub fn send(&self, bytes: &[u8]) {
        let _ = (&self.stream).write_all(bytes);
    }

    /// Sends a command: tag, serial number, length, body.
    pub fn command(&self, tag: u8, serial: u32, body: &[u8]) {
        let mut frame = vec![tag];
        frame.extend(serial.to_be_bytes());
        frame.extend((body.len() as u32).to_be_bytes());
        frame.extend(body);
        self.send(&frame);
    }

    /// Sends a command and waits until the agent says what became of it: `done`, or `refused` and
    /// why.
    ///
    /// # Panics
    ///
    /// When it does not say so.
    pub fn ask(&self, tag: u8, serial: u32, body: &[u8]) -> String {
        let start = format!("hprof-rs reply: serial={serial} ");
        // There may be a lot in front of the reply: each byte is looked at once.
        let mut looked = self.bytes.lock().unwrap().len();
        self.command(tag, serial, body);
        let mut answer = String::new();
        self.wait_until(&format!("a reply to command {serial}"), |bytes| {
            let new = &bytes[looked..];
            let found = new
                .windows(start.len())
                .position(|window| window == start.as_bytes());
            let Some(at) = found else {
                looked += new.len().saturating_sub(start.len());
                return false;
            };
            // In text to the end of the line, in binary to the next record.
            let rest = String::from_utf8_lossy(&new[at + start.len()..]);
            let end = |c: char| c == '\n' || c.is_control();
            answer = rest.split(end).next().unwrap_or_default().to_owned();
            !answer.is_empty()
        });
        answer
    }

    /// Waits until what has come satisfies a condition.
    ///
    /// # Panics
    ///
    /// When it does not in a long time.
    pub fn wait_until(&self, what: &str, mut there: impl FnMut(&[u8]) -> bool) {
        let started = Instant::now();
        while !there(&self.bytes.lock().unwrap()) {
            assert!(started.elapsed() < PATIENCE, "{what} did not come");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The bytes received so far.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn received(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    /// Waits for the end of the stream and returns all of it.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn finish(mut self) -> Vec<u8> {
        if let Some(reader) = self.reader.take() {
            // A reader cannot panic; should it, its stream is simply shorter.
            let _ = reader.join();
        }
        self.received()
    }

    /// Breaks the connection with a reset: bytes that the agent has sent and that are not read yet
    /// are lost.
    ///
    /// # Panics
    ///
    /// Never.
    pub fn reset(self) {
        use std::os::fd::AsRawFd;
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        // SAFETY: the kernel reads the local of that size.
        unsafe {
            libc::setsockopt(
                self.stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&raw const linger).cast(),
                size_of::<libc::linger>() as libc::socklen_t,
            );
        }
        // A reader that holds the connection open ends by this.
        if self.reader.is_some() {
            let _ = self.stream.shutdown(Shutdown::Read);
        }
    }
}
