//! The text writer against files of the JDK's agent.

use hprof_format::ids::{ObjectId, ThreadSerial, TraceSerial};
use hprof_format::model::{
    CpuKind, CpuRow, CpuTable, Frame, Header, Line, MethodName, Settings, ThreadStart, Trace,
};
use hprof_format::rank::RankedCpuTable;
use hprof_format::text::{NO_STACK, PRELUDE, TextItem, TextReader, TextUncounted, TextWriter};
use hprof_format::writer::ProfileWriter;

const PROXY: &str = "Spin$$Lambda$1.0x00007f29d8000a08";

fn frame<'a>(class_name: &'a str, method: &'a str, source: &'a str, line: u32) -> Frame<'a> {
    Frame {
        class_name,
        class_id: ObjectId::NULL,
        method,
        signature: "()V",
        source_file: (!source.is_empty()).then_some(source),
        line: if line == 0 {
            Line::Unknown
        } else {
            Line::Number(line)
        },
    }
}

fn header(created_ctime: &str) -> Header<'_> {
    Header {
        created_millis: 0,
        created_ctime,
        settings: Settings::default(),
    }
}

fn start(writer: &mut dyn ProfileWriter, object: u64, serial: u32, name: &str, group: &str) {
    let thread = ThreadStart {
        object: ObjectId::new(object),
        serial: ThreadSerial::new(serial),
        name,
        group,
        parent_group: "system",
        trace: TraceSerial::SYSTEM,
    };
    writer.thread_start(&thread).unwrap();
}

fn end(writer: &mut dyn ProfileWriter, serial: u32) {
    writer.thread_end(ThreadSerial::new(serial)).unwrap();
}

fn trace(writer: &mut dyn ProfileWriter, serial: u32, thread: Option<u32>, frames: &[Frame<'_>]) {
    let thread = thread.map(ThreadSerial::new);
    writer
        .trace(&Trace {
            serial: TraceSerial::new(serial),
            thread,
            frames,
        })
        .unwrap();
}

fn rows(rows: &[(u64, u32)]) -> Vec<CpuRow> {
    let row = |&(cost, trace)| CpuRow {
        cost,
        count: cost,
        trace: TraceSerial::new(trace),
    };
    rows.iter().map(row).collect()
}

/// A golden file with our prelude in the place of theirs.
fn golden(text: &str) -> String {
    text.replacen(
        "(prelude left out)\n--------",
        &format!("\n{PRELUDE}\n--------"),
        1,
    )
}

#[test]
fn cpu_samples_equals_the_original() {
    let mut writer = TextWriter::new(Vec::new());
    let w: &mut dyn ProfileWriter = &mut writer;
    w.begin(&header("Fri Nov 20 10:34:08 2026")).unwrap();
    start(w, 0x5000_01c4, 200_004, "Notification Thread", "system");
    start(w, 0x5000_01c4, 200_001, "main", "main");
    start(
        w,
        0x5000_01dd,
        200_005,
        "Common-Cleaner",
        "InnocuousThreadGroup",
    );
    start(w, 0x5000_01c4, 200_006, "spinner", "main");
    end(w, 200_006);
    end(w, 200_001);
    start(w, 0x5000_01c4, 200_007, "DestroyJavaVM", "main");
    end(w, 200_007);
    end(w, 200_002);
    let below = [
        frame("Spin", "lambda$main$0", "Spin.java", 7),
        frame(PROXY, "run", "", 0),
        frame("java.lang.Thread", "run", "Thread.java", 840),
    ];
    let hot = frame("Spin", "hot", "Spin.java", 4);
    let warm = frame("Spin", "warm", "Spin.java", 5);
    let nano_time = frame("java.lang.System", "nanoTime", "System.java", 0);
    trace(w, 300_112, None, &[&[hot], &below[..]].concat());
    trace(w, 300_113, None, &[&[warm], &below[..]].concat());
    trace(w, 300_111, None, &[&[nano_time, hot], &below[..]].concat());
    trace(w, 300_112, None, &[nano_time]);
    let rows = rows(&[(1, 300_111), (145, 300_112), (49, 300_113), (0, 300_000)]);
    let table = CpuTable {
        kind: CpuKind::Samples,
        total: 195,
        rows: &rows,
    };
    let ranked = RankedCpuTable::new(&table, 0.0001);
    assert!(ranked.traces().all(|serial| w.has_trace(serial)));
    assert!(!w.has_trace(TraceSerial::new(300_114)));
    let innermost = |serial: TraceSerial| match serial.get() {
        300_111 => Some(MethodName {
            class_name: "java.lang.System",
            method: "nanoTime",
        }),
        300_112 => Some(MethodName {
            class_name: "Spin",
            method: "hot",
        }),
        300_113 => Some(MethodName {
            class_name: "Spin",
            method: "warm",
        }),
        _ => None,
    };
    w.cpu_table(&ranked, "Fri Nov 20 10:34:10 2026", &innermost)
        .unwrap();
    let expected = golden(include_str!("data/cpu-samples.txt"));
    let written = String::from_utf8(writer.into_inner()).unwrap();
    assert_eq!(written, expected);
}

#[test]
fn traces_per_thread_name_their_thread() {
    let mut writer = TextWriter::new(Vec::new());
    let hot = frame("Spin", "hot", "Spin.java", 0);
    trace(&mut writer, 300_115, Some(200_006), &[hot]);
    let written = String::from_utf8(writer.into_inner()).unwrap();
    assert_eq!(
        written,
        "TRACE 300115: (thread=200006)\n\tSpin.hot(Spin.java:Unknown line)\n"
    );
    assert!(include_str!("data/cpu-samples-thread.txt").contains(&written));
}

#[test]
fn a_table_without_rows_has_no_column_heads() {
    let mut writer = TextWriter::new(Vec::new());
    let table = CpuTable {
        kind: CpuKind::Samples,
        total: 0,
        rows: &[],
    };
    let ranked = RankedCpuTable::new(&table, 0.0001);
    writer
        .cpu_table(&ranked, "Fri Nov 20 10:05:05 2026\n", &|_| None)
        .unwrap();
    assert_eq!(
        String::from_utf8(writer.into_inner()).unwrap(),
        "CPU SAMPLES BEGIN (total = 0) Fri Nov 20 10:05:05 2026\nCPU SAMPLES END\n"
    );
}

#[test]
fn times_are_printed_in_milliseconds_and_ranked_in_nanoseconds() {
    let mut writer = TextWriter::new(Vec::new());
    let row = |cost, count, trace| CpuRow {
        cost,
        count,
        trace: TraceSerial::new(trace),
    };
    let rows = [row(400_000, 1966, 300_202), row(915_200_000, 4066, 300_000)];
    let table = CpuTable {
        kind: CpuKind::Times,
        total: 915_600_000,
        rows: &rows,
    };
    let ranked = RankedCpuTable::new(&table, 0.0001);
    let fib = MethodName {
        class_name: "Busy2",
        method: "fib",
    };
    let innermost = |serial: TraceSerial| (serial.get() == 300_202).then_some(fib);
    writer
        .cpu_table(&ranked, "Fri Nov 20 10:08:18 2026", &innermost)
        .unwrap();
    assert_eq!(
        String::from_utf8(writer.into_inner()).unwrap(),
        "CPU TIME (ms) BEGIN (total = 916) Fri Nov 20 10:08:18 2026\n\
         rank   self  accum   count trace method\n   \
         1 99.96% 99.96%    4066 300000 <empty trace>\n   \
         2  0.04% 100.00%    1966 300202 Busy2.fib\n\
         CPU TIME (ms) END\n"
    );
}

#[test]
fn rows_of_cpu_tables_suit_readers_of_the_jdks_agent() {
    let mut writer = TextWriter::new(Vec::new());
    let row = |cost, count, trace| CpuRow {
        cost,
        count,
        trace: TraceSerial::new(trace),
    };
    let rows = [
        row(5_250_000, 0, 300_001),
        row(3_000_000, 2, 300_002),
        row(1_750_000, 1, 300_003),
    ];
    let table = CpuTable {
        kind: CpuKind::Times,
        total: 10_000_000,
        rows: &rows,
    };
    let ranked = RankedCpuTable::new(&table, 0.0);
    let label = |method| MethodName {
        class_name: "",
        method,
    };
    let no_stack = Frame {
        method: NO_STACK,
        ..frame("", "", "", 0)
    };
    trace(&mut writer, 300_003, None, &[no_stack]);
    let innermost = |serial: TraceSerial| {
        Some(label(match serial.get() {
            300_003 => NO_STACK,
            _ => "[native] operator new",
        }))
    };
    let ctime = "Fri Nov 20 10:08:18 2026";
    writer.cpu_table(&ranked, ctime, &innermost).unwrap();
    let left = TextUncounted {
        trace: TraceSerial::new(300_001),
        micros: 5250,
    };
    writer.comment(&left.remark()).unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    assert_eq!(
        text,
        "TRACE 300003:\n\t.[no_stack](<Unknown Source>:Unknown line)\n\
         CPU TIME (ms) BEGIN (total = 10) Fri Nov 20 10:08:18 2026\n\
         rank   self  accum   count trace method\n   \
         1 30.00% 30.00%       2 300002 .[native]_operator_new\n   \
         2 17.50% 47.50%       1 300003 .[no_stack]\n\
         CPU TIME (ms) END\n\
         # hprof-rs: uncounted_trace=300001 ms=5.250\n"
    );
    let items: Vec<TextItem<'_>> = TextReader::new(&text).collect();
    let [
        TextItem::Trace(empty),
        TextItem::Cpu(table),
        TextItem::Uncounted(read),
    ] = &items[..]
    else {
        panic!("{items:?}")
    };
    assert_eq!((empty.frames.len(), empty.bad_lines), (0, 0));
    assert_eq!(table.table.rows[1].method, None);
    assert_eq!(*read, left);
}

#[test]
fn hostile_names_stay_within_their_lines() {
    let mut writer = TextWriter::new(Vec::new());
    start(
        &mut writer,
        1,
        200_001,
        "a\"\nTHREAD END (id = 200001)",
        "g\tr\u{2028}",
    );
    let odd = Frame {
        class_name: "A\nTRACE 1:",
        class_id: ObjectId::NULL,
        method: "",
        signature: "",
        source_file: Some("\r"),
        line: Line::Native,
    };
    trace(&mut writer, 300_001, None, &[odd]);
    trace(&mut writer, 300_000, None, &[]);
    writer.comment("3 samples lost\nTRACE 2:").unwrap();
    assert_eq!(
        String::from_utf8(writer.into_inner()).unwrap(),
        "THREAD START (obj=1, id = 200001, \
         name=\"a\\\"\\u000aTHREAD END (id = 200001)\", group=\"g\\u0009r\\u2028\")\n\
         TRACE 300001:\n\tA\\u000aTRACE 1:.<Unknown Method>(\\u000d:Unknown line)\n\
         TRACE 300000:\n\t<empty>\n\
         # 3 samples lost\n# TRACE 2:\n"
    );
}
