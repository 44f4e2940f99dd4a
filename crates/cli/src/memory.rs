//! Ends the command before it takes more memory than it may, whatever a file makes it do.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use hprof_analysis::resident::Resident;
use hprof_server::worker_status::NO_MEMORY;

use crate::render::out::tell;
use crate::render::screen::bytes;

/// How often the memory is looked at: a gigabyte a second is four megabytes in this time.
const PAUSE: Duration = Duration::from_millis(4);

/// How much memory a command may take.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct MemoryArgument {
    /// The memory limit, such as `1500M` or `4G`. Commands that need the graph of the heap stay
    /// below it by working in files. The others stop and exit with status 3 [default: nine
    /// tenths of the free memory of the machine or container].
    #[arg(long, value_name = "LIMIT", value_parser = parse_bytes)]
    pub memory: Option<u64>,
}

/// The file that is being read.
struct Reading {
    name: Mutex<String>,
    bytes: AtomicU64,
}

static READING: Reading = Reading {
    name: Mutex::new(String::new()),
    bytes: AtomicU64::new(0),
};

/// Memory from this many bytes on is a map of its own, in bytes.
#[cfg(target_env = "gnu")]
const MAPPED: libc::c_int = 1 << 20;

/// Lets memory go back to the system when it is freed. glibc keeps what is freed, up to 32 MB at a time, from the first time
/// on that so much is freed (mallopt(3), M_MMAP_THRESHOLD): what one step of a report has freed would lie unused beside
/// the arrays of the next one, as they seldom fit into it.
pub fn give_back_what_is_freed() {
    #[cfg(target_env = "gnu")]
    // SAFETY: `mallopt` takes two numbers and no pointers, and locks what it changes.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
    }
}

impl MemoryArgument {
    /// Watches over the memory of this process from now on, while `name` is read.
    pub fn watch(self, name: &str) {
        static IS_WATCHED: AtomicBool = AtomicBool::new(false);
        if let Ok(mut shown) = READING.name.lock() {
            name.clone_into(&mut shown);
        }
        READING.bytes.store(0, Ordering::Relaxed);
        if IS_WATCHED.swap(true, Ordering::Relaxed) {
            return;
        }
        let (limit, is_given) = match self.memory {
            Some(limit) => (limit, true),
            None => match free_bytes() {
                Some(free) => (free / 10 * 9, false),
                None => return,
            },
        };
        // Without the thread the command works as it would without a limit.
        let _ = thread::Builder::new()
            .name("memory".to_owned())
            .spawn(move || watch(limit, is_given));
    }
}

/// Counts bytes of the file that have been read.
pub fn has_read(more: u64) {
    READING.bytes.fetch_add(more, Ordering::Relaxed);
}

fn watch(limit: u64, is_given: bool) {
    loop {
        match Resident::now().map(|resident| resident.other) {
            None => return,
            Some(taken) if taken > limit => end(limit, is_given),
            Some(_) => thread::sleep(PAUSE),
        }
    }
}

/// Ends the process. Files that are being written have no name yet, so nothing is left.
fn end(limit: u64, is_given: bool) -> ! {
    let name = READING.name.lock().map(|name| name.clone());
    let read = bytes(READING.bytes.load(Ordering::Relaxed));
    let of = name.unwrap_or_default();
    let limit = bytes(limit);
    let what = match is_given {
        true => format!("the {limit} that --memory allows are used up; allow more"),
        false => format!("{limit} of memory are used up, nine tenths of what was free"),
    };
    tell!("hprof-rs: {of}: stopped after {read} were read: {what}");
    std::process::exit(NO_MEMORY)
}

/// The memory that the machine, or the container that this process is in, has free.
pub fn free_bytes() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line
        .trim()
        .trim_end_matches("kB")
        .trim()
        .parse::<u64>()
        .ok()?
        << 10;
    let number = |name: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    // Both are there only where this process is in a group of its own, as in containers.
    let group = number("memory.max").zip(number("memory.current"));
    let group = group.map(|(most, taken)| most.saturating_sub(taken));
    // What the group holds of files can go.
    Some(machine.min(group.map_or(u64::MAX, |free| free.max(64 << 20))))
}

/// Reads a number of bytes such as `1500M`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    if bytes < 64 << 20 {
        return Err("at least 64M are needed".to_owned());
    }
    Ok(bytes)
}

/// Reads a number of bytes, however small.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err("the unit is k, M or G, as in 1500M".to_owned()),
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| "a whole number with an optional unit, as in 1500M".to_owned())?;
    Ok(number.checked_mul(1 << shift).ok_or("too large")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_units() {
        assert_eq!(parse_bytes("1500M"), Ok(1500 << 20));
        assert_eq!(parse_bytes("4G"), Ok(4 << 30));
        assert_eq!(parse_size("1M"), Ok(1 << 20));
        assert!(parse_bytes("4X").is_err());
        assert!(parse_bytes("1M").is_err());
        assert!(parse_bytes("99999999999G").is_err());
    }

    #[test]
    fn the_system_tells_memory() {
        assert!(Resident::now().is_some_and(|resident| resident.other > 0));
        assert!(free_bytes().is_none_or(|bytes| bytes >= 1 << 20));
    }
}
