//! Collects the pieces of a text profile.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hprof_format::binary::mutf8;
use hprof_format::ids::ThreadSerial;
use hprof_format::model::CpuKind;
use hprof_format::text::{
    TextCpuTable, TextHeapDump, TextItem, TextMonitorTable, TextOldCpuRow, TextReader,
    TextSiteTable, TextTable, TextThread, TextTrace,
};

use hprof_stacks::events::Chunk;
use hprof_stacks::slow::Slow;
use rustc_hash::FxHashMap;

use super::{
    Contents, CpuRow, CpuTable, Format, MonitorDump, MonitorRow, MonitorTable, OldCpuRow, SiteRow,
    SiteTable, TextCount, TextDump, Thread,
};
use crate::names::source_form;
use crate::stacks::Trace;

/// The bytes in which a section of a profile must begin.
const HEAD: usize = 64 << 10;

/// True if a file begins like a text profile, or like a part of one.
pub fn looks_like_a_profile(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    if head.contains(&0) {
        return false;
    }
    let text = mutf8::decode(head);
    text.starts_with("JAVA PROFILE ") && text.contains(", created ") || text.lines().any(is_section)
}

fn is_section(line: &str) -> bool {
    let starts = [
        "CPU SAMPLES BEGIN (",
        "CPU TIME (ms) BEGIN (",
        "SITES BEGIN (",
        "NATIVE SITES BEGIN (",
        "MONITOR TIME BEGIN (",
        "NATIVE LOCKS BEGIN (",
        "MONITOR DUMP BEGIN",
        "HEAP DUMP BEGIN (",
        "SLOW CALLS BEGIN (",
        "count callee caller time",
        "THREAD START (obj=",
        // With cpu=old there is no header, so that these can be first.
        "THREAD END (id = ",
        "WAIT: MONITOR ",
        "WAITED: MONITOR ",
    ];
    starts.iter().any(|start| line.starts_with(start))
        || line.strip_prefix("TRACE ").is_some_and(|rest| {
            rest.split(':')
                .next()
                .is_some_and(|n| n.parse::<u32>().is_ok())
        })
}

/// Collects all pieces of a profile.
pub(super) fn read(text: &str) -> (Contents, Vec<Chunk>) {
    let mut profile = GrowingText::default();
    profile.push(text);
    let lacks_tables = profile.tables == 0;
    let mut contents = Arc::unwrap_or_clone(profile.contents);
    contents.lacks_tables = lacks_tables;
    let chunks = take_times(&mut contents.comments);
    contents.slow = take_slow(&mut contents.comments);
    contents.lacks_tables &= !contents.slow.is_there();
    (contents, chunks)
}

/// Takes the times of samples out of the remarks of a profile.
pub fn take_times(remarks: &mut Vec<String>) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    remarks.retain(|remark| match Chunk::parse(remark) {
        Some(chunk) => {
            chunks.push(chunk);
            false
        }
        None => true,
    });
    chunks
}

/// Takes timed calls out of the remarks of a profile.
pub fn take_slow(remarks: &mut Vec<String>) -> Slow {
    let mut slow = Slow::default();
    remarks.retain(|remark| !slow.take(remark));
    slow
}

/// A text profile that comes in parts, as a running agent writes it. Traces and threads add up;
/// a caller that takes the tables out of [`Self::contents`] between two parts keeps it small.
#[derive(Debug)]
pub struct GrowingText {
    /// All that has come and was not taken out. It is copied when a part comes while another owner
    /// holds it.
    pub contents: Arc<Contents>,
    /// Traces and threads that come are not kept: there are enough.
    pub is_full: bool,
    /// Where the last thread of each serial is.
    running: FxHashMap<ThreadSerial, usize>,
    /// How much has come that is neither a thread nor a trace.
    tables: u64,
}

impl Default for GrowingText {
    fn default() -> Self {
        Self {
            contents: Arc::new(Contents::new(Format::Text)),
            is_full: false,
            running: FxHashMap::default(),
            tables: 0,
        }
    }
}

impl GrowingText {
    /// Takes in the next part: whole lines, and whole sections.
    pub fn push(&mut self, text: &str) {
        let contents = Arc::make_mut(&mut self.contents);
        contents.thread_index = OnceLock::new();
        for item in TextReader::new(text) {
            self.tables += u64::from(is_table(&item));
            match item {
                TextItem::Created(time) => contents.created_text = Some(time.to_owned()),
                TextItem::Comment(remark) => contents.comments.push(remark.to_owned()),
                TextItem::ThreadStart(_) | TextItem::Trace(_) if self.is_full => {}
                TextItem::ThreadStart(thread) => {
                    let known = self.running.get(&thread.serial).copied();
                    let known = known.and_then(|at| contents.threads.get_mut(at));
                    let is_it =
                        |known: &&mut Thread| !known.has_ended && known.object == thread.object;
                    match known.filter(is_it) {
                        // The thread has been renamed.
                        Some(known) => known.name = Some(thread.name.into_owned()),
                        None => {
                            self.running.insert(thread.serial, contents.threads.len());
                            contents.threads.push(started(thread));
                        }
                    }
                }
                TextItem::ThreadEnd(serial) => {
                    let thread = self.running.get(&serial).copied();
                    if let Some(thread) = thread.and_then(|at| contents.threads.get_mut(at)) {
                        thread.has_ended = true;
                    }
                }
                TextItem::Trace(trace) => add_trace(contents, trace),
                TextItem::Cpu(table) => {
                    check(contents, &table.table, title(table.kind));
                    contents.cpu.push(cpu(table));
                }
                TextItem::Uncounted(time) => {
                    let last = contents.cpu.last_mut();
                    if let Some(table) = last.filter(|table| table.kind == CpuKind::Times) {
                        table.rows.push(CpuRow {
                            trace: time.trace,
                            cost: (time.micros + 500) / 1000,
                            calls: Some(0),
                        });
                    }
                }
                TextItem::OldCpu(table) => {
                    check(contents, &table, "table of calls");
                    contents.old_cpu.extend(table.rows.iter().map(old_cpu));
                }
                TextItem::Sites(table) => {
                    check(contents, &table.table, "SITES");
                    contents.sites.push(sites(table));
                }
                TextItem::HeapDump(dump) => {
                    if !dump.is_complete {
                        let note = "the HEAP DUMP has no end: the file is cut short";
                        contents.damage.note(note.to_owned());
                    }
                    let (dump, bad_lines) = heap_dump(&dump);
                    if bad_lines > 0 {
                        let note = format!("{bad_lines} lines in HEAP DUMP are no part of one");
                        contents.damage.note(note);
                    }
                    contents.text_dumps.push(dump);
                }
                TextItem::MonitorTime(table) => {
                    let title = match table.is_native {
                        true => "NATIVE LOCKS",
                        false => "MONITOR TIME",
                    };
                    check(contents, &table.table, title);
                    contents.monitors.push(monitors(table));
                }
                TextItem::MonitorDump(dump) => {
                    if !dump.is_complete {
                        let note = "the MONITOR DUMP has no end: the file is cut short";
                        contents.damage.note(note.to_owned());
                    }
                    contents.monitor_dumps.push(MonitorDump::of(dump));
                }
                TextItem::Wait(wait) => contents.waits.push(false, &wait),
                TextItem::Waited(wait) => contents.waits.push(true, &wait),
            }
        }
    }
}

/// Returns true if an item is a result, or part of one.
fn is_table(item: &TextItem<'_>) -> bool {
    !matches!(
        item,
        TextItem::Created(_)
            | TextItem::Comment(_)
            | TextItem::Uncounted(_)
            | TextItem::ThreadStart(_)
            | TextItem::ThreadEnd(_)
            | TextItem::Trace(_)
    )
}

/// Counts the objects of a heap dump, and the lines that are none of its.
fn heap_dump(dump: &TextHeapDump<'_>) -> (TextDump, u64) {
    let mut counted = TextDump {
        objects: dump.objects,
        bytes: dump.bytes,
        classes: BTreeMap::new(),
        class_dumps: 0,
        roots: 0,
    };
    let mut by_name: FxHashMap<&str, TextCount> = FxHashMap::default();
    let mut bad_lines = 0;
    for line in dump.body.lines() {
        let object = match line.split_once(' ') {
            // Fields, elements and parts of classes.
            _ if line.starts_with('\t') || line.is_empty() => continue,
            Some(("ROOT", _)) => {
                counted.roots += 1;
                continue;
            }
            Some(("CLS", _)) => {
                counted.class_dumps += 1;
                continue;
            }
            Some(("OBJ", rest)) => object(rest, ", class="),
            Some(("ARR", rest)) => object(rest, ", elem type="),
            _ => None,
        };
        let Some((name, bytes)) = object else {
            bad_lines += 1;
            continue;
        };
        let count = by_name.entry(name).or_default();
        count.objects += 1;
        count.bytes = count.bytes.saturating_add(bytes);
    }
    for (name, count) in by_name {
        let sum = counted.classes.entry(source_form(name).into());
        let sum = sum.or_default();
        sum.objects += count.objects;
        sum.bytes = sum.bytes.saturating_add(count.bytes);
    }
    (counted, bad_lines)
}

/// Class and bytes of an object: `5000027c (sz=24, trace=1, class=java.lang.String@50000001)`.
fn object<'a>(rest: &'a str, class: &str) -> Option<(&'a str, u64)> {
    let (_, rest) = rest.split_once(" (sz=")?;
    let (bytes, rest) = rest.split_once(',')?;
    let (_, name) = rest.split_once(class.strip_prefix(',')?)?;
    let name = name.strip_suffix(')')?;
    // Arrays of primitives have no class object.
    let name = name.rsplit_once('@').map_or(name, |(name, _)| name);
    Some((name, bytes.parse().ok()?))
}

fn title(kind: CpuKind) -> &'static str {
    match kind {
        CpuKind::Samples => "CPU SAMPLES",
        CpuKind::Times => "CPU TIME",
    }
}

fn check<R>(contents: &mut Contents, table: &TextTable<'_, R>, name: &str) {
    if !table.is_complete {
        let note = format!("the {name} section has no end: the file is cut short");
        contents.damage.note(note);
    }
    if table.bad_lines > 0 {
        let note = format!("{} lines in {name} are no rows", table.bad_lines);
        contents.damage.note(note);
    }
}

fn started(thread: TextThread<'_>) -> Thread {
    Thread {
        serial: thread.serial,
        object: thread.object,
        name: Some(thread.name.into_owned()),
        group: Some(thread.group.into_owned()),
        trace: None,
        has_ended: false,
    }
}

fn add_trace(contents: &mut Contents, trace: TextTrace<'_>) {
    if trace.bad_lines > 0 {
        let note = format!(
            "{} lines in TRACE {} are no frames",
            trace.bad_lines, trace.serial
        );
        contents.damage.note(note);
    }
    let stacks = &mut contents.stacks;
    let frames = trace.frames.into_iter().map(|frame| {
        let name = frame.name;
        // JDK 1.2 wrote slashes.
        let class_name = match name.class_name.contains(['/', '[']) {
            true => Cow::Owned(source_form(&name.class_name)),
            false => name.class_name,
        };
        let file = frame.source_file.as_deref();
        stacks.intern_parts(&class_name, &name.method, file, frame.line)
    });
    let frames = frames.collect();
    let thread = trace.thread;
    stacks.add(trace.serial, Trace { thread, frames });
}

/// The part of a total that a share in percent stands for.
fn share(percent: f64, total: u64) -> u64 {
    // Casts of floats saturate.
    (percent / 100.0 * total as f64).round() as u64
}

fn cpu(table: TextCpuTable<'_>) -> CpuTable {
    let (kind, total) = (table.kind, table.total);
    let row = |row: hprof_format::text::TextCpuRow<'_>| match kind {
        CpuKind::Samples => CpuRow {
            trace: row.trace,
            cost: row.count,
            calls: None,
        },
        CpuKind::Times => CpuRow {
            trace: row.trace,
            cost: share(row.rank.self_percent, total),
            calls: Some(row.count),
        },
    };
    CpuTable {
        kind,
        total,
        rows: table.table.rows.into_iter().map(row).collect(),
    }
}

fn old_cpu(row: &TextOldCpuRow<'_>) -> OldCpuRow {
    OldCpuRow {
        count: row.count,
        callee: row.callee.into(),
        caller: row.caller.into(),
        millis: row.millis,
    }
}

fn sites(table: TextSiteTable<'_>) -> SiteTable {
    let rows = table.table.rows.into_iter().map(|row| SiteRow {
        trace: row.trace,
        class_name: source_form(&row.class_name).into(),
        live_bytes: row.live_bytes,
        live_objects: row.live_objects,
        allocated_bytes: row.allocated_bytes,
        allocated_objects: row.allocated_objects,
    });
    SiteTable {
        order: table.order,
        is_native: table.is_native,
        totals: None,
        rows: rows.collect(),
    }
}

fn monitors(table: TextMonitorTable<'_>) -> MonitorTable {
    let total_millis = table.total_millis;
    let rows = table.table.rows.into_iter().map(|row| MonitorRow {
        trace: row.trace,
        class_name: source_form(&row.class_name).into(),
        lock: row.lock,
        count: row.count,
        millis: share(row.rank.self_percent, total_millis),
    });
    MonitorTable {
        is_native: table.is_native,
        total_millis,
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_format::ids::TraceSerial;
    use proptest::prelude::*;

    #[test]
    fn other_files_are_no_profiles() {
        for other in [
            "",
            "hello\nworld\n",
            "TRACE of something\n",
            "JAVA PROFILES\n",
        ] {
            assert!(!looks_like_a_profile(other.as_bytes()), "{other}");
        }
        assert!(!looks_like_a_profile(b"TRACE 300001:\n\0"));
        assert!(looks_like_a_profile(b"some words\nTRACE 300001:\n"));
        assert!(looks_like_a_profile(b"count callee caller time\n"));
    }

    /// `cpu=old,monitor=y` writes no header, and waits long before the first section.
    #[test]
    fn a_profile_may_begin_with_waits() {
        let waits = "WAIT: MONITOR LA;, timeout=1, thread 200009\n".repeat(2 * HEAD / 40);
        assert!(looks_like_a_profile(waits.as_bytes()));
        let waited = "WAITED: MONITOR LA;, time_waited=1, thread 200009\n";
        assert!(looks_like_a_profile(waited.as_bytes()));
    }

    #[test]
    fn a_profile_may_come_in_parts() {
        let trace = |serial: u32, line: u32| format!("TRACE {serial}:\n\tA.b(A.java:{line})\n");
        let table = "CPU SAMPLES BEGIN (total = 1) Sat Nov 21 03:10:42 2026\n\
                     rank   self  accum   count trace method\n\
                     \u{20}  1 100.00% 100.00%       1 300001 A.b\n\
                     CPU SAMPLES END\n";
        let mut growing = GrowingText::default();
        growing.push(&format!("{}{table}", trace(300_001, 7)));
        let looks = Arc::clone(&growing.contents);
        growing.push(&format!("{}{table}", trace(300_002, 8)));
        growing.is_full = true;
        growing.push(&trace(300_003, 9));
        assert_eq!((looks.stacks.len(), looks.cpu.len()), (1, 1));
        let contents = &growing.contents;
        assert_eq!((contents.stacks.len(), contents.cpu.len()), (2, 2));
        assert!(contents.damage.is_empty(), "{:?}", contents.damage);
    }

    #[test]
    fn a_table_without_its_end_is_reported() {
        let text = "TRACE 300001:\n\tA.b(A.java:7)\n\
                    CPU SAMPLES BEGIN (total = 10) Sat Nov 21 03:10:42 2026\n\
                    rank   self  accum   count trace method\n\
                    \u{20}  1 70.00% 70.00%       7 300001 A.b\n";
        let contents = read(text).0;
        assert_eq!(contents.cpu[0].total, 10);
        assert_eq!(contents.cpu[0].rows[0].cost, 7);
        assert_eq!(contents.damage.count, 1, "{:?}", contents.damage);
        let frames = contents.stacks.frames_of(TraceSerial::new(300_001));
        assert_eq!(contents.stacks.frame(frames[0]).place(), "A.java:7");
    }

    #[test]
    fn names_of_jdk_1_2_are_those_of_today() {
        let text = "TRACE 1091: (thread=1)\n\tjava/util/Hashtable.put(Hashtable.java:405)\n\
                    CPU SAMPLES BEGIN (total = 5) Wed Oct 07 13:30:10 1998\n\
                    rank   self  accum   count trace method\n\
                    \u{20}  1 100.00% 100.00%       5  1091 java/util/Hashtable.put\n\
                    CPU SAMPLES END\n\
                    SITES BEGIN (ordered by live bytes) Wed Oct 07 13:30:10 1998\n\
                    \u{20}         percent         live       alloc'ed  stack class\n\
                    \u{20}rank   self  accum    bytes objs   bytes objs trace name\n\
                    \u{20}   1 100.00% 100.00%    24  1    24   1  1091 java/util/Hashtable$Entry\n\
                    SITES END\n";
        let contents = read(text).0;
        assert!(contents.damage.is_empty(), "{:?}", contents.damage);
        let frames = contents.stacks.frames_of(TraceSerial::new(1091));
        assert_eq!(
            &*contents.stacks.frame(frames[0]).class_name,
            "java.util.Hashtable"
        );
        assert_eq!(contents.cpu[0].rows[0].cost, 5);
        assert_eq!(
            &*contents.sites[0].rows[0].class_name,
            "java.util.Hashtable$Entry"
        );
    }

    #[test]
    fn heap_dumps_in_text_are_counted_by_class() {
        let text = "HEAP DUMP BEGIN (4 objects, 136 bytes) Fri Nov 20 10:34:16 2026\n\
                    ROOT 5000027c (kind=<thread>, id=200006, trace=300000)\n\
                    CLS 50000001 (name=java.lang.String, trace=300000)\n\
                    \tsuper\t\t50000002\n\
                    OBJ 50000003 (sz=24, trace=300000, class=java.lang.String@50000001)\n\
                    \tvalue\t\t50000004\n\
                    OBJ 50000005 (sz=24, trace=300000, class=java/lang/String@50000001)\n\
                    ARR 50000004 (sz=56, trace=300000, nelems=18, elem type=char[])\n\
                    ARR 50000006 (sz=32, trace=300005, nelems=4, elem type=A[]@500001ce)\n\
                    \t[0]\t\t5000058a\n\
                    HEAP DUMP END\n";
        let contents = read(text).0;
        assert!(contents.damage.is_empty(), "{:?}", contents.damage);
        let dump = &contents.text_dumps[0];
        let classes: Vec<_> = dump.classes.iter().collect();
        let found: Vec<_> = classes
            .iter()
            .map(|(name, it)| (&***name, it.objects, it.bytes))
            .collect();
        assert_eq!(
            found,
            [
                ("A[]", 1, 32),
                ("char[]", 1, 56),
                ("java.lang.String", 2, 48)
            ]
        );
        assert_eq!((dump.roots, dump.class_dumps), (1, 1));
        let odd = text.replace("sz=56", "size=56");
        assert_eq!(read(&odd).0.damage.count, 1);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(\\PC|\n|TRACE |CPU SAMPLES BEGIN \\(|SITES BEGIN|%|[0-9]){0,80}") {
            read(&text);
        }
    }
}
