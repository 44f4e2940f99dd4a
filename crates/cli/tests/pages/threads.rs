//! The lanes of threads and the slow calls of a page.

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_stacks::events::{Chunk, Clock, Event};
use hprof_stacks::slow::{Histogram, Slow, SlowCall, SlowMethod, SlowPattern, Threshold};
use java_test_harness::{Jdk, Run, each_jdk};
use serde_json::Value;

use super::support::browser::{Browser, keys};
use super::support::{Scene, run, stderr};
use super::{assert_clean, hash, show, width};

/// 2025-11-29 14:03:10 UTC.
const START: i64 = 1_764_424_990;
const NANOS: i64 = 1_000_000_000;
/// A name that would be an element if it were no text.
const HOSTILE: &str = "render-<img src=x onerror=alert(1)>";

/// Ten seconds on the wall clock: [`HOSTILE`] runs for five seconds and then wants a lock, eleven others sleep. A call of five
/// seconds is the time in which it wants the lock.
fn profile() -> String {
    let mut chunk = Chunk::begin(Clock::Wall, 10_000_000, START * NANOS);
    let thread = |number: u32| ThreadSerial::new(ThreadSerial::BASE + 1 + number);
    for at in 1..=100 {
        for number in 0..12 {
            let trace = match number {
                0 if at <= 50 => 1,
                0 => 2,
                _ => 3,
            };
            chunk.push(Event {
                at: START * NANOS + at * NANOS / 10,
                trace: TraceSerial::new(TraceSerial::BASE + trace),
                thread: Some(thread(number)),
                weight: 10,
            });
        }
    }
    chunk.to = (START + 10) * NANOS;
    let threads: String = (0..12)
        .map(|number| {
            let name = match number {
                0 => HOSTILE.to_owned(),
                number => format!("sleeper-{number}"),
            };
            let (object, serial) = (50_000_001 + number, thread(number));
            format!("THREAD START (obj={object}, id = {serial}, name=\"{name}\", group=\"main\")\n")
        })
        .collect();
    let call = SlowCall {
        began: (START + 5) * NANOS,
        wall: 5 * NANOS as u64,
        cpu: 2_000_000,
        thread: HOSTILE.to_owned(),
        serial: Some(thread(0).get()),
        ..SlowCall::default()
    };
    let method = SlowMethod {
        class: "shop.<b>Api</b>".to_owned(),
        name: "handle".to_owned(),
        descriptor: "()V".to_owned(),
        asked: Threshold::Nanos(1_000_000_000),
        threshold: Some(1_000_000_000),
        slow: 1,
        times: Histogram::new([(100, 99), (Histogram::counter(call.wall), 1)]),
        wall: 5_000_009_900,
        cpu: 2_000_000,
        every: 1,
        slowest: vec![call],
        ..SlowMethod::default()
    };
    let patterns = [SlowPattern {
        pattern: "shop.Nothing.at".to_owned(),
        methods: 0,
        why: Some("no class has this name".to_owned()),
    }];
    let [first, second, third] = [1, 2, 3].map(|it| TraceSerial::BASE + it);
    format!(
        "JAVA PROFILE 1.0.1, created Sat Nov 29 14:03:10 2025\n\nHeader.\n\n--------\n\n{threads}\
         TRACE {first}:\n\tshop.Report.render(Report.java:7)\n\t.[running](<Unknown Source>:Unknown line)\n\
         TRACE {second}:\n\tshop.Report.wantsLock(Report.java:9)\n\t.[blocked](<Unknown Source>:Unknown line)\n\
         TRACE {third}:\n\tjava.lang.Thread.sleep(Thread.java:1)\n\tshop.Sleep.sleep(Sleep.java:3)\n\t.[sleeping](<Unknown Source>:Unknown line)\n\
         CPU SAMPLES BEGIN (total = 12000) Sat Nov 29 14:04:10 2025\n\
         rank   self  accum   count trace method\n\
         \u{20}  1 91.67% 91.67%   11000 {third} java.lang.Thread.sleep\n\
         \u{20}  2  4.17% 95.83%     500 {first} shop.Report.render\n\
         \u{20}  3  4.17% 100.0%     500 {second} shop.Report.wantsLock\n\
         CPU SAMPLES END\n# {}\n# {}\n# {}\n# hprof-rs run: interval_us=10000 clock=wall\n",
        Slow::patterns_text(&patterns),
        method.text(),
        chunk.text(0)
    )
}

fn ready(browser: &Browser) {
    browser
        .wait_for("globalThis.hprofTimes > 0 && !document.getElementById('thread-lanes').hidden");
}

fn said(browser: &Browser) -> String {
    browser.text("document.getElementById('thread-said').textContent")
}

/// The place of a second of the ten on the bar of a lane.
fn spot(browser: &Browser, second: f64, lane: f64) -> (f64, f64) {
    let place =
        browser.value("document.getElementById('threads').getBoundingClientRect().toJSON()");
    let number = |key: &str| place[key].as_f64().expect("a number");
    let x = number("x") + number("width") * second / 10.0;
    (x, number("y") + lane * 34.0 + 22.0)
}

fn opened() -> Option<(Scene, std::path::PathBuf, Browser)> {
    let (scene, page, browser) = show("java.hprof.txt", &profile(), &[])?;
    browser.metrics(1280, 800, false);
    browser.go(&page, "?utc#zone=utc");
    ready(&browser);
    browser.value("document.getElementById('thread-lanes').scrollIntoView()");
    Some((scene, page, browser))
}

#[test]
fn a_lane_of_each_thread_says_what_it_did() {
    let Some((_scene, _, browser)) = opened() else {
        return;
    };
    let title = browser.text("document.getElementById('thread-title').textContent");
    assert_eq!(title, "Threads over time: 12 threads, busiest first");
    let legend = browser.text("document.getElementById('thread-legend').innerText");
    for state in [
        "running",
        "waiting for a lock",
        "sleeping",
        "empty: no sample",
    ] {
        assert!(legend.contains(state), "{legend}");
    }
    let lane = browser.value(&format!("hprofThread({HOSTILE:?})"));
    let lane: Vec<_> = (lane.as_array().expect("stretches").iter())
        .map(|it| {
            (
                it["state"].as_str().unwrap_or(""),
                it["to"].as_i64(),
                it["method"].as_str(),
            )
        })
        .collect();
    let expected = [
        ("running", Some(5_000_000), Some("shop.Report.render")),
        (
            "waiting for a lock",
            Some(10_000_000),
            Some("shop.Report.wantsLock"),
        ),
    ];
    assert_eq!(lane, expected);
    // Pointing at it says the same.
    let (x, y) = spot(&browser, 7.0, 0.0);
    browser.point(x, y, false);
    let tip = browser.text("document.getElementById('tip').textContent");
    let lock =
        "waiting for a lock from 14:03:15.000 to 14:03:20.000 (5 s); in shop.Report.wantsLock";
    assert!(tip.contains(HOSTILE) && tip.contains(lock), "{tip}");
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0);
    // A click chooses it, and its time is one click away.
    browser.point(x, y, true);
    assert!(said(&browser).contains(lock), "{}", said(&browser));
    browser.click("#thread-said button");
    browser.wait_for("location.hash.includes('time=1764424995-1764425000')");
    // The sample at its first moment is of the time before: one of 600.
    assert!(width(&browser, "shop.Report.render") < 3.0);
    assert!(width(&browser, "shop.Report.wantsLock") > 50.0);
    browser.click("#clear-time");
    // Drags choose a time as over the other pictures.
    let [from, to] = [1.0, 3.0].map(|second| spot(&browser, second, 0.0));
    browser.drag(from, to, None);
    browser.wait_for("location.hash.includes('time=1764424991-1764424993')");
    browser.press(&[keys::ESCAPE]);
    browser.wait_for("!location.hash.includes('time')");
    assert_clean(&browser);
}

#[test]
fn keys_go_from_thread_to_thread_and_all_lanes_are_one_click_away() {
    let Some((_scene, _, browser)) = opened() else {
        return;
    };
    let high = || browser.value("document.getElementById('threads').clientHeight");
    assert_eq!(high(), 8 * 34);
    assert_eq!(
        browser.text("document.getElementById('more-threads').textContent"),
        "Show all 12 lanes"
    );
    browser.click("#more-threads");
    assert_eq!(high(), 12 * 34);
    browser.value("document.getElementById('threads').focus()");
    browser.press(&[keys::RIGHT]);
    assert!(
        said(&browser).contains("running from 14:03:10"),
        "{}",
        said(&browser)
    );
    browser.press(&[keys::RIGHT]);
    assert!(
        said(&browser).contains("waiting for a lock"),
        "{}",
        said(&browser)
    );
    browser.press(&[keys::DOWN]);
    assert!(said(&browser).contains("sleeping"), "{}", said(&browser));
    browser.press(&[keys::UP]);
    assert!(said(&browser).contains(HOSTILE), "{}", said(&browser));
    browser.press(&[keys::HOME]);
    browser.press(&[keys::ENTER]);
    browser.wait_for("location.hash.includes('time=1764424990-1764424995')");
    assert!(hash(&browser).contains("zone=utc"));
    browser.click("#more-threads");
    assert_eq!(high(), 8 * 34);
    assert_clean(&browser);
}

#[test]
fn slow_calls_have_a_table_and_strips() {
    let Some((_scene, _, browser)) = opened() else {
        return;
    };
    let row = browser.text("document.querySelector('#slow-table tbody tr').innerText");
    for part in [
        "100",
        "100 ns",
        "5.000 s",
        "1 \u{2265} 1.000 s",
        "14:03:15.000",
        HOSTILE,
        "shop.<b>Api</b>.handle",
    ] {
        assert!(row.contains(part), "{part}: {row}");
    }
    let notes = browser.text("document.getElementById('slow-notes').textContent");
    assert!(
        notes.contains("shop.Nothing.at has timed no call: no class has this name"),
        "{notes}"
    );
    let strip = browser.text("document.querySelector('canvas.strip').getAttribute('aria-label')");
    assert!(
        strip.starts_with("waiting for a lock 5.000 s (shop.Report.wantsLock)"),
        "{strip}"
    );
    browser.value("document.querySelector('canvas.strip').scrollIntoView()");
    let place =
        browser.value("document.querySelector('canvas.strip').getBoundingClientRect().toJSON()");
    let number = |key: &str| place[key].as_f64().expect("a number");
    browser.point(number("x") + 50.0, number("y") + 5.0, false);
    let tip = browser.text("document.getElementById('tip').textContent");
    assert_eq!(
        tip,
        "waiting for a lock5.000 s, from 0 ns after the call began"
    );
    browser.click(".call button");
    browser.wait_for("location.hash.includes('time=1764424995-1764425000')");
    browser.click("#slow-calls summary");
    browser.click("#slow-calls summary");
    assert_eq!(browser.value("document.querySelectorAll('b b').length"), 0);
    assert_clean(&browser);
}

#[test]
fn threads_are_shown_in_any_light_and_on_a_phone() {
    let Some((_scene, page, browser)) = opened() else {
        return;
    };
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        for (name, wide, high, is_phone) in
            [("laptop", 1280, 800, false), ("phone", 390, 844, true)]
        {
            browser.metrics(wide, high, is_phone);
            browser.go(
                &page,
                &format!("?{name}-{scheme}#zone=utc&time=1764424992-1764424998"),
            );
            ready(&browser);
            let is_wider = "document.documentElement.scrollWidth > innerWidth";
            assert_eq!(browser.value(is_wider), false, "{name} {scheme}");
            browser.value("document.getElementById('thread-lanes').scrollIntoView()");
            browser.screenshot(&format!("threads-{name}-{scheme}.png"));
            browser.value("document.getElementById('slow').scrollIntoView()");
            browser.screenshot(&format!("slow-{name}-{scheme}.png"));
            assert_clean(&browser);
        }
    }
}

/// The milliseconds of a state in a lane, and what is said of its longest stretch.
fn longest(browser: &Browser, thread: &str, state: &str) -> Value {
    let lane = browser.value(&format!("hprofThread({thread:?})"));
    let all = lane
        .as_array()
        .unwrap_or_else(|| panic!("no lane of {thread}"))
        .iter();
    let mine = all.filter(|it| it["state"] == state);
    let length =
        |it: &&Value| it["to"].as_f64().unwrap_or(0.0) - it["from"].as_f64().unwrap_or(0.0);
    let longest = mine.max_by(|a, b| length(a).total_cmp(&length(b)));
    let longest = longest.unwrap_or_else(|| panic!("{thread} is never {state}: {lane}"));
    // A thread that wants to run shares its CPU with others.
    let least = if state == "running" { 0.0 } else { 200_000.0 };
    assert!(length(&longest) >= least, "{longest}");
    longest.clone()
}

#[test]
fn a_recording_of_the_jdk_has_locks_and_their_owners() {
    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    each_jdk(|jdk| {
        if jdk.feature() < 17 {
            return;
        }
        let outcome = Run::new(jdk).class("ThreadStates").args(["r.jfr"]).run();
        let bytes = outcome.expect_status(0).bytes("r.jfr");
        let scene = Scene::new();
        std::fs::write(scene.path("r.jfr"), bytes).unwrap();
        let output = run(
            &mut scene.hprof_rs(&["convert", "r.jfr", "-o", "page.html"]),
            "",
        );
        assert!(output.status.success(), "{}", stderr(&output));
        browser.go(&scene.path("page.html"), "");
        ready(&browser);
        let lock = longest(&browser, "wants", "waiting for a lock");
        assert_eq!(lock["owner"], "owner");
        assert_eq!(lock["of"], "ThreadStates$Lock");
        assert_eq!(lock["method"], "ThreadStates.want");
        let sleep = longest(&browser, "sleeps", "sleeping");
        assert_eq!(sleep["method"], "ThreadStates.sleep");
        let park = longest(&browser, "parks", "waiting or parked");
        assert_eq!(park["of"], "ThreadStates$Lock");
        let read = longest(&browser, "reads", "input or output");
        assert_eq!(read["method"], "ThreadStates.read");
        // The collection is a stop of all threads.
        let stops = browser.value(
            "JSON.parse(document.getElementById('data').textContent).times.safepoints.length",
        );
        assert!(stops.as_u64() >= Some(1), "{stops}");
        assert_clean(&browser);
    });
}

#[test]
fn the_agents_own_page_has_lanes_of_threads() {
    let Some(browser) = Browser::open(1280, 800) else {
        return;
    };
    let outcome = Run::new(Jdk::compiler())
        .agent("cpu=wall,interval=5,timeline=y,thread=y,depth=32,file=wall.html")
        .class("States")
        .args(["2"])
        .run()
        .expect_status(0);
    browser.go(&outcome.path("wall.html"), "");
    ready(&browser);
    for (thread, state) in [
        ("spinner", "running"),
        ("blocked", "waiting for a lock"),
        ("sleeper", "sleeping"),
        ("reader", "input or output"),
        ("parker", "waiting or parked"),
    ] {
        longest(&browser, thread, state);
    }
    assert_clean(&browser);
}
