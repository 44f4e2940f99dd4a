//! The text reader against files of the JDK's agent: what it reads, the writer writes again as it
//! was.

mod common;

use hprof_format::binary::mutf8;
use hprof_format::ids::{ObjectId, TraceSerial};
use hprof_format::model::{
    CpuKind, CpuRow, CpuTable, Frame, HeapSummary, Line, LockKind, MethodName, Monitor,
    MonitorDump, MonitorRow, MonitorTable, MonitorThread, OldCpuRow, SignedMethod, SiteRow,
    SiteTable, ThreadStart, ThreadState, ThreadStatus, Trace,
};
use hprof_format::rank::{RankedCpuTable, RankedMonitorTable, RankedSiteTable};
use hprof_format::text::{
    TextCpuTable, TextItem, TextMonitorDump, TextReader, TextSiteTable, TextTrace, TextWriter,
};
use hprof_format::writer::{HeapWriter, MonitorWriter, ProfileWriter};

/// Costs of the rows: shares times the total, which is exact as long as the total is small.
fn write_cpu(writer: &mut TextWriter<Vec<u8>>, cpu: &TextCpuTable<'_>) {
    const MILLI: f64 = 1e6;
    let cost = |percent: f64| (percent * cpu.total as f64 / 100.0).round();
    let rows: Vec<CpuRow> = cpu
        .table
        .rows
        .iter()
        .map(|row| CpuRow {
            cost: match cpu.kind {
                CpuKind::Samples => row.count,
                CpuKind::Times => (cost(row.rank.self_percent) * MILLI) as u64,
            },
            count: row.count,
            trace: row.trace,
        })
        .collect();
    let total = match cpu.kind {
        CpuKind::Samples => cpu.total,
        CpuKind::Times => cpu.total * MILLI as u64,
    };
    let ranked = RankedCpuTable::new(
        &CpuTable {
            kind: cpu.kind,
            total,
            rows: &rows,
        },
        0.0001,
    );
    let name = |serial| {
        let row = cpu.table.rows.iter().find(|row| row.trace == serial)?;
        let method = row.method.as_ref()?;
        Some(MethodName {
            class_name: &method.class_name,
            method: &method.method,
        })
    };
    writer.cpu_table(&ranked, cpu.table.ctime, &name).unwrap();
}

/// The total is not in the file: the one is taken with which all shares come out the same.
fn write_sites(writer: &mut TextWriter<Vec<u8>>, sites: &TextSiteTable<'_>) {
    let rows: Vec<SiteRow<'_>> = sites
        .table
        .rows
        .iter()
        .map(|row| SiteRow {
            class_name: &row.class_name,
            class_id: ObjectId::NULL,
            element: None,
            trace: row.trace,
            live_bytes: row.live_bytes,
            live_objects: row.live_objects,
            allocated_bytes: row.allocated_bytes,
            allocated_objects: row.allocated_objects,
        })
        .collect();
    let first = &sites.table.rows[0];
    let guess = (first.live_bytes as f64 * 100.0 / first.rank.self_percent) as u64;
    let ranked = (guess - 100..guess + 100)
        .map(|live_bytes| {
            let totals = HeapSummary {
                live_bytes,
                ..HeapSummary::default()
            };
            let (order, rows) = (sites.order, &rows[..]);
            let (is_incremental, is_after_gc) = (false, false);
            let table = SiteTable {
                order,
                is_incremental,
                is_after_gc,
                totals,
                rows,
            };
            RankedSiteTable::new(&table, 0.01)
        })
        .find(|ranked| {
            let percent = |value: f64| format!("{value:.2}");
            ranked.rows().len() == rows.len()
                && ranked
                    .rows()
                    .iter()
                    .zip(&sites.table.rows)
                    .all(|(ours, theirs)| {
                        percent(ours.self_percent) == percent(theirs.rank.self_percent)
                            && percent(ours.accum_percent) == percent(theirs.rank.accum_percent)
                    })
        })
        .expect("a total that fits all shares");
    writer.site_table(&ranked, sites.table.ctime).unwrap();
}

fn write_trace(writer: &mut TextWriter<Vec<u8>>, trace: &TextTrace<'_>) {
    let frames: Vec<Frame<'_>> = trace
        .frames
        .iter()
        .map(|frame| Frame {
            class_name: &frame.name.class_name,
            class_id: ObjectId::NULL,
            method: &frame.name.method,
            signature: "",
            source_file: frame.source_file.as_deref(),
            line: frame.line,
        })
        .collect();
    assert_eq!(trace.bad_lines, 0);
    writer
        .trace(&Trace {
            serial: trace.serial,
            thread: trace.thread,
            frames: &frames,
        })
        .unwrap();
}

fn status(text: &str) -> ThreadStatus {
    let (flags, state) = text.rsplit_once('|').unwrap_or(("", text));
    let has = |flag| flags.split('|').any(|found| found == flag);
    ThreadStatus {
        is_suspended: has("S"),
        is_interrupted: has("intr"),
        is_native: has("native"),
        state: match state {
            "NS" => ThreadState::NotStarted,
            "ZO" => ThreadState::Terminated,
            "SL" => ThreadState::Sleeping,
            "MW" => ThreadState::BlockedOnMonitor,
            "CW" => ThreadState::Waiting,
            "R" => ThreadState::Runnable,
            other => panic!("{other}"),
        },
    }
}

fn write_monitors(writer: &mut TextWriter<Vec<u8>>, dump: &TextMonitorDump<'_>) {
    assert!(dump.is_complete && dump.bad_lines == 0);
    let threads: Vec<MonitorThread> = dump
        .threads
        .iter()
        .map(|thread| MonitorThread {
            serial: thread.serial,
            trace: thread.trace,
            status: status(thread.status),
        })
        .collect();
    let monitors: Vec<Monitor<'_>> = dump
        .monitors
        .iter()
        .map(|monitor| Monitor {
            signature: &monitor.signature,
            owner: monitor.owner,
            entering: &monitor.entering,
            waiting: &monitor.waiting,
        })
        .collect();
    writer
        .monitor_dump(&MonitorDump {
            threads: &threads,
            monitors: &monitors,
        })
        .unwrap();
}

fn signed(text: &str) -> Option<SignedMethod<'_>> {
    let bracket = text.find('(')?;
    let dot = text[..bracket].rfind('.')?;
    Some(SignedMethod {
        class_name: &text[..dot],
        method: &text[dot + 1..bracket],
        signature: &text[bracket..],
    })
}

fn write_item(writer: &mut TextWriter<Vec<u8>>, item: &TextItem<'_>) {
    match item {
        TextItem::ThreadStart(thread) => writer
            .thread_start(&ThreadStart {
                object: thread.object,
                serial: thread.serial,
                name: &thread.name,
                group: &thread.group,
                parent_group: "",
                trace: hprof_format::ids::TraceSerial::SYSTEM,
            })
            .unwrap(),
        TextItem::ThreadEnd(thread) => writer.thread_end(*thread).unwrap(),
        TextItem::Trace(trace) => write_trace(writer, trace),
        TextItem::Cpu(cpu) => {
            assert!(cpu.table.is_complete && cpu.table.bad_lines == 0);
            write_cpu(writer, cpu);
        }
        TextItem::OldCpu(table) => {
            let rows: Vec<OldCpuRow<'_>> = table
                .rows
                .iter()
                .map(|row| OldCpuRow {
                    count: row.count,
                    callee: signed(row.callee),
                    caller: signed(row.caller),
                    nanos: row.millis * 1_000_000,
                })
                .collect();
            writer.old_cpu_table(&rows).unwrap();
        }
        TextItem::Sites(sites) => {
            assert!(sites.table.is_complete && sites.table.bad_lines == 0);
            write_sites(writer, sites);
        }
        TextItem::MonitorDump(dump) => write_monitors(writer, dump),
        TextItem::Wait(wait) => {
            writer
                .wait(&wait.signature, wait.millis as u64, wait.thread)
                .unwrap();
        }
        TextItem::Waited(wait) => {
            writer
                .waited(&wait.signature, wait.millis as u64, wait.thread)
                .unwrap();
        }
        other => panic!("{other:?}"),
    }
}

/// Reads a file and compares what the writer makes of it.
fn check(file: &[u8]) {
    let text = mutf8::decode(file);
    let mut writer = TextWriter::new(Vec::new());
    let mut reader = TextReader::new(&text).peekable();
    if text.starts_with("JAVA PROFILE") {
        assert!(matches!(reader.next(), Some(TextItem::Created(ctime)) if ctime.len() == 24));
    }
    let mut count = 0;
    for item in reader {
        write_item(&mut writer, &item);
        count += 1;
    }
    let body = text
        .split_once("--------\n\n")
        .map_or(&text[..], |(_, body)| body);
    let written = String::from_utf8(writer.into_inner()).unwrap();
    for (number, (ours, theirs)) in written.lines().zip(body.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {number}");
    }
    assert_eq!(written, body);
    const TITLES: [&str; 8] = [
        "THREAD ",
        "TRACE ",
        "CPU SAMPLES BEGIN",
        "CPU TIME (ms) BEGIN",
        "SITES BEGIN",
        "MONITOR DUMP BEGIN",
        "WAIT",
        "count callee",
    ];
    let is_title = |line: &&str| TITLES.iter().any(|title| line.starts_with(title));
    assert_eq!(count, body.lines().filter(is_title).count());
}

#[test]
fn cpu_samples() {
    check(&common::data("cpu-samples.txt"));
    check(&common::data("cpu-samples-thread.txt"));
}

#[test]
fn cpu_times() {
    check(&common::data("cpu-times-thread.txt"));
    if let Some(file) = common::shared("cpu-times.txt") {
        check(&file);
    }
}

#[test]
fn cpu_old() {
    let file = common::data("cpu-old-excerpt.txt");
    let text = mutf8::decode(&file);
    let items: Vec<TextItem<'_>> = TextReader::new(&text).collect();
    let [TextItem::OldCpu(table)] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!(table.rows.len(), text.lines().count() - 1);
    assert_eq!(table.rows[0].callee, "Counts.fib(I)I");
    assert!(
        table
            .rows
            .iter()
            .any(|row| row.caller == "<unknown caller>")
    );
    if let Some(file) = common::shared("cpu-old.txt") {
        check(&file);
    }
}

#[test]
fn heap_sites() {
    check(&common::data("heap-sites-thread.txt"));
    if let Some(file) = common::shared("heap-sites.txt") {
        check(&file);
    }
}

#[test]
fn monitors() {
    check(&common::data("monitor.txt"));
}

#[test]
fn a_waited_on_monitor_shows_its_threads() {
    let text = "MONITOR DUMP BEGIN\n    THREAD 200007, trace 300121, status: intr|native|R\n    \
                MONITOR Ljava/lang/Object;\n\towner: thread 200007, entry count: 2\n\twaiting to \
                enter: thread 200008, thread 200009\n\twaiting to be notified:\n    MONITOR LA; \
                unowned\n\twaiting to enter:\n\twaiting to be notified: thread 200001\n\
                MONITOR DUMP END\n";
    check(text.as_bytes());
}

#[test]
fn a_monitor_table_is_read() {
    let text = "MONITOR TIME BEGIN (total = 1 ms) Fri Nov 20 10:07:30 2026\n\
                rank   self  accum   count trace monitor\n   \
                1 75.60% 75.60%     994 300122 java.lang.Object (Java)\n   \
                2 24.40% 100.00%     256 300121 java.util.concurrent.Semaphore (juc)\n\
                MONITOR TIME END\n";
    let items: Vec<TextItem<'_>> = TextReader::new(text).collect();
    let [TextItem::MonitorTime(table)] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!((table.total_millis, table.table.rows.len()), (1, 2));
    let row = &table.table.rows[1];
    assert_eq!(
        (row.count, row.trace.get(), row.rank.self_percent),
        (256, 300_121, 24.4)
    );
    assert_eq!(row.class_name, "java.util.concurrent.Semaphore");
    assert_eq!(row.lock, LockKind::Synchronizer);
    assert_eq!(table.table.rows[0].lock, LockKind::Monitor);
}

#[test]
fn a_table_of_native_locks_is_written_and_read() {
    let row = MonitorRow {
        nanos: 1_500_000_000,
        count: 20,
        trace: TraceSerial::new(300_012),
        class_name: "pthread_rwlock_rdlock",
        lock: LockKind::Native,
    };
    let table = MonitorTable {
        total_nanos: row.nanos,
        rows: &[row],
    };
    let mut writer = TextWriter::new(Vec::new());
    let ranked = RankedMonitorTable::new(&table, 0.0).of_native_locks();
    writer
        .monitor_table(&ranked, "Fri Nov 20 10:07:30 2026")
        .expect("a table");
    let text = String::from_utf8(writer.into_inner()).expect("UTF-8");
    let items: Vec<TextItem<'_>> = TextReader::new(&text).collect();
    let [TextItem::MonitorTime(table)] = &items[..] else {
        panic!("{items:?}")
    };
    assert!(table.is_native && table.table.is_complete, "{text}");
    assert_eq!(table.total_millis, 1500);
    let row = &table.table.rows[0];
    assert_eq!((row.count, row.lock), (20, LockKind::Native));
    assert_eq!(row.class_name, "pthread_rwlock_rdlock");
}

#[test]
fn names_survive_writing_and_reading() {
    let mut writer = TextWriter::new(Vec::new());
    let name = "a \"b\"\\c\n\", group=\"x\")";
    let thread = ThreadStart {
        object: ObjectId::new(1),
        serial: hprof_format::ids::ThreadSerial::new(200_001),
        name,
        group: "g(\")",
        parent_group: "",
        trace: hprof_format::ids::TraceSerial::SYSTEM,
    };
    writer.thread_start(&thread).unwrap();
    let frame = Frame {
        class_name: "k.Test\u{2028}",
        class_id: ObjectId::NULL,
        method: "should work (really): \\ twice",
        signature: "()V",
        source_file: Some("a:b.kt"),
        line: Line::Native,
    };
    let serial = hprof_format::ids::TraceSerial::new(300_001);
    writer
        .trace(&Trace {
            serial,
            thread: None,
            frames: &[frame],
        })
        .unwrap();
    writer.comment("a remark").unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    let items: Vec<TextItem<'_>> = TextReader::new(&text).collect();
    let [
        TextItem::ThreadStart(read),
        TextItem::Trace(trace),
        TextItem::Comment("a remark"),
    ] = &items[..]
    else {
        panic!("{items:?}")
    };
    assert_eq!((&*read.name, &*read.group), (name, "g(\")"));
    let read = &trace.frames[0];
    assert_eq!(
        (&*read.name.class_name, &*read.name.method),
        (frame.class_name, frame.method)
    );
    // Text does not tell native methods, as the JDK's agent did not.
    assert_eq!(
        (read.source_file.as_deref(), read.line),
        (frame.source_file, Line::Unknown)
    );
}

#[test]
fn a_table_cut_off_ends_at_the_next_section() {
    let text = "CPU SAMPLES BEGIN (total = 3) Fri Nov 20 10:07:30 2026\nrank ...\n   \
                1 75.60% 75.60%     994 300122 a.B.c\nnonsense\nTHREAD END (id = 200001)\n";
    let items: Vec<TextItem<'_>> = TextReader::new(text).collect();
    let [TextItem::Cpu(cpu), TextItem::ThreadEnd(_)] = &items[..] else {
        panic!("{items:?}")
    };
    assert!(!cpu.table.is_complete);
    assert_eq!((cpu.table.rows.len(), cpu.table.bad_lines), (1, 1));
}

mod any_text {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn upsets_nobody(pieces in prop::collection::vec((0usize..14, "[ -~\t]{0,20}"), 0..30)) {
            const STARTS: [&str; 14] = [
                "TRACE 300001:", "\t", "THREAD START (obj=", "CPU SAMPLES BEGIN (total = 1) x",
                "   1 75.60% 75.60%     994 300122 ", "CPU SAMPLES END", "MONITOR DUMP BEGIN",
                "    MONITOR ", "\towner: thread ", "HEAP DUMP BEGIN (1 objects, 2 bytes) ",
                "SITES BEGIN (ordered by ", "WAIT: MONITOR ", "count callee caller time", "",
            ];
            let text: String =
                pieces.iter().map(|(start, rest)| format!("{}{rest}\n", STARTS[*start])).collect();
            prop_assert!(TextReader::new(&text).count() <= pieces.len());
        }
    }
}
