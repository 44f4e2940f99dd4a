//! Each command of `listen` with a real agent, and what it does to the data that come.
//!
//! The data are read by the parsers of the test harness, which share no code with the product.

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use java_test_harness::{BinaryProfile, Run, Running, TextProfile, each_jdk};
use serde_json::Value;
use support::listener::Listener;
use support::{Scene, run, stdout};

/// The facts of a profile that tests check, in either format.
struct Facts {
    /// Samples of the CPU tables, by the method among `left` and `right` that is on the stack, or
    /// `other`; and the longest stack.
    samples: Vec<(BTreeMap<&'static str, u64>, usize)>,
    /// Allocated objects of the site tables whose stack is known, by class; and the number of rows.
    /// Without allocation traces objects are counted without a stack.
    sites: Vec<(BTreeMap<String, u64>, usize)>,
    /// Live objects of class `Steps$Left` in each heap dump.
    dumps: Vec<usize>,
    /// Bodies of HEAP SUMMARY, or the comment that stands for it.
    summaries: usize,
}

const SIDES: [&str; 2] = ["Steps.left", "Steps.right"];

fn side(methods: &[&str]) -> &'static str {
    let mut sides = SIDES.into_iter();
    sides.find(|side| methods.contains(side)).unwrap_or("other")
}

fn add(samples: &mut (BTreeMap<&'static str, u64>, usize), methods: &[&str], count: u64) {
    *samples.0.entry(side(methods)).or_default() += count;
    samples.1 = samples.1.max(methods.len());
}

fn text_facts(bytes: &[u8]) -> Facts {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let profile = TextProfile::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let samples = profile.tables.iter().map(|table| {
        let mut found = (BTreeMap::new(), 0);
        for row in &table.rows {
            let frames = profile.traces[&row.trace].frames.iter();
            let methods: Vec<&str> = frames.filter_map(|it| it.split('(').next()).collect();
            add(&mut found, &methods, row.count);
        }
        found
    });
    let sites = profile.site_tables.iter().map(|table| {
        let mut found = BTreeMap::new();
        let rows = table.rows.iter();
        for row in rows.filter(|row| !profile.traces[&row.trace].frames.is_empty()) {
            *found.entry(row.class.clone()).or_default() += row.allocated_objects;
        }
        (found, table.rows.len())
    });
    let lefts = profile.heaps.iter().map(|heap| {
        let objects = heap.entries.values();
        objects
            .filter(|object| object.class == "Steps$Left")
            .count()
    });
    let is_summary = |line: &&String| line.contains("heap summary: live_bytes=");
    Facts {
        samples: samples.collect(),
        sites: sites.collect(),
        dumps: lefts.collect(),
        summaries: profile.comments.iter().filter(is_summary).count(),
    }
}

fn binary_facts(bytes: &[u8]) -> Facts {
    let profile = BinaryProfile::parse(bytes).unwrap_or_else(|error| panic!("{error}"));
    let samples = profile.tables.iter().map(|table| {
        let mut found = (BTreeMap::new(), 0);
        for (count, trace) in &table.rows {
            let frames = profile.traces[trace].frames.iter();
            let methods: Vec<&str> = frames
                .map(|frame| profile.frames[frame].method.as_str())
                .collect();
            add(&mut found, &methods, u64::from(*count));
        }
        found
    });
    let sites = profile.site_tables.iter().map(|rows| {
        let mut found = BTreeMap::new();
        for row in rows
            .iter()
            .filter(|row| !profile.traces[&row.trace].frames.is_empty())
        {
            *found.entry(row.class.clone()).or_default() += u64::from(row.allocated_objects);
        }
        (found, rows.len())
    });
    let lefts = profile.heaps.iter();
    let lefts = lefts.map(|heap| heap.instances("Steps$Left").len());
    let mut rest = &bytes[19 + 4 + 8..];
    let mut summaries = 0;
    while let [kind, _, _, _, _, a, b, c, d, ..] = *rest {
        rest = &rest[9 + u32::from_be_bytes([a, b, c, d]) as usize..];
        summaries += usize::from(kind == 0x07);
    }
    Facts {
        samples: samples.collect(),
        sites: sites.collect(),
        dumps: lefts.collect(),
        summaries,
    }
}

/// A listener with one agent.
struct Session {
    scene: Scene,
    listener: Listener,
    jvm: Running,
    /// Tables asked for so far.
    cpu_tables: usize,
    site_tables: usize,
}

impl Session {
    fn start(jdk: &'static java_test_harness::Jdk, options: &str) -> Self {
        let scene = Scene::new();
        let mut listener = Listener::start(&scene, None);
        let library = stdout(&run(&mut scene.hprof_rs(&["agent-path"]), ""));
        let argument = format!(
            "-agentpath:{}={options},net={}",
            library.trim(),
            listener.address
        );
        let jvm = Run::new(jdk).jvm_args(["-Xlog:gc".to_owned(), argument]);
        let jvm = jvm.class("Steps").start();
        jvm.wait_for_line("ready");
        listener.event("identified", |event| event["main"] == "Steps");
        Self {
            scene,
            listener,
            jvm,
            cpu_tables: 0,
            site_tables: 0,
        }
    }

    fn answer(&mut self, line: &str) -> Value {
        self.listener.type_line(line);
        let words: Vec<&str> = line.split(' ').collect();
        self.listener.event("answered", |event| {
            let command = event["command"].as_str().expect("a command");
            words.starts_with(&command.split(' ').collect::<Vec<_>>())
        })
    }

    fn done(&mut self, line: &str) -> Value {
        let answer = self.answer(line);
        assert_eq!(answer["done"], true, "{line}: {answer}");
        answer
    }

    /// Counts again until there are as many samples, and returns the number of their table.
    fn sample(&mut self, least: u64) -> usize {
        self.done("clear samples");
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let answer = self.done("dump samples");
            self.cpu_tables += 1;
            if answer["table"]["total"].as_u64().expect("a total") >= least {
                return self.cpu_tables - 1;
            }
        }
    }

    /// Counts again until there are allocations of both classes, and returns the number of their
    /// table.
    fn allocate(&mut self, line: &str) -> usize {
        self.done("clear sites");
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let answer = self.done(line).to_string();
            self.site_tables += 1;
            if answer.contains("Steps.left") && answer.contains("Steps.right") {
                return self.site_tables - 1;
            }
        }
    }

    /// Has a table written, and returns its number.
    fn sites(&mut self, line: &str) -> usize {
        self.done(line);
        self.site_tables += 1;
        self.site_tables - 1
    }

    /// The object id of the thread `left`, from the stream as far as it has come.
    fn left_thread(&self) -> String {
        let [name] = &self.listener.files()[..] else {
            panic!("one file")
        };
        let bytes = std::fs::read(self.listener.folder.join(name)).expect("the file");
        if bytes.starts_with(b"JAVA PROFILE 1.0.1, ") {
            let text = String::from_utf8(bytes).expect("UTF-8");
            let line = text.lines().find(|line| line.contains("name=\"left\""));
            let (_, rest) = line.expect("its start").split_once("obj=").expect("an id");
            return format!("0x{}", rest.split(',').next().expect("an id"));
        }
        // A string `left`, and the START THREAD whose name that is.
        let (mut rest, mut name, mut object) = (&bytes[31..], 0, 0);
        let id = |body: &[u8]| u64::from_be_bytes(body[..8].try_into().expect("an id"));
        while let [kind, _, _, _, _, a, b, c, d, ..] = *rest {
            let (record, after) = rest.split_at(9 + u32::from_be_bytes([a, b, c, d]) as usize);
            rest = after;
            let body = &record[9..];
            match kind {
                0x01 if &body[8..] == b"left" => name = id(body),
                0x0a if name != 0 && id(&body[16..]) == name => object = id(&body[4..]),
                _ => {}
            }
        }
        assert_ne!(object, 0, "the thread is in the stream");
        format!("0x{object:x}")
    }
}

/// The numbers of tables, by what was the case when they were made.
struct Asked {
    all: usize,
    without_left: usize,
    with_left: usize,
    none: usize,
    shallow: usize,
    no_rows: usize,
    allocations: [usize; 2],
    no_sites: usize,
    not_recorded: usize,
    recorded: usize,
}

fn ask(session: &mut Session) -> Asked {
    const SOME: u64 = 60;
    // A busy machine may let one of two threads wait for a tenth of a second, which is as long as it takes to have SOME.
    const OF_BOTH: u64 = 400;
    session.done("gc");
    // The VM says why it collects.
    session.jvm.wait_until("a collection", |jvm| {
        jvm.stdout().contains("JvmtiEnv ForceGarbageCollection")
    });
    let all = session.sample(OF_BOTH);
    session.done("dump samples cutoff=0.99");
    session.cpu_tables += 1;
    let no_rows = session.cpu_tables - 1;
    let left = session.left_thread();
    session.done(&format!("sampling off {left}"));
    let without_left = session.sample(SOME);
    session.done(&format!("sampling on {left}"));
    let with_left = session.sample(OF_BOTH);
    session.done("sampling off");
    let none = session.sample(0);
    session.done("sampling on");
    session.done("depth 1");
    let shallow = session.sample(SOME);
    session.done("dump traces");

    session.done("depth 4");
    let allocations = [
        session.allocate("dump sites gc"),
        session.allocate("dump sites allocated changed"),
    ];
    let no_sites = session.sites("dump sites cutoff=0.99");
    session.done("alloc off");
    session.done("clear sites");
    std::thread::sleep(Duration::from_millis(100));
    let not_recorded = session.sites("dump sites");
    session.done("alloc on");
    let recorded = session.allocate("dump sites");

    let summary = session.done("summary");
    if summary["table"].is_object() {
        assert!(
            summary["table"]["live_bytes"].as_u64() > Some(0),
            "{summary}"
        );
    }
    let heap = session.done("dump heap");
    assert!(heap["bytes"].as_u64() > Some(100_000), "{heap}");
    session.done("exit vm");
    Asked {
        all,
        without_left,
        with_left,
        none,
        shallow,
        no_rows,
        allocations,
        no_sites,
        not_recorded,
        recorded,
    }
}

#[test]
fn every_command_has_its_effect_in_the_data() {
    each_jdk(|jdk| {
        for format in ["a", "b"] {
            let options = "cpu=samples,interval=2,heap=sites,exitcmd=y,cutoff=0";
            let mut session = Session::start(jdk, &format!("{options},format={format}"));
            let asked = ask(&mut session);
            let Session {
                scene,
                mut listener,
                jvm,
                cpu_tables,
                site_tables,
            } = session;
            let outcome = jvm.finish().expect_status(0);
            assert!(outcome.stderr.contains("received exit event"));
            let event = listener.ended(1);
            assert_eq!(event["complete"], true, "{event}");
            let file: PathBuf = scene.path("").join(event["file"].as_str().expect("a file"));
            let bytes = std::fs::read(file).expect("the saved stream");
            let facts = match format {
                "a" => text_facts(&bytes),
                _ => binary_facts(&bytes),
            };
            // One more of each at the end.
            assert_eq!(facts.samples.len(), cpu_tables + 1);
            assert_eq!(facts.sites.len(), site_tables + 1);
            check(&facts, &asked);
        }
    });
}

fn check(facts: &Facts, asked: &Asked) {
    let side = |table: usize, side: usize| {
        let samples = &facts.samples[table].0;
        samples.get(SIDES[side]).copied().unwrap_or(0)
    };
    assert!(side(asked.all, 0) > 0 && side(asked.all, 1) > 0);
    assert!(facts.samples[asked.no_rows].0.is_empty(), "none has 99 %");
    assert_eq!(side(asked.without_left, 0), 0);
    assert!(side(asked.without_left, 1) > 0);
    assert!(side(asked.with_left, 0) > 0);
    assert_eq!(side(asked.none, 0) + side(asked.none, 1), 0);
    assert!(facts.samples[asked.with_left].1 > 1);
    assert_eq!(facts.samples[asked.shallow].1, 1, "the longest stack");

    let lefts = |table: usize| facts.sites[table].0.get("Steps$Left").copied().unwrap_or(0);
    assert!(asked.allocations.iter().all(|&table| lefts(table) > 0));
    assert_eq!(facts.sites[asked.no_sites].1, 0, "none has 99 %");
    assert_eq!(lefts(asked.not_recorded), 0);
    assert!(lefts(asked.recorded) > 0);
    assert_eq!(facts.dumps.len(), 1);
    // At most a hundred are kept; one more is on the stack.
    assert!((1..=101).contains(&facts.dumps[0]), "{:?}", facts.dumps);
    assert_eq!(facts.summaries, 1);
}
