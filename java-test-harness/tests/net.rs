//! `net=`: the stream, the commands, and front-ends that misbehave.

use std::collections::BTreeMap;

use java_test_harness::{
    BinaryProfile, FrontEnd, Jdk, Outcome, Peer, Run, Running, TextProfile, each_jdk,
};

const GC: u8 = 1;
const DUMP_HEAP: u8 = 2;
const ALLOC_SITES: u8 = 3;
const HEAP_SUMMARY: u8 = 4;
const EXIT: u8 = 5;
const DUMP_TRACES: u8 = 6;
const CPU_SAMPLES: u8 = 7;
const CONTROL: u8 = 8;
/// All flags off, a cutoff of 0.0.
const ALL_ROWS: [u8; 6] = [0; 6];

/// A running program that ends after `release`.
struct Session {
    running: Running,
    peer: Peer,
}

impl Session {
    fn start(jdk: &'static Jdk, options: &str) -> Session {
        let front_end = FrontEnd::new();
        let options = format!("{options},{}", front_end.option());
        let running = Run::new(jdk).agent(&options).class("DumpLoop").start();
        let peer = front_end.accept();
        running.wait_for_line("first");
        Session { running, peer }
    }

    /// Lets the program end, and returns what it did and what has come.
    fn end(self) -> (Outcome, Vec<u8>) {
        let Session { running, peer } = self;
        release(&running);
        let outcome = running.finish().expect_status(0);
        (outcome, peer.finish())
    }
}

fn release(running: &Running) {
    std::fs::write(running.path("go"), "").unwrap();
    running.wait_for_line("second");
    std::fs::write(running.path("end"), "").unwrap();
}

fn text(bytes: &[u8]) -> TextProfile {
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    TextProfile::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Tags and bodies of the records.
fn records(bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut rest = &bytes[19 + 4 + 8..];
    let mut found = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_be_bytes(rest[5..9].try_into().unwrap()) as usize;
        found.push((rest[0], &rest[9..9 + length]));
        rest = &rest[9 + length..];
    }
    found
}

fn bodies(bytes: &[u8], tag: u8) -> Vec<&[u8]> {
    let records = records(bytes).into_iter();
    records
        .filter_map(|(found, body)| (found == tag).then_some(body))
        .collect()
}

fn u4(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn text_commands_have_their_effect() {
    each_jdk(|jdk| {
        let session = Session::start(jdk, "cpu=samples,interval=1");
        let peer = &session.peer;
        assert_eq!(peer.ask(GC, 1, &[]), "done");
        assert_eq!(peer.ask(CPU_SAMPLES, 2, &ALL_ROWS), "done");
        assert_eq!(peer.ask(CPU_SAMPLES, 3, &ALL_ROWS), "done");
        assert_eq!(peer.ask(DUMP_TRACES, 4, &[]), "done");
        let none = "refused no allocation";
        assert!(peer.ask(ALLOC_SITES, 5, &ALL_ROWS).starts_with(none));
        assert!(peer.ask(HEAP_SUMMARY, 6, &[]).starts_with(none));
        assert!(peer.ask(CONTROL, 7, &[0, 1]).starts_with(none));
        // Off for all: the counts stand still, whatever the program does.
        assert_eq!(peer.ask(CONTROL, 8, &[0, 4, 0, 0, 0, 0]), "done");
        assert_eq!(peer.ask(CONTROL, 9, &[0, 5]), "done");
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(peer.ask(CPU_SAMPLES, 10, &ALL_ROWS), "done");
        assert_eq!(peer.ask(CONTROL, 11, &[0, 3, 0, 0, 0, 0]), "done");
        // The depth in the numbering of the manual, and of the JDK's agent.
        assert_eq!(peer.ask(CONTROL, 12, &[0, 6, 0, 1]), "done");
        assert_eq!(peer.ask(CONTROL, 13, &[0, 7, 0, 2]), "done");
        assert_eq!(peer.ask(CONTROL, 16, &[0, 5]), "done");
        assert!(
            peer.ask(99, 14, b"body")
                .starts_with("refused unknown command")
        );
        assert!(peer.ask(EXIT, 15, &[]).starts_with("refused EXIT needs"));
        let (outcome, bytes) = session.end();
        assert_eq!(outcome.files(), ["end", "go"], "no profile in a file");
        let profile = text(&bytes);
        assert_eq!(profile.tables.len(), 4, "three asked for, one at the end");
        let [first, second, none, last] = &profile.tables[..] else {
            unreachable!()
        };
        assert!(first.total > 0 && second.total >= first.total, "not reset");
        assert_eq!(none.total, 0, "samples while off");
        assert!(last.total > 0, "none after on");
        for settings in ["cpu_sampling=off depth=4", "cpu_sampling=on depth=2"] {
            let has = |comment: &String| comment.contains(settings);
            assert!(profile.comments.iter().any(has), "{settings}");
        }
        for row in &last.rows {
            assert!(profile.traces[&row.trace].frames.len() <= 2, "depth");
        }
        assert!(outcome.stderr.contains("command refused: EXIT needs"));
    });
}

#[test]
fn binary_commands_have_their_effect() {
    each_jdk(|jdk| {
        let session = Session::start(jdk, "heap=sites,format=b,depth=3");
        let peer = &session.peer;
        assert_eq!(peer.ask(GC, 1, &[]), "done");
        assert_eq!(peer.ask(HEAP_SUMMARY, 2, &[]), "done");
        assert_eq!(peer.ask(ALLOC_SITES, 3, &ALL_ROWS), "done");
        assert_eq!(peer.ask(ALLOC_SITES, 4, &[0, 2, 0, 0, 0, 0]), "done");
        assert_eq!(peer.ask(ALLOC_SITES, 5, &[0, 5, 0, 0, 0, 0]), "done");
        assert_eq!(peer.ask(DUMP_HEAP, 6, &[]), "done");
        // Samples, though the run began without them.
        assert!(peer.ask(CPU_SAMPLES, 7, &ALL_ROWS).starts_with("refused"));
        assert_eq!(peer.ask(CONTROL, 8, &[0, 3, 0, 0, 0, 0]), "done");
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(peer.ask(CPU_SAMPLES, 9, &ALL_ROWS), "done");
        assert_eq!(peer.ask(CONTROL, 10, &[0, 2]), "done");
        assert_eq!(peer.ask(CONTROL, 11, &[0, 6]), "done");
        assert_eq!(peer.ask(CONTROL, 12, &[0, 7, 0, 9]), "done");
        assert_eq!(peer.ask(DUMP_TRACES, 13, &[]), "done");
        let (_, bytes) = session.end();
        let profile = BinaryProfile::parse(&bytes).unwrap();
        assert_eq!(profile.heaps.len(), 1);
        assert_eq!(profile.tables.len(), 3, "empty, asked for, at the end");
        assert_eq!(profile.tables[0].total, 0);
        assert!(profile.tables[1].total > 0, "no samples after CONTROL 3");

        let sites = bodies(&bytes, 6);
        assert_eq!(sites.len(), 4, "three asked for, one at the end");
        let flags: Vec<u8> = sites.iter().map(|body| body[1]).collect();
        assert_eq!(
            flags,
            [0, 2, 5, 4],
            "live, allocated, incremental after a collection"
        );
        let rows = |body: &[u8]| u4(body, 2 + 4 + 4 + 4 + 8 + 8) as usize;
        assert_eq!((sites[0].len() - 34) % 25, 0);
        assert!(rows(sites[0]) > 100 && rows(sites[2]) < rows(sites[0]) / 2);
        // By bytes ever allocated, in descending order.
        let allocated: Vec<u32> = (0..rows(sites[1]))
            .map(|row| u4(sites[1], 34 + row * 25 + 17))
            .collect();
        assert!(allocated.is_sorted_by(|a, b| a >= b));
        let [summary] = bodies(&bytes, 7)[..] else {
            panic!("one HEAP SUMMARY")
        };
        assert!(u4(summary, 0) > 100_000 && u4(summary, 4) > 1000);
        // Only objects allocated after the clearing are in the last table: next to none, since
        // allocations are off.
        assert!(rows(sites[3]) < rows(sites[0]) / 2, "{}", rows(sites[3]));
        let settings: Vec<(u32, u8)> = bodies(&bytes, 14)
            .iter()
            .map(|body| (u4(body, 0), body[5]))
            .collect();
        assert_eq!(settings, [(1, 3), (3, 3), (2, 3), (2, 3), (2, 9)]);
    });
}

#[test]
fn exit_is_obeyed_with_exitcmd_and_dumps_first() {
    each_jdk(|jdk| {
        let session = Session::start(jdk, "cpu=samples,exitcmd=y");
        session.peer.command(EXIT, 1, &[]);
        let Session { running, peer } = session;
        let outcome = running.finish().expect_status(0);
        assert!(
            outcome
                .stderr
                .contains("HPROF: received exit event, exiting ...\n")
        );
        let profile = text(&peer.finish());
        assert!(profile.samples_with("DumpLoop.first") >= 20);
    });
}

#[test]
fn a_missing_front_end_ends_the_start_and_netwait_waits_for_it() {
    let jdk = Jdk::feature_release(17);
    let front_end = FrontEnd::new();
    let option = front_end.option();
    drop(front_end);
    let outcome = Run::new(jdk)
        .agent(&format!("cpu=samples,{option}"))
        .class("Hello")
        .run();
    let outcome = outcome.expect_status(1);
    let host = option.trim_start_matches("net=");
    let start = format!("HPROF ERROR: can't connect to {host}: ");
    assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "");

    let options = format!("cpu=samples,{option},netwait=60");
    let running = Run::new(jdk).agent(&options).class("Hello").start();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let port = host.rsplit(':').next().unwrap();
    let listener = std::net::TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut bytes).unwrap();
    running.finish().expect_status(0);
    assert_eq!(text(&bytes).tables.len(), 1);
}

/// As in a JVM that a build starts after its recording has ended.
#[test]
fn a_missing_front_end_does_not_hinder_a_start_with_lost_detach() {
    each_jdk(|jdk| {
        let outcome = Run::new(jdk)
            .agent("cpu=samples,lost=detach,net=unix:/none/socket")
            .class("Hello")
            .run()
            .expect_status(0);
        assert!(
            outcome.stderr.contains("nothing is recorded"),
            "{}",
            outcome.stderr
        );
        assert_eq!(outcome.files(), [""; 0]);
    });
}

/// The profile in the file that took the front-end's place.
fn fallback(outcome: &Outcome) -> TextProfile {
    let name = format!("java.hprof.{}.txt", outcome.pid);
    assert!(
        outcome.stderr.contains(&format!("/{name}\n")),
        "its name is said"
    );
    outcome.text_profile(&name)
}

#[test]
fn a_front_end_that_closes_or_resets_costs_no_data() {
    each_jdk(|jdk| {
        for reset in [false, true] {
            let session = Session::start(jdk, "cpu=samples");
            let Session { running, peer } = session;
            if reset {
                peer.reset();
            } else {
                peer.stream().shutdown(std::net::Shutdown::Both).unwrap();
                drop(peer);
            }
            release(&running);
            let outcome = running.finish().expect_status(0);
            let profile = fallback(&outcome);
            assert!(profile.samples_with("DumpLoop.first") >= 20);
            assert_eq!(profile.thread("main").group, "main");
        }
    });
}

#[test]
fn a_front_end_that_says_no_more_still_gets_all() {
    let session = Session::start(Jdk::feature_release(17), "cpu=samples");
    let stream = session.peer.stream();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let (outcome, bytes) = session.end();
    assert!(text(&bytes).samples_with("DumpLoop.first") >= 20);
    assert_eq!(outcome.files(), ["end", "go"]);
}

#[test]
fn a_front_end_that_reads_nothing_does_not_hold_the_program() {
    let front_end = FrontEnd::new();
    let options = format!("cpu=samples,heap=dump,format=b,{}", front_end.option());
    let jdk = Jdk::feature_release(17);
    let running = Run::new(jdk).agent(&options).class("DumpLoop").start();
    let peer = front_end.accept_silently();
    running.wait_for_line("first");
    release(&running);
    // The heap does not fit into the buffers of the connection, so the last dump goes to the file.
    let outcome = running.finish().expect_status(0);
    let name = format!("java.hprof.{}", outcome.pid);
    let profile = outcome.binary_profile(&name);
    assert_eq!(profile.heaps.len(), 1);
    assert!(profile.samples_with("DumpLoop.first") >= 20);
    drop(peer);
}

#[test]
fn a_front_end_that_comes_back_gets_a_profile_of_its_own() {
    let front_end = FrontEnd::new();
    let options = format!("cpu=samples,{}", front_end.option());
    let jdk = Jdk::feature_release(17);
    let running = Run::new(jdk).agent(&options).class("DumpLoop").start();
    front_end.accept().reset();
    let peer = front_end.accept();
    running.wait_until("the reconnection", |it| {
        it.stderr().contains("is connected again")
    });
    release(&running);
    let outcome = running.finish().expect_status(0);
    let profile = text(&peer.finish());
    assert!(profile.samples_with("DumpLoop.first") >= 20);
    assert!(profile.samples_with("DumpLoop.third") >= 10);
    assert_eq!(profile.thread("main").group, "main");
    assert_eq!(
        outcome.files(),
        ["end", "go"],
        "a file without a dump stays"
    );
}

/// Numbers that look random, the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

#[test]
fn ten_thousand_mutated_frames_do_no_harm() {
    each_jdk(|jdk| {
        let session = Session::start(jdk, "cpu=samples,heap=sites,heapinterval=512k");
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut bytes = Vec::new();
        for serial in 0..10_000u32 {
            // Tags of commands, and others; heap dumps are left out, for there would be hundreds.
            let tag = match random.below(12) {
                0 | 2 | 3 => 8,
                // Not 0xff, which ends the commands.
                1 => 0x10 + random.below(0xe0) as u8,
                tag => tag as u8,
            };
            // Garbage collections and tables are rare enough for the test to end.
            let tag = match tag {
                1 | 3 | 4 | 6 | 7 if random.below(20) > 0 => 8,
                tag => tag,
            };
            let length = random.below(14) as usize;
            let mut body: Vec<u8> = (0..length).map(|_| random.below(4) as u8).collect();
            if let [0, sub, ..] = &mut body[..] {
                // Sampling must be on at the end, and the depth stay.
                *sub = [1, 2, 3, 5, 6, 9, 200][random.below(7) as usize];
            }
            if tag == 8 && length >= 4 && body[1] == 6 {
                body[0] = 7;
            }
            bytes.push(tag);
            bytes.extend(serial.to_be_bytes());
            bytes.extend((length as u32).to_be_bytes());
            bytes.extend(body);
        }
        session.peer.send(&bytes);
        // The last word is a frame that claims 4 GB, of which some come.
        assert_eq!(
            session.peer.ask(CONTROL, 123_456, &[0, 3, 0, 0, 0, 0]),
            "done"
        );
        session.peer.send(&[GC, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        session.peer.send(&vec![0x5a; 1 << 20]);
        let Session { running, peer } = session;
        std::fs::write(running.path("go"), "").unwrap();
        running.wait_for_line("second");
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let profile = text(&peer.finish());
        assert!(profile.samples_with("DumpLoop.third") >= 10);
        assert!(
            outcome
                .stderr
                .contains("further refusals are only in the stream")
        );
        assert_eq!(profile.counter("internal_errors"), 0);
    });
}

#[test]
fn a_stream_is_what_the_file_would_have_been() {
    each_jdk(|jdk| {
        let shape = |bytes: &[u8]| -> Vec<u8> {
            let tags = records(bytes).into_iter().map(|(tag, _)| tag);
            let mut tags: Vec<u8> = tags.collect();
            tags.dedup();
            tags
        };
        let run = |options: &str| Run::new(jdk).agent(options).class("Hello");
        let file = run("heap=dump,format=b").run().expect_status(0);
        let front_end = FrontEnd::new();
        let options = format!("heap=dump,format=b,{}", front_end.option());
        let running = run(&options).start();
        let stream = front_end.accept().finish();
        running.finish().expect_status(0);
        let file_bytes = file.bytes("java.hprof");
        assert_eq!(shape(&stream).first(), shape(&file_bytes).first());
        let heap = |bytes: &[u8]| BinaryProfile::parse(bytes).unwrap().heap().counts();
        let (sent, written) = (heap(&stream), heap(&file_bytes));
        for class in ["java.lang.Class", "java.lang.ThreadGroup"] {
            assert_eq!(sent.get(class), written.get(class), "{class}");
        }
        // The VM's service thread drops the last reference to the ended main thread when it gets to it
        // (`ServiceThread::add_oop_handle_release`): the dump has that thread or not.
        let threads = |heap: &BTreeMap<String, (u64, u64)>| heap["java.lang.Thread"].0;
        let (sent, written) = (threads(&sent), threads(&written));
        assert!(sent.abs_diff(written) <= 1, "{sent} and {written} threads");
        let (sent, written) = (
            BinaryProfile::parse(&stream),
            BinaryProfile::parse(&file_bytes),
        );
        let (sent, written) = (sent.unwrap(), written.unwrap());
        assert_eq!(sent.control, written.control);
        let names = |profile: &BinaryProfile| profile.threads.values().cloned().collect::<Vec<_>>();
        assert_eq!(names(&sent)[0], names(&written)[0]);
    });
}
