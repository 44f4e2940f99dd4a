//! The connection of an agent that streams its profile to this server.
//!
//! The agent writes tables into it as text. An answer that the server waits for ends with a mark:
//! the number of a command that the server has sent on the same connection.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_format::binary::mutf8;
use hprof_wire::command::{Command, Frame};
use hprof_wire::local::peer;
use hprof_wire::marks::Mark;
use parking_lot::{Condvar, Mutex};

use super::machine::Socket;

/// The text that may wait to be taken. A dump is smaller, as the agent's tables are.
const MAX_WAITING: usize = 128 << 20;
/// How often a new socket is looked at.
const PAUSE: Duration = Duration::from_millis(20);
/// How long the agent may take to read a command of a few bytes.
const WRITE_TIME: Duration = Duration::from_secs(5);

/// A socket at which one agent is expected. Its name goes when dropped.
#[derive(Debug)]
pub struct Expected(Socket);

/// A name in the server's folder.
#[derive(Debug)]
struct Name(PathBuf);

impl Drop for Name {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Expected {
    /// Listens at a path in the server's folder.
    ///
    /// # Errors
    /// Returns the errors of the folder.
    pub fn new(path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        Self::at(Socket {
            listener,
            path: path.to_owned(),
            process: None,
            name: Box::new(Name(path.to_owned())),
        })
    }

    /// Takes a socket that listens already.
    ///
    /// # Errors
    /// Returns the error of the system call.
    pub fn at(socket: Socket) -> io::Result<Self> {
        socket.listener.set_nonblocking(true)?;
        Ok(Self(socket))
    }

    /// The path for the agent.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The connection of the agent. Connections of other processes are closed.
    ///
    /// # Errors
    /// If none comes in time.
    pub fn accept(&self, limit: Duration) -> io::Result<AgentStream> {
        let deadline = Instant::now() + limit;
        loop {
            match self.0.listener.accept() {
                Ok((stream, _)) if self.is_meant(&stream)? => return AgentStream::new(stream),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(error),
            }
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    /// The next connection, for which this waits without end.
    ///
    /// # Errors
    /// Returns the error of the system call.
    pub fn next(&self) -> io::Result<UnixStream> {
        self.0.listener.set_nonblocking(false)?;
        Ok(self.0.listener.accept()?.0)
    }

    fn is_meant(&self, stream: &UnixStream) -> io::Result<bool> {
        match self.0.process {
            Some(process) => Ok(peer(stream)?.pid == process.0),
            None => Ok(true),
        }
    }
}

#[derive(Debug, Default)]
struct Inbox {
    text: Vec<u8>,
    /// The bytes in which marks were looked for.
    seen: usize,
    /// The last mark, and the bytes up to its end.
    mark: Option<(u32, usize)>,
    has_ended: bool,
    is_over: bool,
}

impl Inbox {
    fn push(&mut self, bytes: &[u8]) {
        if self.text.len() + bytes.len() > MAX_WAITING {
            self.is_over = true;
            return;
        }
        self.text.extend_from_slice(bytes);
        while let Some(length) = self.text[self.seen..].iter().position(|&it| it == b'\n') {
            let line = &self.text[self.seen..self.seen + length];
            self.seen += length + 1;
            let Some(remark) = line.strip_prefix(b"# ") else {
                continue;
            };
            if let Some(Mark::Reply(reply)) = Mark::parse(&String::from_utf8_lossy(remark)) {
                self.mark = Some((reply.serial, self.seen));
            }
        }
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        let rest = self.text.split_off(length);
        self.seen -= length.min(self.seen);
        self.mark = None;
        std::mem::replace(&mut self.text, rest)
    }
}

/// Why a look at the stream has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// The agent has closed it.
    Ended,
    /// The agent has not answered in time; what it has written comes with the next answer.
    Late,
    /// More came than is held.
    TooMuch,
}

/// A connection. A thread reads it until it ends.
#[derive(Debug)]
pub struct AgentStream {
    writer: UnixStream,
    shared: Arc<(Mutex<Inbox>, Condvar)>,
    serial: u32,
}

impl AgentStream {
    fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(WRITE_TIME))?;
        let mut reader = stream.try_clone()?;
        let shared: Arc<(Mutex<Inbox>, Condvar)> = Arc::default();
        let filled = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("live stream".to_owned());
        builder.spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let read = reader.read(&mut buffer);
                let mut inbox = filled.0.lock();
                match read {
                    Ok(length @ 1..) => inbox.push(&buffer[..length]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    _ => inbox.has_ended = true,
                }
                filled.1.notify_all();
                if inbox.has_ended || inbox.is_over {
                    return;
                }
            }
        })?;
        Ok(Self {
            writer: stream,
            shared,
            serial: 0,
        })
    }

    /// Sends a command, and gives all text up to the agent's answer to it.
    ///
    /// # Errors
    /// If the answer does not come.
    pub fn ask(&mut self, command: Command, limit: Duration) -> Result<String, Lost> {
        self.serial = self.serial.wrapping_add(1);
        let frame = Frame {
            serial: self.serial,
            command,
        };
        if self.writer.write_all(&frame.encode()).is_err() {
            // A part of it may have gone, so no other command would be understood.
            let _ = self.writer.shutdown(std::net::Shutdown::Both);
            self.shared.0.lock().has_ended = true;
            return Err(Lost::Ended);
        }
        let deadline = Instant::now() + limit;
        let (inbox, changed) = &*self.shared;
        let mut inbox = inbox.lock();
        loop {
            if let Some((serial, end)) = inbox.mark
                && serial == self.serial
            {
                return Ok(mutf8::decode(&inbox.take(end)).into_owned());
            }
            if inbox.is_over {
                return Err(Lost::TooMuch);
            }
            if inbox.has_ended {
                return Err(Lost::Ended);
            }
            if changed.wait_until(&mut inbox, deadline).timed_out() {
                return Err(Lost::Late);
            }
        }
    }

    /// The connection itself.
    pub fn connection(&self) -> &UnixStream {
        &self.writer
    }

    /// The tables that came after the last answer, whole ones only. Waits for the end of the stream.
    pub fn rest(&mut self, limit: Duration) -> String {
        let deadline = Instant::now() + limit;
        let (inbox, changed) = &*self.shared;
        let mut inbox = inbox.lock();
        while !inbox.has_ended && !inbox.is_over {
            if changed.wait_until(&mut inbox, deadline).timed_out() {
                break;
            }
        }
        let length = whole_tables(&inbox.text);
        mutf8::decode(&inbox.take(length)).into_owned()
    }

    /// Returns whether the agent has closed it.
    pub fn has_ended(&self) -> bool {
        let inbox = self.shared.0.lock();
        inbox.has_ended || inbox.is_over
    }
}

/// The bytes up to the end of the last table and of the last remark that follows it: a process that was killed may have
/// written a part of either. Traces and threads between them are whole, as a remark comes after them.
fn whole_tables(text: &[u8]) -> usize {
    const END: &[u8] = b" END\n";
    /// Starts of the lines of traces and threads.
    const BETWEEN: [&[u8]; 3] = [b"TRACE ", b"\t", b"THREAD "];
    let ends = text.windows(END.len()).rposition(|part| part == END);
    let Some(mut end) = ends.map(|at| at + END.len()) else {
        return 0;
    };
    let mut at = end;
    for line in text[end..].split_inclusive(|&byte| byte == b'\n') {
        at += line.len();
        match line.starts_with(b"# ") {
            true if line.ends_with(b"\n") => end = at,
            false if BETWEEN.iter().any(|start| line.starts_with(start)) => {}
            _ => break,
        }
    }
    end
}

impl Drop for AgentStream {
    fn drop(&mut self) {
        // Ends the thread that reads.
        let _ = self.writer.shutdown(std::net::Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connected(folder: &Path) -> (AgentStream, UnixStream) {
        let path = folder.join("a.sock");
        let expected = Expected::new(&path).unwrap();
        let agent = UnixStream::connect(&path).unwrap();
        let stream = expected.accept(Duration::from_secs(5)).unwrap();
        drop(expected);
        assert!(!path.exists(), "the name stays");
        (stream, agent)
    }

    #[test]
    fn whole_tables_are_taken_that_came_before_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let (mut stream, mut agent) = connected(folder.path());
        let table = b"CPU SAMPLES BEGIN (total = 1) x\nCPU SAMPLES END\n";
        agent.write_all(table).unwrap();
        agent.write_all(b"# a\n# b\n").unwrap();
        agent
            .write_all(b"CPU SAMPLES BEGIN (total = 2) x\n")
            .unwrap();
        drop(agent);
        let rest = stream.rest(Duration::from_secs(5));
        assert_eq!(rest.as_bytes(), [&table[..], b"# a\n# b\n"].concat());
    }

    #[test]
    fn remarks_are_taken_that_come_after_traces_of_their_own() {
        let table = "CPU SAMPLES BEGIN (total = 1) x\nCPU SAMPLES END\n";
        let whole = format!("{table}TRACE 300019: (thread=200006)\n\t<empty>\n# times\n# b\n");
        for cut in ["", "TRACE 300020:\n\tA.b(", "# c", "SITES BEGIN (x)\n# d\n"] {
            let text = format!("{whole}{cut}");
            assert_eq!(whole_tables(text.as_bytes()), whole.len(), "{cut}");
        }
    }

    #[test]
    fn an_answer_is_all_text_up_to_its_mark() {
        let folder = tempfile::tempdir().unwrap();
        let (mut stream, mut agent) = connected(folder.path());
        agent
            .write_all(
                b"JAVA PROFILE 1.0.1, created x\n# hprof-rs reply: serial=1 done\nTRACE 1:\n",
            )
            .unwrap();
        let limit = Duration::from_secs(5);
        let text = stream.ask(Command::DumpTraces, limit).unwrap();
        assert!(text.starts_with("JAVA PROFILE") && text.ends_with("done\n"));
        agent
            .write_all(b"\tA.b(A.java:1)\n# hprof-rs reply: serial=2 refused no\n")
            .unwrap();
        let text = stream.ask(Command::DumpTraces, limit).unwrap();
        assert!(text.starts_with("TRACE 1:\n\tA.b"), "{text}");
    }

    #[test]
    fn a_late_answer_comes_with_the_next_and_an_end_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (mut stream, mut agent) = connected(folder.path());
        let short = Duration::from_millis(30);
        assert_eq!(stream.ask(Command::DumpTraces, short), Err(Lost::Late));
        agent
            .write_all(
                b"TRACE 1:\n# hprof-rs reply: serial=1 done\n# hprof-rs reply: serial=2 done\n",
            )
            .unwrap();
        let text = stream.ask(Command::DumpTraces, Duration::from_secs(5));
        assert!(text.unwrap().starts_with("TRACE 1:"));
        drop(agent);
        let ended = stream.ask(Command::DumpTraces, Duration::from_secs(5));
        assert_eq!(ended, Err(Lost::Ended));
        assert!(stream.has_ended());
    }
}
