//! Reads the text format, for assertions.
//!
//! Written from the format's description in the HPROF manual alone and much stricter than a reader
//! should be: whatever it does not know is an error.

mod reader;

use std::collections::BTreeMap;

use crate::text_heap::TextHeap;
use crate::text_sites::{self, SiteRow, SiteTable};
use reader::{Reader, State};

/// A whole text profile, checked for well-formedness.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct TextProfile {
    /// The first line.
    pub header: String,
    /// THREAD START lines, in order.
    pub threads: Vec<ThreadStart>,
    /// Serials of the THREAD END lines, in order.
    pub ended_threads: Vec<u32>,
    /// All TRACE records, by serial.
    pub traces: BTreeMap<u32, Trace>,
    /// The CPU SAMPLES tables, one per dump, in order.
    pub tables: Vec<CpuTable>,
    /// Heap dumps, in order.
    pub heaps: Vec<TextHeap>,
    /// The CPU TIME tables, one per dump, in order: totals are milliseconds, counts are calls.
    pub times: Vec<CpuTable>,
    /// The MONITOR TIME and NATIVE LOCKS tables, in order: totals are milliseconds, and `method` is the class of the
    /// lock, or the function that waits.
    pub contention: Vec<CpuTable>,
    /// The MONITOR DUMPs, in order.
    pub monitor_dumps: Vec<MonitorDump>,
    /// The WAIT and WAITED lines: class signature, milliseconds, thread serial.
    pub waits: Vec<(String, u64, u32)>,
    /// The SITES tables, one per dump, in order.
    pub site_tables: Vec<SiteTable>,
    /// Lines that start with `#`, without that character and the blanks behind it.
    pub comments: Vec<String>,
}

/// A THREAD START line.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadStart {
    /// Id of the thread object.
    pub object: u64,
    /// Thread serial.
    pub serial: u32,
    /// Thread name.
    pub name: String,
    /// Name of its thread group.
    pub group: String,
}

/// A TRACE record.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Trace {
    /// Thread serial, with thread=y.
    pub thread: Option<u32>,
    /// Frame lines without the leading TAB, innermost first; empty when the record says `<empty>`.
    pub frames: Vec<String>,
}

impl Trace {
    /// Returns whether one of the frames is in this method, given as `Class.method`.
    pub fn has(&self, method: &str) -> bool {
        self.frames.iter().any(|frame| method_of(frame) == method)
    }

    /// The methods of the frames as `Class.method`, innermost first.
    pub fn methods(&self) -> Vec<&str> {
        self.frames.iter().map(|frame| method_of(frame)).collect()
    }

    /// Returns whether the innermost frame is in this method.
    pub fn is_in(&self, method: &str) -> bool {
        self.frames
            .first()
            .is_some_and(|frame| method_of(frame) == method)
    }
}

/// A CPU SAMPLES table.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct CpuTable {
    /// Samples in total, including those of rows below the cutoff.
    pub total: u64,
    /// Rows, in order.
    pub rows: Vec<Row>,
}

/// A MONITOR DUMP.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct MonitorDump {
    /// Serial, trace and status of each thread.
    pub threads: Vec<(u32, u32, String)>,
    /// The locks in use.
    pub monitors: Vec<UsedMonitor>,
}

/// A lock of a MONITOR DUMP.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct UsedMonitor {
    /// Signature of its class.
    pub signature: String,
    /// Serial of the owner, and how often it has entered.
    pub owner: Option<(u32, u32)>,
    /// Serials of the threads that wait to enter.
    pub entering: Vec<u32>,
    /// Serials of the threads that wait to be notified.
    pub waiting: Vec<u32>,
}

/// A row of a CPU SAMPLES table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// 1 for the first row.
    pub rank: u32,
    /// Percentage of the total.
    pub self_percent: f64,
    /// Running sum of the percentages.
    pub accumulated_percent: f64,
    /// Samples.
    pub count: u64,
    /// Trace serial.
    pub trace: u32,
    /// `Class.method` of the innermost frame, or `<empty trace>`.
    pub method: String,
    /// In MONITOR TIME: a lock of `java.util.concurrent`, not a monitor.
    pub is_synchronizer: bool,
    /// In NATIVE LOCKS.
    pub is_native: bool,
}

impl TextProfile {
    /// Reads a profile.
    ///
    /// # Errors
    ///
    /// Names the first line that is not as the format says, or that contradicts an earlier one.
    pub fn parse(text: &str) -> Result<TextProfile, String> {
        let mut profile = TextProfile::default();
        let mut reader = Reader::default();
        for (index, line) in text.lines().enumerate() {
            reader
                .line(&mut profile, line)
                .map_err(|problem| format!("line {}: {problem}: {line}", index + 1))?;
        }
        match reader.state {
            State::Records => {
                let exact = !profile.comments.iter().any(|it| it.contains("estimates"));
                let mut tables = profile.site_tables.iter();
                tables.try_for_each(|table| text_sites::check(table, exact))?;
                Ok(profile)
            }
            state => Err(format!("the file ends inside {state:?}")),
        }
    }

    /// The last table.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn table(&self) -> &CpuTable {
        self.tables
            .last()
            .expect("the profile has a CPU SAMPLES table")
    }

    /// The only heap dump.
    ///
    /// # Panics
    ///
    /// When there is none or several.
    pub fn heap(&self) -> &TextHeap {
        assert_eq!(self.heaps.len(), 1, "heap dumps");
        &self.heaps[0]
    }

    /// The last SITES table.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn sites(&self) -> &SiteTable {
        self.site_tables
            .last()
            .expect("the profile has a SITES table")
    }

    /// The rows of the last SITES table with this method anywhere in the trace.
    pub fn sites_with(&self, method: &str) -> impl Iterator<Item = &SiteRow> {
        let rows = self.sites().rows.iter();
        rows.filter(move |row| self.traces[&row.trace].has(method))
    }

    /// Samples of the last table whose trace satisfies the condition.
    pub fn samples(&self, condition: impl Fn(&Trace) -> bool) -> u64 {
        let rows = self.table().rows.iter();
        rows.filter(|row| condition(&self.traces[&row.trace]))
            .map(|row| row.count)
            .sum()
    }

    /// Samples of the last table with this method anywhere in the trace.
    pub fn samples_with(&self, method: &str) -> u64 {
        self.samples(|trace| trace.has(method))
    }

    /// Calls of the method, given as `Class.method`, in all rows of the last CPU TIME table.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn calls(&self, method: &str) -> u64 {
        self.times_of(method).map(|row| row.count).sum()
    }

    /// Checks that all rows of a method in all CPU TIME tables have this caller.
    ///
    /// # Panics
    ///
    /// When one has another, or there is none.
    #[track_caller]
    pub fn expect_caller(&self, method: &str, caller: &str) {
        let rows = self.times.iter().flat_map(|table| &table.rows);
        let mut rows = rows.filter(|row| row.method == method).peekable();
        assert!(rows.peek().is_some(), "no calls of {method}");
        for row in rows {
            let trace = &self.traces[&row.trace];
            let found = trace.frames.get(1);
            let is_it = found.is_some_and(|frame| frame.starts_with(&format!("{caller}(")));
            assert!(is_it, "{} calls by {trace:?}", row.count);
        }
    }

    /// Share of the method, given as `Class.method`, in the last CPU TIME table, in percent.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn time_percent(&self, method: &str) -> f64 {
        self.times_of(method).map(|row| row.self_percent).sum()
    }

    fn times_of(&self, method: &str) -> impl Iterator<Item = &Row> {
        let table = self.times.last().expect("the profile has a CPU TIME table");
        table.rows.iter().filter(move |row| row.method == method)
    }

    /// Contended entries and milliseconds in all MONITOR TIME and NATIVE LOCKS tables, of the rows that satisfy the
    /// condition.
    pub fn contended(&self, condition: impl Fn(&Row, &Trace) -> bool) -> (u64, f64) {
        let (mut count, mut millis) = (0, 0.0);
        for table in &self.contention {
            for row in &table.rows {
                if condition(row, &self.traces[&row.trace]) {
                    count += row.count;
                    millis += row.self_percent / 100.0 * table.total as f64;
                }
            }
        }
        (count, millis)
    }

    /// A number that the agent tells about itself in the comments, as `name=number`; the last one
    /// counts.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn counter(&self, name: &str) -> u64 {
        let words = self
            .comments
            .iter()
            .rev()
            .flat_map(|line| line.split_whitespace());
        let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let value = values
            .next()
            .unwrap_or_else(|| panic!("no comment tells {name}="));
        value
            .parse()
            .unwrap_or_else(|error| panic!("{name}={value}: {error}"))
    }

    /// The THREAD START of the only thread of that name.
    ///
    /// # Panics
    ///
    /// When there is none or several.
    pub fn thread(&self, name: &str) -> &ThreadStart {
        let mut found = self.threads.iter().filter(|thread| thread.name == name);
        let thread = found
            .next()
            .unwrap_or_else(|| panic!("no thread \"{name}\""));
        assert!(found.next().is_none(), "several threads \"{name}\"");
        thread
    }
}

/// `Class.method` of a frame line.
fn method_of(frame: &str) -> &str {
    frame.split('(').next().unwrap_or(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:34:10 2026

prelude
--------

THREAD START (obj=500001c4, id = 200001, name=\"a \"quoted\" name\", group=\"main\")
TRACE 300115: (thread=200001)
\tSpin.hot(Spin.java:4)
\tjava.lang.Thread.run(Thread.java:Unknown line)
TRACE 300000:
\t<empty>
CPU SAMPLES BEGIN (total = 4) Fri Nov 20 10:34:12 2026
rank   self  accum   count trace method
   1 75.00% 75.00%       3 300115 Spin.hot
   2 25.00% 100.00%       1 300000 <empty trace>
CPU SAMPLES END
THREAD END (id = 200001)
# version: lost=0 taken=4
";

    #[test]
    fn reads_a_profile() {
        let profile = TextProfile::parse(SAMPLE).unwrap();
        assert_eq!(profile.thread("a \"quoted\" name").serial, 200_001);
        assert_eq!(profile.ended_threads, [200_001]);
        assert_eq!(profile.traces[&300_115].thread, Some(200_001));
        assert_eq!(profile.samples_with("java.lang.Thread.run"), 3);
        assert_eq!(profile.samples(|trace| trace.is_in("Spin.hot")), 3);
        assert_eq!(profile.samples(|trace| trace.frames.is_empty()), 1);
        assert_eq!((profile.table().total, profile.table().rows.len()), (4, 2));
        assert_eq!((profile.counter("lost"), profile.counter("taken")), (0, 4));
        assert_eq!(profile.comments, ["version: lost=0 taken=4"]);
    }

    #[test]
    fn reads_call_times() {
        let sample = SAMPLE.replace("CPU SAMPLES", "CPU TIME (ms)");
        let profile = TextProfile::parse(&sample).unwrap();
        assert_eq!((profile.times.len(), profile.tables.len()), (1, 0));
        assert_eq!(profile.calls("Spin.hot"), 3);
        assert_eq!(profile.time_percent("Spin.hot"), 75.0);
        for (from, to) in [("   2 25", "   3 25"), ("25.00%", "76.00%")] {
            assert!(TextProfile::parse(&sample.replace(from, to)).is_err());
        }
    }

    const MONITORS: &str = "\
JAVA PROFILE 1.0.1, created Fri Nov 20 10:34:10 2026

prelude
--------

WAIT: MONITOR Ljava/lang/Object;, timeout=50, thread 200001
WAITED: MONITOR Ljava/lang/Object;, time_waited=51, thread 200001
TRACE 300001:
\tContend.hold(Contend.java:4)
MONITOR DUMP BEGIN
    THREAD 200001, trace 300001, status: CW
    MONITOR Ljava/lang/Object;
\towner: thread 200002, entry count: 2
\twaiting to enter: thread 200003, thread 200004
\twaiting to be notified:
MONITOR DUMP END
MONITOR TIME BEGIN (total = 2000 ms) Fri Nov 20 10:34:12 2026
rank   self  accum   count trace monitor
   1 75.00% 75.00%       3 300001 java.lang.Object (Java)
MONITOR TIME END
";

    #[test]
    fn reads_monitors() {
        let profile = TextProfile::parse(MONITORS).unwrap();
        let object = "Ljava/lang/Object;".to_owned();
        let waits = [(object.clone(), 50, 200_001), (object, 51, 200_001)];
        assert_eq!(profile.waits, waits);
        let monitor = &profile.monitor_dumps[0].monitors[0];
        assert_eq!(monitor.owner, Some((200_002, 2)));
        assert_eq!(monitor.entering, [200_003, 200_004]);
        assert!(monitor.waiting.is_empty());
        let of_object = |row: &Row, trace: &Trace| {
            row.method == "java.lang.Object" && trace.is_in("Contend.hold")
        };
        assert_eq!(profile.contended(of_object), (3, 1500.0));
        for (from, to) in [
            ("trace 300001, status", "trace 300002, status"),
            (" (Java)", ""),
            ("thread 200004\n", "200004\n"),
            ("timeout=50", "timeout="),
        ] {
            assert!(MONITORS.contains(from));
            assert!(TextProfile::parse(&MONITORS.replace(from, to)).is_err());
        }
    }

    #[test]
    fn rejects_what_the_format_does_not_say() {
        for (from, to) in [
            ("JAVA PROFILE", "JAVA"),
            ("--------\n", ""),
            ("TRACE 300000:", "TRACE x:"),
            ("TRACE 300000:", "TRACE 300115:"),
            ("300000 <empty", "300001 <empty"),
            ("   2 25.00%", "   3 25.00%"),
            ("   2 25.00%", "   2 26.00%"),
            ("100.00%", "99.00%"),
            ("(total = 4)", "(total = 3)"),
            ("CPU SAMPLES END\n", ""),
            ("\t<empty>\n", "\t<empty>\n# between\n"),
            ("Spin.java:4", "Spin.java"),
            ("# version", "version"),
        ] {
            assert!(SAMPLE.contains(from));
            let changed = SAMPLE.replace(from, to);
            assert!(
                TextProfile::parse(&changed).is_err(),
                "{from} -> {to} was accepted"
            );
        }
    }
}
