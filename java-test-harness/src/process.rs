//! A child process in its own process group, with its output captured as it comes.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Usage;

/// A signal a test sends to a JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGQUIT: the JVM prints a thread dump and asks agents for their data.
    Quit,
    /// SIGTERM: the JVM shuts down in order, with status 143.
    Terminate,
    /// SIGINT: as SIGTERM, with status 130.
    Interrupt,
    /// SIGKILL: the end, without any word.
    Kill,
}

impl Signal {
    fn number(self) -> libc::c_int {
        match self {
            Signal::Quit => libc::SIGQUIT,
            Signal::Terminate => libc::SIGTERM,
            Signal::Interrupt => libc::SIGINT,
            Signal::Kill => libc::SIGKILL,
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// The exit status, unless a signal ended it.
    pub(crate) status: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
    pub(crate) usage: Usage,
    pub(crate) wall: Duration,
}

/// The bytes read from a pipe so far.
#[derive(Default)]
pub(crate) struct Stream {
    bytes: Mutex<Vec<u8>>,
}

impl Stream {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }
}

/// `None` until the process has been reaped; its lock is held while a signal is sent, so that none
/// goes to a process that took over the id.
type Ended = (Mutex<Option<End>>, Condvar);

pub(crate) struct Process {
    pid: libc::pid_t,
    started: Instant,
    stdout: Arc<Stream>,
    stderr: Arc<Stream>,
    ended: Arc<Ended>,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts the command with empty standard input.
    #[expect(
        clippy::zombie_processes,
        reason = "`reap` waits, for it also wants the usage"
    )]
    pub(crate) fn start(command: &mut Command) -> Process {
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // The process that runs the tests may ignore signals, as nohup does, and children inherit
        // that; a JVM then leaves them ignored.
        let defaults = || {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
                // SAFETY: allowed between fork and exec; only restores a default action.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            Ok(())
        };
        // SAFETY: the closure only calls signal(), which is async-signal-safe.
        unsafe { command.pre_exec(defaults) };
        let started = Instant::now();
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let pid = child.id() as libc::pid_t;
        let (stdout, stderr, ended) = <(Arc<Stream>, Arc<Stream>, Arc<Ended>)>::default();
        let readers = vec![
            read_into(child.stdout.take().expect("stdout is piped"), &stdout),
            read_into(child.stderr.take().expect("stderr is piped"), &stderr),
        ];
        let reaped = Arc::clone(&ended);
        thread::spawn(move || reap(pid, started, &reaped));
        Process {
            pid,
            started,
            stdout,
            stderr,
            ended,
            readers,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid as u32
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    pub(crate) fn stdout(&self) -> &Stream {
        &self.stdout
    }

    pub(crate) fn stderr(&self) -> &Stream {
        &self.stderr
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.0.lock().unwrap().is_some()
    }

    /// Sends a signal to the process, unless it has ended.
    pub(crate) fn signal(&self, signal: Signal) {
        self.kill(self.pid, signal);
    }

    /// Sends a signal to the process and all its descendants that stayed in its group.
    pub(crate) fn signal_group(&self, signal: Signal) {
        self.kill(-self.pid, signal);
    }

    fn kill(&self, target: libc::pid_t, signal: Signal) {
        let ended = self.ended.0.lock().unwrap();
        if ended.is_none() {
            // SAFETY: kill takes no pointers; the target is not yet reaped, so the id is its own.
            unsafe { libc::kill(target, signal.number()) };
        }
    }

    /// Waits for the end, at most until the deadline.
    pub(crate) fn wait_until(&self, deadline: Instant) -> Option<End> {
        let (lock, condition) = &*self.ended;
        let left = deadline.saturating_duration_since(Instant::now());
        let ended = lock.lock().unwrap();
        *condition
            .wait_timeout_while(ended, left, |ended| ended.is_none())
            .unwrap()
            .0
    }

    /// Waits until all output has been read. Only after the end of the process.
    pub(crate) fn drain(&mut self) {
        for reader in self.readers.drain(..) {
            // A reader cannot panic; should it, its output is simply shorter.
            let _ = reader.join();
        }
    }
}

fn read_into(mut pipe: impl Read + Send + 'static, stream: &Arc<Stream>) -> JoinHandle<()> {
    let stream = Arc::clone(stream);
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            stream
                .bytes
                .lock()
                .unwrap()
                .extend_from_slice(&buffer[..length]);
        }
    })
}

fn reap(pid: libc::pid_t, started: Instant, ended: &Ended) {
    // SAFETY: siginfo_t is plain data for which zeroes are valid.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // Only looks (WNOWAIT): the id must not be freed while another thread may send a signal.
    loop {
        // SAFETY: `info` is a valid place to write to; `pid` is our child.
        let done = unsafe {
            libc::waitid(
                libc::P_PID,
                pid as libc::id_t,
                &mut info,
                libc::WEXITED | libc::WNOWAIT,
            )
        };
        if done == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            break;
        }
    }
    let wall = started.elapsed();
    let mut end = ended.0.lock().unwrap();
    *end = Some(wait(pid, wall));
    ended.1.notify_all();
}

/// Waits for the end of a child that no other thread waits for, and returns how it ended.
fn wait(pid: libc::pid_t, wall: Duration) -> End {
    let mut status = 0;
    // SAFETY: rusage is plain data for which zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places are valid to write to.
    unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
    End {
        status: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        usage: Usage {
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
            // Linux gives it in KiB.
            max_resident: usage.ru_maxrss as u64 * 1024,
        },
        wall,
    }
}

/// Runs a command, discards its output, and returns what it used and how long it took.
///
/// # Errors
///
/// If it does not start, or ends in failure.
pub fn measure(command: &mut Command) -> io::Result<(Usage, Duration)> {
    let started = Instant::now();
    let child = command.stdout(Stdio::null()).spawn()?;
    let mut end = wait(child.id() as libc::pid_t, Duration::ZERO);
    end.wall = started.elapsed();
    match end.status {
        Some(0) => Ok((end.usage, end.wall)),
        _ => Err(io::Error::other(format!(
            "status {:?}, signal {:?}",
            end.status, end.signal
        ))),
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_micros(time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64)
}
