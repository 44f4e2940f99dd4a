//! Front-ends that misbehave in time: too slow, or with bytes that are no commands.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use java_test_harness::{BinaryProfile, FrontEnd, Jdk, Peer, Run, Running, TextProfile, contains};

const GC: u8 = 1;
const EXIT: u8 = 5;
const CPU_SAMPLES: u8 = 7;

fn start(options: &str) -> (Running, FrontEnd) {
    let front_end = FrontEnd::new();
    let options = format!("{options},{}", front_end.option());
    let jdk = Jdk::feature_release(17);
    let running = Run::new(jdk).agent(&options).class("DumpLoop").start();
    (running, front_end)
}

/// Lets the program end.
fn release(running: &Running) {
    std::fs::write(running.path("go"), "").unwrap();
    running.wait_for_line("second");
    std::fs::write(running.path("end"), "").unwrap();
}

/// The profile of a program that nothing has disturbed, all in the stream.
fn assert_whole(running: Running, peer: Peer) -> TextProfile {
    release(&running);
    let outcome = running.finish().expect_status(0);
    assert_eq!(outcome.files(), ["end", "go"]);
    let text = String::from_utf8(peer.finish()).expect("text");
    let profile = TextProfile::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    assert!(profile.samples_with("DumpLoop.first") >= 20);
    assert!(profile.samples_with("DumpLoop.third") >= 10);
    assert_eq!(profile.counter("internal_errors"), 0);
    profile
}

#[test]
fn commands_that_come_a_byte_at_a_time_are_understood() {
    let (running, front_end) = start("cpu=samples");
    let peer = front_end.accept();
    running.wait_for_line("first");
    let frame = [GC, 0, 0, 0, 1, 0, 0, 0, 0, CPU_SAMPLES, 0, 0, 0, 2, 0, 0, 0];
    for byte in frame {
        peer.send(&[byte]);
        std::thread::sleep(Duration::from_millis(20));
    }
    peer.wait_until("the reply to GC", |bytes| {
        String::from_utf8_lossy(bytes).contains("hprof-rs reply: serial=1 done")
    });
    peer.send(&[6]);
    // A body, and a command behind it: the second is answered, so the first was complete.
    peer.send(&[0; 6]);
    assert_eq!(peer.ask(GC, 3, &[]), "done");
    let profile = assert_whole(running, peer);
    assert_eq!(profile.tables.len(), 2, "one asked for, one at the end");
}

#[test]
fn garbage_instead_of_commands_does_nothing() {
    // A command that says it has 4 GB, a request of another protocol, noise, the beginning of EXIT.
    let garbage = [
        [&[GC, 0, 0, 0, 9][..], &[0xff; 4], &[0x5a; 70_000]].concat(),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100),
        (0..100_000u32)
            .map(|i| (i.wrapping_mul(i) >> 7) as u8)
            .collect(),
        vec![EXIT, 0, 0, 0, 1, 0, 0, 0x80, 0],
    ];
    for bytes in garbage {
        let (running, front_end) = start("cpu=samples");
        let peer = front_end.accept();
        peer.send(&bytes);
        running.wait_for_line("first");
        assert_whole(running, peer);
    }
}

#[test]
fn a_front_end_that_reads_a_byte_a_second_does_not_hold_the_program() {
    let (running, front_end) = start("cpu=samples,heap=dump,format=b");
    let peer = front_end.accept_silently();
    let over = Arc::new(AtomicBool::new(false));
    let reader = std::thread::spawn({
        let mut stream = peer.stream().try_clone().expect("a descriptor");
        let over = Arc::clone(&over);
        move || {
            let mut byte = [0];
            while !over.load(Ordering::Relaxed) && stream.read(&mut byte).is_ok_and(|it| it == 1) {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    });
    running.wait_for_line("first");
    release(&running);
    let outcome = running.finish().expect_status(0);
    over.store(true, Ordering::Relaxed);
    let profile = outcome.binary_profile(&format!("java.hprof.{}", outcome.pid));
    assert_eq!(profile.heaps.len(), 1);
    assert!(profile.samples_with("DumpLoop.first") >= 20);
    reader.join().expect("it only reads");
}

/// Reads at this rate until the connection ends or the test is over.
fn read_slowly(peer: &Peer, rate: usize, over: &Arc<AtomicBool>) -> std::thread::JoinHandle<usize> {
    let mut stream = peer.stream().try_clone().expect("a descriptor");
    let over = Arc::clone(over);
    std::thread::spawn(move || {
        let mut bytes = vec![0; rate / 20];
        let mut all = 0;
        while !over.load(Ordering::Relaxed) {
            match stream.read(&mut bytes) {
                Ok(count @ 1..) => all += count,
                _ => break,
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        all
    })
}

#[test]
fn a_front_end_that_reads_slowly_does_not_hold_the_end_of_the_program() {
    // A heap of about 800 kB and one of 40 MB, for a reader that takes 23 kB a second.
    for rounds in ["1", "700"] {
        let front_end = FrontEnd::with_small_buffers();
        let options = format!("heap=dump,format=b,{}", front_end.option());
        let run = Run::new(Jdk::feature_release(17)).agent(&options);
        let running = run.class("BigHeap").args([rounds, "wait"]).start();
        let peer = front_end.accept_silently();
        let over = Arc::new(AtomicBool::new(false));
        let reader = read_slowly(&peer, 23_000, &over);
        running.wait_for_line("full");
        let told = Instant::now();
        std::fs::write(running.path("end"), "").unwrap();
        let outcome = running.finish().expect_status(0);
        let took = told.elapsed();
        over.store(true, Ordering::Relaxed);
        let read = reader.join().expect("it only reads");
        // Bytes that fit the kernel's buffers are sent at once, so only a part is waited for.
        assert!(
            took < Duration::from_secs(90),
            "{took:?}, {read} bytes read"
        );
        let profile = outcome.binary_profile(&format!("java.hprof.{}", outcome.pid));
        assert_eq!(profile.heaps.len(), 1, "the whole dump is in the file");
    }
}

#[test]
fn a_flood_of_commands_keeps_neither_the_program_nor_its_end() {
    const DUMP_HEAP: u8 = 2;
    let (running, front_end) = start("cpu=samples,format=b");
    let peer = front_end.accept();
    let sender = peer.stream().try_clone().expect("a descriptor");
    let flood = std::thread::spawn(move || {
        let commands = (0..100_000u32).flat_map(|serial| {
            let mut frame = vec![DUMP_HEAP];
            frame.extend(serial.to_be_bytes());
            frame.extend([0; 4]);
            frame
        });
        let bytes: Vec<u8> = commands.collect();
        // The program may end before it has read all.
        let _ = (&sender).write_all(&bytes);
    });
    running.wait_for_line("first");
    peer.wait_until("an answer to many", |bytes| {
        contains(bytes, b"serial=1000 done")
    });
    release(&running);
    running.wait_for_line("second");
    let told = Instant::now();
    let outcome = running.finish().expect_status(0);
    let took = told.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    assert_eq!(outcome.files(), ["end", "go"]);
    flood.join().expect("it only writes");
    let bytes = peer.finish();
    let profile = BinaryProfile::parse(&bytes).expect("a whole profile");
    assert!(profile.heaps.len() < 100, "{} dumps", profile.heaps.len());
    assert!(profile.samples_with("DumpLoop.first") >= 20);
}
