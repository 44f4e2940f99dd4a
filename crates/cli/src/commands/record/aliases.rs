//! The options of async-profiler: what to record, how often, and which stacks to keep.

use std::collections::HashMap;

use anyhow::bail;
use clap::Args;
use hprof_analysis::contents::Contents;
use hprof_analysis::stacks::{FrameIndex, Stacks};
use hprof_format::ids::TraceSerial;
use hprof_options::KernelEvent;
use hprof_options::native_lock::native_lock;

use super::Record;

/// Options as async-profiler has them.
#[derive(Debug, Args)]
pub struct Aliases {
    /// The kinds of events to record, as --cpu, --wall, --alloc, --lock, --native, --native-locks (nativelock), --calls and --all say too; may be repeated, or have commas.
    /// Or an event of the kernel, by which samples are taken instead of by CPU time: page-faults, context-switches, cpu-clock,
    /// cycles, cache-misses and others, a tracepoint such as syscalls:sys_enter_write, or the calls of a native function such as
    /// pthread_mutex_lock or G1CollectedHeap::humongous_obj_allocate (docs/events.md).
    #[arg(short, long, value_parser = event, value_name = "EVENT", value_delimiter = ',')]
    event: Vec<Event>,

    /// The time between two samples of a thread, in whole milliseconds with a unit, such as 10ms; or with `-e alloc` or `-e native` the bytes
    /// between two allocations that are recorded, such as 512k [default: 10ms; 512k].
    #[arg(short, long, value_name = "INTERVAL", value_parser = interval)]
    interval: Option<Interval>,

    /// Keep the stacks of each thread apart.
    #[arg(short, long)]
    threads: bool,

    /// Write only stacks that have a method that matches: a package, class or method, with `*` for any text, such as
    /// `com.acme.*Dao*`; may be repeated. The program runs as without it.
    #[arg(short = 'I', long, value_name = "PATTERN", value_parser = pattern)]
    include: Vec<Pattern>,

    /// Leave stacks out that have a method that matches; may be repeated.
    #[arg(short = 'X', long, value_name = "PATTERN", value_parser = pattern)]
    exclude: Vec<Pattern>,
}

/// Something to record.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    /// CPU samples.
    Cpu,
    /// All threads on the wall clock.
    Wall,
    /// Allocations.
    Alloc,
    /// Contended locks.
    Lock,
    /// Memory outside of the heap.
    Native,
    /// Waits for locks of native code.
    NativeLock,
    /// Every call.
    Calls,
    /// CPU samples, allocations and locks.
    All,
    /// Samples by an event of the kernel.
    Kernel(KernelEvent),
}

/// An event by its name here, or async-profiler's.
fn event(text: &str) -> Result<Event, String> {
    Ok(match text {
        "cpu" | "itimer" | "ctimer" => Event::Cpu,
        "wall" => Event::Wall,
        "alloc" => Event::Alloc,
        "lock" => Event::Lock,
        "native" | "nativemem" => Event::Native,
        "nativelock" => Event::NativeLock,
        "calls" => Event::Calls,
        "all" => Event::All,
        other => Event::Kernel(other.parse().map_err(|expected| {
            format!("cpu, wall, alloc, lock, native, nativelock, calls and all are events; of the kernel, {expected}")
        })?),
    })
}

/// How often something is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interval {
    Millis(u64),
    Bytes(u64),
}

/// The units of intervals, with their nanoseconds or bytes.
const TIMES: [(&str, u64); 4] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];
const BYTES: [(&str, u64); 3] = [("k", 1 << 10), ("m", 1 << 20), ("b", 1)];
const MILLI: u64 = 1_000_000;
/// A minute.
const LONGEST: u64 = 60_000 * MILLI;

/// Bytes between two allocations of native memory that are recorded.
const NATIVE: u64 = 512 << 10;

/// The shortest wait for a native lock that counts.
///
/// # Errors
/// If it is no time, as a sentence.
pub fn native_locks(text: &str) -> Result<String, String> {
    match native_lock(text) {
        Ok(Some(_)) => Ok(text.to_owned()),
        _ => Err("a wait is a number with a unit: 100us, 1ms, 1s".to_owned()),
    }
}

/// A number of bytes with a unit.
///
/// # Errors
/// If it is none, as a sentence.
pub fn bytes(text: &str) -> Result<u64, String> {
    match interval(text) {
        Ok(Interval::Bytes(bytes)) => Ok(bytes),
        _ => Err("a size is 1b to 2047m, with a unit: 64k, 512k, 4m".to_owned()),
    }
}

fn interval(text: &str) -> Result<Interval, String> {
    let wrong = || {
        "an interval is a number with a unit: 1ms, 10ms, 1s of time, or 64k, 512k, 4m of allocated bytes".to_owned()
    };
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.to_ascii_lowercase();
    let factor = |units: &[(&str, u64)]| units.iter().find(|it| it.0 == unit).map(|it| it.1);
    if let Some(factor) = factor(&TIMES) {
        return match number.checked_mul(factor) {
            Some(nanos @ MILLI..=LONGEST) if nanos % MILLI == 0 => {
                Ok(Interval::Millis(nanos / MILLI))
            }
            _ => Err("samples have whole milliseconds between them: 1ms to 60s".to_owned()),
        };
    }
    let factor = factor(&BYTES).ok_or_else(wrong)?;
    match number.checked_mul(factor) {
        Some(bytes @ 1..=0x7fff_ffff) => Ok(Interval::Bytes(bytes)),
        _ => Err("allocations have 1b to 2047m between them".to_owned()),
    }
}

/// A pattern of methods: the texts between its `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern(Vec<String>);

fn pattern(text: &str) -> Result<Pattern, String> {
    // As in files of classes.
    let text = text.replace('/', ".");
    let text = text.trim_end_matches('.');
    match text {
        "" => Err(
            "a pattern names a package, class or method: com.acme, *Dao*, java.util.HashMap.get"
                .to_owned(),
        ),
        text => Ok(Pattern(text.split('*').map(str::to_owned).collect())),
    }
}

impl Pattern {
    /// Returns true if a method has this name, or is in the class or package of it.
    fn matches(&self, name: &str) -> bool {
        let [first, rest @ ..] = self.0.as_slice() else {
            return false;
        };
        let Some(mut left) = name.strip_prefix(first.as_str()) else {
            return false;
        };
        let Some((last, middle)) = rest.split_last() else {
            return left.is_empty() || left.starts_with(['.', '$']);
        };
        for part in middle {
            let Some(at) = left.find(part.as_str()) else {
                return false;
            };
            left = &left[at + part.len()..];
        }
        // The last text ends the name, or the name of a class or package.
        last.is_empty()
            || left.match_indices(last.as_str()).any(|(at, _)| {
                let rest = &left[at + last.len()..];
                rest.is_empty() || rest.starts_with(['.', '$'])
            })
    }
}

impl Aliases {
    /// Returns true if some stacks are not to be written.
    pub fn selects(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty()
    }

    /// Removes the costs of stacks that are not to be written; the totals become those of the others.
    pub fn select(&self, contents: &mut Contents) {
        if !self.selects() {
            return;
        }
        let mut kept = Kept {
            aliases: self,
            stacks: &contents.stacks,
            frames: HashMap::new(),
        };
        for table in &mut contents.cpu {
            table.rows.retain(|row| kept.has(row.trace));
            table.total = table.rows.iter().map(|row| row.cost).sum();
        }
        for table in &mut contents.sites {
            table.rows.retain(|row| kept.has(row.trace));
            if let Some(totals) = &mut table.totals {
                let sum = |of: fn(&hprof_analysis::contents::SiteRow) -> u64| {
                    table.rows.iter().map(of).sum::<u64>()
                };
                totals.live_bytes = sum(|row| row.live_bytes);
                totals.live_objects = sum(|row| row.live_objects);
                totals.allocated_bytes = sum(|row| row.allocated_bytes);
                totals.allocated_objects = sum(|row| row.allocated_objects);
            }
        }
        for table in &mut contents.monitors {
            table.rows.retain(|row| kept.has(row.trace));
            table.total_millis = table.rows.iter().map(|row| row.millis).sum();
        }
    }
}

/// Which stacks are written.
struct Kept<'a> {
    aliases: &'a Aliases,
    stacks: &'a Stacks,
    /// If a frame is included, and if it is excluded.
    frames: HashMap<FrameIndex, (bool, bool)>,
}

impl Kept<'_> {
    fn has(&mut self, trace: TraceSerial) -> bool {
        let Self {
            aliases,
            stacks,
            frames,
        } = self;
        let mut is_included = aliases.include.is_empty();
        for &index in stacks.frames_of(trace) {
            let (includes, excludes) = *frames.entry(index).or_insert_with(|| {
                let name = stacks.frame(index).name();
                let any = |patterns: &[Pattern]| patterns.iter().any(|it| it.matches(&name));
                (any(&aliases.include), any(&aliases.exclude))
            });
            if excludes {
                return false;
            }
            is_included |= includes;
        }
        is_included
    }
}

impl Record {
    /// Does what the aliases say: sets modes, and adds options of the agent. Options that are given by name count more.
    ///
    /// # Errors
    /// If they exclude each other.
    pub(super) fn take_aliases(&mut self) -> anyhow::Result<()> {
        let mut kernel = String::new();
        for event in &self.aliases.event {
            let mode = match event {
                Event::Cpu => &mut self.cpu,
                Event::Wall => &mut self.wall,
                Event::Alloc => &mut self.alloc,
                Event::Lock => &mut self.lock,
                Event::Native => {
                    self.native.get_or_insert(NATIVE);
                    continue;
                }
                Event::NativeLock => {
                    self.native_locks.get_or_insert_with(|| "y".to_owned());
                    continue;
                }
                Event::Calls => &mut self.calls,
                Event::All => &mut self.all,
                Event::Kernel(event) => {
                    if !kernel.is_empty() {
                        bail!("one event of the kernel is recorded at a time");
                    }
                    kernel = format!("event={event},");
                    &mut self.cpu
                }
            };
            *mode = true;
        }
        if [self.wall, self.calls, self.cpu || self.all]
            .into_iter()
            .filter(|&is_on| is_on)
            .count()
            > 1
        {
            bail!(
                "one of cpu, wall and calls is recorded at a time; alloc and lock go with each of them"
            );
        }
        if self.native.is_some() && (self.alloc || self.all) {
            bail!(
                "one of alloc and native is recorded at a time, as both are sites that allocate: record twice"
            );
        }
        let has_times = self.cpu || self.wall || self.all || self.has_no_mode();
        let has_sites = self.alloc || self.all;
        let added = match self.aliases.interval {
            Some(Interval::Millis(millis)) if has_times => format!("interval={millis},"),
            Some(Interval::Bytes(bytes)) if has_sites => format!("heapinterval={bytes},"),
            Some(Interval::Bytes(bytes)) if self.native.is_some() => {
                self.native = Some(bytes);
                String::new()
            }
            Some(Interval::Millis(_)) => bail!(
                "--interval: a time is for cpu and wall; alloc and native take bytes, as in -i 512k, lock and calls count everything"
            ),
            Some(Interval::Bytes(_)) => {
                bail!(
                    "--interval: bytes are for alloc and native; cpu and wall take a time, as in -i 10ms"
                )
            }
            None => String::new(),
        };
        self.options.insert_str(0, &added);
        self.options.insert_str(0, &kernel);
        if self.aliases.threads {
            self.options.insert_str(0, "thread=y,");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_units() {
        for (text, expected) in [
            ("10ms", Interval::Millis(10)),
            ("5000us", Interval::Millis(5)),
            ("1000000ns", Interval::Millis(1)),
            ("1s", Interval::Millis(1000)),
            ("512k", Interval::Bytes(512 << 10)),
            ("1M", Interval::Bytes(1 << 20)),
        ] {
            assert_eq!(interval(text), Ok(expected), "{text}");
        }
        for (text, part) in [
            ("10", "a number with a unit"),
            ("", "a number with a unit"),
            ("ms", "a number with a unit"),
            ("10parsecs", "a number with a unit"),
            ("500us", "whole milliseconds"),
            ("1500us", "whole milliseconds"),
            ("0ms", "whole milliseconds"),
            ("2h", "a number with a unit"),
            ("99999999999999999s", "whole milliseconds"),
            ("9999m", "2047m"),
        ] {
            let why = interval(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    #[test]
    fn events_are_modes_or_events_of_the_kernel() {
        assert_eq!(event("nativemem"), Ok(Event::Native));
        assert_eq!(event("nativelock"), Ok(Event::NativeLock));
        assert_eq!(
            event("page-faults"),
            Ok(Event::Kernel(KernelEvent::PageFaults))
        );
        let why = event("page_faults").unwrap_err();
        assert!(
            why.contains("cpu, wall") && why.contains("page-faults"),
            "{why}"
        );
    }

    #[test]
    fn patterns_name_packages_classes_and_methods() {
        for (text, name, is) in [
            ("acme", "acme.Price.parse", true),
            ("acme.Price", "acme.Price.parse", true),
            ("acme.Price", "acme.Price$Row.get", true),
            ("acme.Price.parse", "acme.Price.parse", true),
            ("acme.Pri", "acme.Price.parse", false),
            ("acme/*", "acme.Price.parse", true),
            ("acme.*Dao", "acme.db.OrderDao.find", true),
            ("acme.*Dao", "acme.db.OrderDaos.find", false),
            ("*parse", "acme.Price.parse", true),
            ("*rice*ars*", "acme.Price.parse", true),
            ("*parse*parse", "acme.Price.parse", false),
            ("*", "anything", true),
        ] {
            assert_eq!(pattern(text).unwrap().matches(name), is, "{text} {name}");
        }
        assert!(pattern("").is_err());
    }
}
