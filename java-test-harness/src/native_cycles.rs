//! Cycles of attaching and detaching while a program allocates native memory.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::Duration;

use crate::{Jdk, Outcome, Run, Running, TextProfile, control_socket};

/// Findings of the cycles.
pub struct NativeCycles {
    /// The program's end.
    pub outcome: Outcome,
    /// Bytes that the program's compression has allocated, over all cycles.
    pub compressed_bytes: u64,
}

/// Loads the agent into `NativeChurn` and takes it out again, with options and times that differ at random, the same ones for the
/// same seed.
///
/// # Panics
/// If a cycle fails: there is no profile, or entries of import tables are not what they were before.
pub fn native_cycles(jdk: &'static Jdk, cycles: u32, seed: u64) -> NativeCycles {
    let limit = Duration::from_secs(120 + u64::from(cycles) * 10);
    let running = Run::new(jdk).time_limit(limit).class("NativeChurn").start();
    running.wait_for_line("running");
    let mut random = Random(seed.max(1));
    let mut first = None;
    let mut compressed_bytes = 0;
    for cycle in 0..cycles {
        let profile = run_once(&running, cycle, &mut random);
        let entries = profile.counter("import_entries");
        // They are found again only if the cycle before has put them back.
        let first = *first.get_or_insert(entries);
        assert!(
            entries > 10 && entries >= first,
            "cycle {cycle}: {entries} entries, {first} at first"
        );
        assert_eq!(profile.counter("internal_errors"), 0, "cycle {cycle}");
        let rows = profile.sites_with("NativeChurn.compress");
        compressed_bytes += rows.map(|row| row.allocated_bytes).sum::<u64>();
    }
    std::fs::write(running.path("end"), "").expect("a file");
    NativeCycles {
        outcome: running.finish(),
        compressed_bytes,
    }
}

fn run_once(running: &Running, cycle: u32, random: &mut Random) -> TextProfile {
    let size = ["1k", "8k", "64k", "512k"][random.below(4)];
    let depth = ["0", "4", "16", "64"][random.below(4)];
    let more = [
        "",
        ",cpu=samples,interval=1",
        ",monitor=y",
        ",thread=y",
        ",nativelock=y",
    ][random.below(5)];
    let options = format!("native={size},depth={depth}{more},cutoff=0,verbose=n,file={cycle}.txt");
    running.load_agent(&options);
    sleep(Duration::from_millis(random.below(150) as u64));
    let mut stream = UnixStream::connect(control_socket(running.pid())).expect("a control socket");
    writeln!(stream, "detach").expect("a request");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    assert!(
        reply.starts_with("ok\n"),
        "cycle {cycle}, {options}: {reply}"
    );
    let path = running.path(&format!("{cycle}.txt"));
    let text = std::fs::read_to_string(&path).expect("a profile");
    let _ = std::fs::remove_file(path);
    TextProfile::parse(&text).unwrap_or_else(|why| panic!("cycle {cycle}, {options}: {why}"))
}

/// A generator of random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }
}
