//! A terminal.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::Scene;

const LIMIT: Duration = Duration::from_secs(240);

/// A command on a terminal that the test plays.
pub struct Terminal {
    child: Child,
    /// The keyboard.
    pub keys: File,
    screen: Receiver<Vec<u8>>,
    /// All that was shown, with its controls.
    pub shown: String,
}

impl Terminal {
    /// Starts `hprof-rs` on a terminal of this number of columns and rows.
    pub fn start(scene: &Scene, arguments: &[&str], (columns, rows): (u16, u16)) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("its other end");
        unlockpt(&master).expect("its other end");
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let mut options = OpenOptions::new();
        let slave = options.read(true).write(true);
        let slave = slave.open(name.to_str().expect("ASCII")).expect("it opens");
        let mut command = scene.hprof_rs(arguments);
        let child = command
            .env("TERM", "xterm")
            .stdin(Stdio::from(slave.try_clone().expect("a descriptor")))
            .stdout(Stdio::from(slave.try_clone().expect("a descriptor")))
            .stderr(Stdio::from(slave))
            .spawn()
            .expect("it starts");
        let keys = File::from(master);
        let mut reader = keys.try_clone().expect("a descriptor");
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keys,
            screen,
            shown: String::new(),
        }
    }

    /// Waits until a text was shown this number of times.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, times: usize) {
        let start = Instant::now();
        while self.shown.matches(what).count() < times {
            let left = LIMIT.saturating_sub(start.elapsed());
            let bytes = self.screen.recv_timeout(left);
            let bytes = bytes.unwrap_or_else(|_| panic!("no {times} x {what}: {:?}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Waits for the end of the command.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return status;
            }
            assert!(start.elapsed() < LIMIT, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
