//! The prompt of `hprof-rs listen`, on a terminal that the test plays.

mod support;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use support::Scene;

const LIMIT: Duration = Duration::from_secs(60);

/// A listener on a terminal.
struct Terminal {
    child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    shown: String,
}

impl Terminal {
    fn start(scene: &Scene) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("its other end");
        unlockpt(&master).expect("its other end");
        // Too low for the table, which the prompt does without.
        let size = Winsize {
            ws_row: 12,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("a name");
        let mut options = OpenOptions::new();
        let slave = options.read(true).write(true);
        let slave = slave.open(name.to_str().expect("ASCII")).expect("it opens");
        let mut command = scene.hprof_rs(&["listen", "127.0.0.1:0", "--save", "saved"]);
        let child = command
            .env("TERM", "xterm")
            .stdin(Stdio::from(slave.try_clone().expect("a descriptor")))
            .stdout(Stdio::from(slave.try_clone().expect("a descriptor")))
            .stderr(Stdio::from(slave))
            .spawn()
            .expect("the listener starts");
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

    fn wait_for(&mut self, what: &str, times: usize) {
        let start = Instant::now();
        while self.shown.matches(what).count() < times {
            let left = LIMIT.saturating_sub(start.elapsed());
            let bytes = self.screen.recv_timeout(left);
            let bytes = bytes.unwrap_or_else(|_| panic!("no {times} x {what}: {:?}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn pasted_lines_are_carried_out_at_once() {
    let scene = Scene::new();
    let mut terminal = Terminal::start(&scene);
    terminal.wait_for("hprof-rs> ", 1);
    terminal.keys.write_all(b"list\rsleep 0.1\rlist\r").unwrap();
    terminal.wait_for("no agents yet", 2);
    // As terminals mark what was pasted.
    let pasted = b"\x1b[200~list\rlist\rlist\x1b[201~\r";
    terminal.keys.write_all(pasted).unwrap();
    terminal.wait_for("no agents yet", 5);
    terminal.keys.write_all(b"quit\r").unwrap();
    let start = Instant::now();
    while terminal.child.try_wait().expect("it is ours").is_none() {
        assert!(start.elapsed() < LIMIT, "it does not quit");
        std::thread::sleep(Duration::from_millis(20));
    }
}
