//! The cost of a front-end: dumps over a connection, many agents, and peers that misbehave.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use java_test_harness::{BinaryProfile, Jdk, Run};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, mebibytes, median};
use super::heap::dump_of_the_agent;
use super::listener::Listener;

/// Dumps of 13 million objects, to a file and to a listener on this machine.
pub fn net_dumps(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    for jdk in two_jdks() {
        let (mut to_file, mut to_listener) = (Vec::new(), Vec::new());
        for _ in 0..arguments.pairs {
            to_file.push(dump_of_the_agent(jdk, "heap=dump,format=b")?.0);
            let listener = Listener::start(1)?;
            let options = format!("heap=dump,format=b,{}", listener.option());
            to_listener.push(dump_of_the_agent(jdk, &options)?.0);
            let (whole, _) = listener.finish()?;
            ensure!(whole == 1, "the stream was cut");
        }
        let (file, listener) = (median(to_file), median(to_listener));
        figures.add(Figure {
            benchmark: "netdump",
            case: format!("{jdk}, listener : file"),
            measure: "speed, ratio",
            plain: Some(file),
            profiled: listener,
            unit: "s",
            result: file / listener,
            wanted: Wanted::AtLeast(0.8),
        });
    }
    Ok(())
}

/// The JDK with the compiler, and the latest one.
fn two_jdks() -> Vec<&'static Jdk> {
    let latest = Jdk::tested().into_iter().last();
    let mut jdks = vec![Jdk::compiler()];
    jdks.extend(latest.filter(|jdk| jdk.feature() != Jdk::compiler().feature()));
    jdks
}

/// JVMs at the same time on one listener.
const AGENTS: usize = 50;

/// Many agents on one listener, each with a heap dump.
pub fn agents(_: &Arguments, figures: &mut Figures) -> Result<()> {
    let listener = Listener::start(AGENTS)?;
    let options = format!("cpu=samples,heap=dump,format=b,{}", listener.option());
    let start = |_| {
        let jdk = Jdk::compiler();
        let run = Run::new(jdk).jvm_args(["-Xmx64m", "-XX:+UseSerialGC"]);
        run.agent(&options).class("Hello").start()
    };
    let running: Vec<_> = (0..AGENTS).map(start).collect();
    for jvm in running {
        jvm.finish().expect_status(0);
    }
    let mut readable = 0;
    let folder = fs::read_dir(listener.folder())?;
    let paths: Vec<_> = folder
        .map(|entry| entry.map(|entry| entry.path()))
        .collect();
    for path in paths {
        readable += usize::from(BinaryProfile::parse(&fs::read(path?)?).is_ok());
    }
    let (whole, peak) = listener.finish()?;
    let mut add = |measure, result: f64, unit, wanted| {
        figures.add(Figure {
            benchmark: "agents",
            case: format!("{AGENTS} agents, one listener"),
            measure,
            plain: None,
            profiled: result,
            unit,
            result,
            wanted,
        });
    };
    let all = AGENTS as f64;
    add(
        "whole streams",
        whole.min(readable) as f64,
        "",
        Wanted::AtLeast(all),
    );
    add("memory", mebibytes(peak), "MiB", Wanted::AtMost(95.3));
    Ok(())
}

/// The behaviour of the front-end on its connection.
type Peer = fn(TcpStream);

/// Front-ends, the first of which does as it should.
const PEERS: [(&str, Peer); 7] = [
    ("good", good),
    ("slow reader", slow),
    ("reads nothing", silent),
    ("half-open", half_open),
    ("garbage", garbage),
    ("close", drop::<TcpStream>),
    ("one byte a second", one_byte),
];

/// CPU SAMPLES of all rows: tag, serial number, length, flags, cutoff.
const ASK: [u8; 15] = [7, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0];

/// Asks for a table ten times a second.
fn ask(mut stream: &TcpStream) {
    while stream.write_all(&ASK).is_ok() {
        thread::sleep(Duration::from_millis(100));
    }
}

fn read(mut stream: &TcpStream, size: usize, pause: Duration) {
    let mut buffer = vec![0; size];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
        thread::sleep(pause);
    }
}

fn both(stream: &TcpStream, size: usize, pause: Duration) {
    thread::scope(|scope| {
        scope.spawn(|| ask(stream));
        read(stream, size, pause);
        // The asking ends with the connection.
        let _ = stream.shutdown(Shutdown::Both);
    });
}

fn good(stream: TcpStream) {
    both(&stream, 1 << 16, Duration::ZERO);
}

fn slow(stream: TcpStream) {
    both(&stream, 1 << 10, Duration::from_millis(50));
}

fn silent(stream: TcpStream) {
    ask(&stream);
}

/// Says that it will say no more.
fn half_open(stream: TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    read(&stream, 1 << 16, Duration::ZERO);
}

fn garbage(stream: TcpStream) {
    thread::scope(|scope| {
        scope.spawn(|| {
            // An unknown command with a body, over and over.
            let frame = [&[99, 0, 0, 0, 1, 0, 0, 0, 100][..], &[0x5a; 100]].concat();
            while (&stream).write_all(&frame).is_ok() {
                thread::sleep(Duration::from_millis(10));
            }
        });
        read(&stream, 1 << 16, Duration::ZERO);
        let _ = stream.shutdown(Shutdown::Both);
    });
}

fn one_byte(stream: TcpStream) {
    both(&stream, 1, Duration::from_secs(1));
}

/// The speed of a program whose front-end misbehaves.
pub fn peers(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let jdk = Jdk::compiler();
    let mut seconds: Vec<Vec<f64>> = PEERS.iter().map(|_| Vec::new()).collect();
    for round in 0..=arguments.pairs {
        for ((_, peer), seconds) in PEERS.iter().zip(&mut seconds) {
            let took = program_with(jdk, *peer)?;
            if round > 0 {
                seconds.push(took);
            }
        }
    }
    let good = median(seconds[0].iter().copied());
    for ((name, _), seconds) in PEERS.iter().zip(seconds).skip(1) {
        let bad = median(seconds);
        figures.add(Figure {
            benchmark: "peers",
            case: format!("{jdk}, {name}"),
            measure: "speed, ratio",
            plain: Some(good),
            profiled: bad,
            unit: "s",
            result: good / bad,
            wanted: Wanted::AtLeast(0.98),
        });
    }
    Ok(())
}

/// Seconds that the program took for its work, by its own clock.
fn program_with(jdk: &'static Jdk, peer: Peer) -> Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    // An agent that reconnects is met in the same way; the thread ends with this process.
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            thread::spawn(move || peer(stream));
        }
    });
    let outcome = Run::new(jdk)
        .agent(&format!("cpu=samples,net=127.0.0.1:{port}"))
        .class("LockCost")
        .args(["none", "2", "40000000", "100", "100"])
        .run();
    ensure!(outcome.status == Some(0), "{}", outcome.report());
    Ok(outcome.printed("seconds"))
}
