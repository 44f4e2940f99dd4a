//! `hprof-rs serve` while many programs push profiles: how many it takes in a second, and what they occupy.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, median, millis};
use super::listener::front_end;
use super::site::{Client, Site, memory};

/// Programs that push.
const SERVICES: u64 = 200;
/// Connections at once.
const SENDERS: u64 = 8;
/// Different stacks of a profile, their depth, and the names of methods of a program.
const STACKS: u64 = 250;
const DEPTH: u64 = 25;
const METHODS: u64 = 600;
/// Samples of a profile of ten seconds: four threads at 10 ms, half of the time busy.
const SAMPLES: u64 = 2000;
/// Seconds over which the times of profiles are spread.
const HOUR: u64 = 3600;
/// Hours of a week, and profiles of ten seconds that each program sends of an hour of it: their stacks are those of all.
const WEEK: u64 = 7 * 24;
const OF_AN_HOUR: u64 = 6;
/// Programs of questions.
const ASKED: u64 = 50;
const MOST_MEMORY: Wanted = Wanted::AtMost(500.0);
/// Questions of which the median counts.
const QUESTIONS: usize = 7;

/// A message in the encoding of Protocol Buffers.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn numbers(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut packed = Self::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.bytes(field, &packed.0);
    }
}

/// A program: its resource and the tables of its profiles.
struct Program {
    resource: Vec<u8>,
    dictionary: Vec<u8>,
}

/// Numbers that look random and are the same each time (xorshift).
struct Mixed(u64);

impl Mixed {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

impl Program {
    fn new(number: u64) -> Self {
        let mut resource = Message::default();
        for (key, value) in [
            ("service.name", format!("service-{number:03}")),
            ("host.name", format!("host-{}", number % 20)),
            ("k8s.pod.name", format!("pod-{number}-a")),
        ] {
            let (mut text, mut attribute) = (Message::default(), Message::default());
            text.bytes(1, value.as_bytes());
            attribute.bytes(1, key.as_bytes());
            attribute.bytes(2, &text.0);
            resource.bytes(1, &attribute.0);
        }
        let mut dictionary = Message::default();
        let mut mixed = Mixed(number * 7919 + 1);
        for text in ["", "samples", "count"] {
            dictionary.bytes(5, text.as_bytes());
        }
        for method in 0..METHODS {
            // Half of the code is that of libraries which all programs have.
            let owner = if method % 2 == 0 { 0 } else { number };
            let name = format!("com.acme.part{owner}.Class{}.method{method}", method / 8);
            dictionary.bytes(5, name.as_bytes());
            let (mut function, mut line, mut location) =
                (Message::default(), Message::default(), Message::default());
            function.number(1, method + 3);
            line.number(1, method);
            line.number(2, 10 + method);
            dictionary.bytes(3, &function.0);
            location.bytes(3, &line.0);
            dictionary.bytes(2, &location.0);
        }
        // Stacks share their outer frames.
        let mut stack: Vec<u64> = (0..DEPTH).collect();
        for _ in 0..STACKS {
            let kept = mixed.next(DEPTH) as usize;
            for frame in &mut stack[kept..] {
                *frame = mixed.next(METHODS);
            }
            let mut message = Message::default();
            message.numbers(1, stack.iter().rev().copied());
            dictionary.bytes(7, &message.0);
        }
        Self {
            resource: resource.0,
            dictionary: dictionary.0,
        }
    }

    /// A request with a profile of ten seconds.
    fn request(&self, from: u64, number: u64) -> Vec<u8> {
        let mut mixed = Mixed(number + 1);
        let mut profile = Message::default();
        let mut kind = Message::default();
        kind.number(1, 1);
        kind.number(2, 2);
        profile.bytes(1, &kind.0);
        // Few stacks have most of the samples.
        let mut left = SAMPLES;
        for at in 0..STACKS {
            let value = if at + 1 == STACKS {
                left
            } else {
                left.min(1 + mixed.next(15))
            };
            left -= value;
            let mut sample = Message::default();
            sample.number(1, at);
            sample.numbers(4, [value]);
            profile.bytes(2, &sample.0);
        }
        profile.varint(3 << 3 | 1);
        profile.0.extend((from * 1_000_000_000).to_le_bytes());
        profile.number(4, 10_000_000_000);
        let (mut scope, mut resource, mut request) =
            (Message::default(), Message::default(), Message::default());
        scope.bytes(2, &profile.0);
        resource.bytes(1, &self.resource);
        resource.bytes(2, &scope.0);
        request.bytes(1, &resource.0);
        request.bytes(2, &self.dictionary);
        request.0
    }
}

/// The value of a figure in the text of `/metrics`.
fn figure(client: &Client, name: &str) -> Result<f64> {
    let (_, body, _) = client.time("/metrics")?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let prefix = format!("hprof_rs_pushed_{name} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&prefix));
    Ok(value.context(prefix.clone())?.parse()?)
}

/// Pushes profiles over all connections, until `next` gives no program and start of a profile for a number. Gives the
/// number of profiles and their bytes.
fn push(
    site: &Site,
    programs: &[Program],
    next: impl Fn(u64) -> Option<(usize, u64)> + Sync,
) -> Result<(u64, u64)> {
    let (number, sent, bytes) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let send = || -> Result<()> {
            let client = site.client();
            loop {
                let number = number.fetch_add(1, Ordering::Relaxed);
                let Some((program, from)) = next(number) else {
                    return Ok(());
                };
                let body = programs[program].request(from, number);
                client.push("/v1development/profiles", &body)?;
                sent.fetch_add(1, Ordering::Relaxed);
                bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
            }
        };
        let senders: Vec<_> = (0..SENDERS).map(|_| scope.spawn(send)).collect();
        let mut ended = senders.into_iter().map(|sender| sender.join());
        ended.try_for_each(|it| it.unwrap_or_else(|_| Err(anyhow::anyhow!("a panic"))))
    })?;
    let received = figure(&site.client(), "profiles_total")?;
    let sent = sent.into_inner();
    ensure!(
        received == sent as f64,
        "{received} of {sent} profiles are there"
    );
    Ok((sent, bytes.into_inner()))
}

/// The memory of a server, in megabytes.
fn megabytes(site: &Site) -> f64 {
    memory(site.pid()).0 as f64 / 1e6
}

/// The median time of a question about the first 50 programs, in milliseconds.
fn asked(client: &Client, question: &str, from: u64, to: u64) -> Result<f64> {
    let path = format!(
        "/api/v1/continuous/{question}?kind=samples&selector=service%3D~%22service-0%5B0-4%5D.%22&from={}&to={}",
        from * 1000,
        to * 1000
    );
    let mut times = Vec::new();
    for _ in 0..QUESTIONS {
        let (status, body, time) = client.time(&path)?;
        ensure!(status == 200, "{}", String::from_utf8_lossy(&body));
        times.push(millis(time));
    }
    Ok(median(times))
}

/// Profiles of 200 programs, pushed as fast as the server takes them; then questions, about an hour and about a week.
pub fn pushed(arguments: &Arguments, figures: &mut Figures) -> Result<()> {
    let cache = java_test_harness::cache_folder();
    fs::create_dir_all(&cache).with_context(|| cache.display().to_string())?;
    let programs: Vec<Program> = (0..SERVICES).map(Program::new).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let mut add = |case: &str, measure: &'static str, value: f64, unit: &'static str, wanted| {
        figures.add(Figure {
            benchmark: "pushed",
            case: case.to_owned(),
            measure,
            plain: None,
            profiled: value,
            unit,
            result: value,
            wanted,
        });
    };

    let case = format!("{SERVICES} services");
    let place = tempfile::tempdir_in(&cache)?;
    let site = Site::start(&front_end()?, place.path(), &["--no-jvms"])?;
    let length = Duration::from_secs(arguments.seconds.into());
    let began = Instant::now();
    let (number, bytes) = push(&site, &programs, |number| {
        // All profiles of a program are side by side in the hour.
        let from = now - HOUR + (number / SERVICES * 10) % HOUR;
        (began.elapsed() < length).then_some(((number % SERVICES) as usize, from))
    })?;
    let seconds = began.elapsed().as_secs_f64();
    let (number, bytes) = (number as f64, bytes as f64);
    let client = site.client();
    add(
        &case,
        "taken",
        bytes / seconds / 1e6,
        "MB/s",
        Wanted::AtLeast(20.0),
    );
    // Profiles of another size would be more or fewer: the bytes have a limit.
    add(&case, "taken profiles", number / seconds, "/s", Wanted::Any);
    add(&case, "memory", megabytes(&site), "MB", MOST_MEMORY);
    let rows = figure(&client, "segment_rows")?;
    let share = rows / (rows + figure(&client, "memory_rows")?);
    let samples = number * SAMPLES as f64 * share;
    let occupied = figure(&client, "segment_bytes")?;
    if rows > 0.0 {
        add(
            &case,
            "bytes a sample",
            occupied / samples,
            "B",
            Wanted::AtMost(0.6),
        );
    }
    add(
        &case,
        "an hour of 50 services",
        asked(&client, "flame", now - HOUR, now)?,
        "ms",
        Wanted::AtMost(500.0),
    );
    drop((client, site, place));

    let case = format!("a week of {ASKED} services");
    let place = tempfile::tempdir_in(&cache)?;
    let site = Site::start(&front_end()?, place.path(), &["--no-jvms"])?;
    // By time, as they come in a real week.
    push(&site, &programs, |number| {
        let at = number / ASKED;
        let from = now - WEEK * HOUR + at * HOUR / OF_AN_HOUR;
        (at < WEEK * OF_AN_HOUR).then_some(((number % ASKED) as usize, from))
    })?;
    let client = site.client();
    // The edges of the window cut hours.
    let (from, to) = (now - WEEK * HOUR, now);
    for (measure, question) in [("flame graph", "flame"), ("values over time", "values")] {
        let time = asked(&client, question, from, to)?;
        add(&case, measure, time, "ms", Wanted::AtMost(3000.0));
    }
    add(&case, "memory", megabytes(&site), "MB", MOST_MEMORY);
    Ok(())
}
