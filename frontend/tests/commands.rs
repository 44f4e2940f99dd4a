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

/// What a test asks of a profile, in either format.
struct Facts {
    /// Samples of the CPU tables, by the method among `left` and `right` that is on the stack, or
    /// `other`; and the longest stack.
    samples: Vec<(BTreeMap<&'static str, u64>, usize)>,
    /// Allocated objects of the site tables by class, and the number of rows.
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
        for row in &table.rows {
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
        for row in rows {
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

    /// Counts anew for a while, and has a table written.
    fn sample(&mut self) {
        self.done("clear samples");
        std::thread::sleep(Duration::from_millis(250));
        self.done("dump samples");
    }

    /// The same for allocations.
    fn allocate(&mut self, line: &str) {
        self.done("clear sites");
        std::thread::sleep(Duration::from_millis(250));
        self.done(line);
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

#[test]
fn every_command_has_its_effect_in_the_data() {
    each_jdk(|jdk| {
        for format in ["a", "b"] {
            let options = "cpu=samples,interval=2,heap=sites,exitcmd=y,cutoff=0";
            let mut session = Session::start(jdk, &format!("{options},format={format}"));
            session.done("gc");
            // The VM says why it collects.
            session.jvm.wait_until("a collection", |jvm| {
                jvm.stdout().contains("JvmtiEnv ForceGarbageCollection")
            });
            session.sample();
            let left = session.left_thread();
            session.done(&format!("sampling off {left}"));
            session.sample();
            session.done(&format!("sampling on {left}"));
            session.sample();
            session.done("sampling off");
            session.sample();
            session.done("sampling on");
            session.done("depth 1");
            session.sample();
            session.done("dump samples cutoff=0.99");
            session.done("dump traces");

            session.allocate("dump sites gc");
            session.allocate("dump sites allocated changed");
            session.done("dump sites cutoff=0.99");
            session.done("alloc off");
            session.allocate("dump sites");
            session.done("alloc on");
            session.allocate("dump sites");

            session.done("summary");
            session.done("dump heap");
            assert_eq!(session.answer("exit vm")["done"], true);
            let Session {
                scene,
                mut listener,
                jvm,
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
            check(&facts);
        }
    });
}

fn check(facts: &Facts) {
    let side = |table: usize, side: usize| {
        let samples = &facts.samples[table].0;
        samples.get(SIDES[side]).copied().unwrap_or(0)
    };
    assert_eq!(facts.samples.len(), 7, "six asked for, one at the end");
    assert!(side(0, 0) > 0 && side(0, 1) > 0, "all threads");
    assert_eq!(side(1, 0), 0, "its sampling is off");
    assert!(side(1, 1) > 0, "that of the other is not");
    assert!(side(2, 0) > 0, "on again");
    assert_eq!(side(3, 0) + side(3, 1), 0, "off for all");
    assert!(facts.samples[2].1 > 1 && facts.samples[4].1 == 1, "depth");
    assert!(side(4, 0) + side(4, 1) > 0 || facts.samples[4].1 == 1, "on");
    assert!(facts.samples[5].0.is_empty(), "no row has 99 %");

    assert_eq!(facts.sites.len(), 6, "five asked for, one at the end");
    let lefts = |table: usize| facts.sites[table].0.get("Steps$Left").copied().unwrap_or(0);
    assert!(lefts(0) > 0 && lefts(1) > 0, "recorded");
    assert_eq!(facts.sites[2].1, 0, "no row has 99 %");
    assert_eq!(lefts(3), 0, "off");
    assert!(lefts(4) > 0, "on again");
    assert_eq!(facts.dumps.len(), 1);
    assert!(
        facts.dumps[0] >= 1 && facts.dumps[0] < 200,
        "{:?}",
        facts.dumps
    );
    assert_eq!(facts.summaries, 1);
}
