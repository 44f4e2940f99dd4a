//! The part of a page that shows when costs arose: lanes, the heat map, windows and what is said of them.

use std::path::PathBuf;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_stacks::events::{Chunk, Clock, Event};
use java_test_harness::{Jdk, Run};

use super::support::browser::{Browser, keys};
use super::{assert_clean, hash, names, show, width};

/// 2025-11-29 14:03:10 UTC.
const START: i64 = 1_764_424_990;
const NANOS: i64 = 1_000_000_000;

/// A minute: `shop.Poll.tick` works from 0.2 to 0.6 of each second, and from 20 to 35 seconds four workers render, each 85 %
/// of the time.
fn profile() -> String {
    let mut chunk = Chunk::begin(Clock::Cpu, 10_000_000, START * NANOS);
    let mut add = |at: i64, trace: u32, thread: u32| {
        chunk.push(Event {
            at: START * NANOS + at * NANOS / 100,
            trace: TraceSerial::new(TraceSerial::BASE + trace),
            thread: Some(ThreadSerial::new(ThreadSerial::BASE + 1 + thread)),
            weight: 1,
        });
    };
    for at in 0..6000 {
        if (20..60).contains(&(at % 100)) {
            add(at, 1, 0);
        }
        for worker in 1..=4 {
            if (2000..3500).contains(&at) && (at + 7 * i64::from(worker)) % 100 < 85 {
                add(at, 2 + u32::from(at % 5 == 0), worker);
            }
        }
    }
    chunk.to = (START + 60) * NANOS;
    let thread = |serial: u32, name: &str| {
        format!(
            "THREAD START (obj=5000000{serial}, id = 20000{serial}, name=\"{name}\", group=\"main\")\n"
        )
    };
    let base = TraceSerial::BASE;
    let [first, second, third] = [1, 2, 3].map(|it| base + it);
    let threads: String = (ThreadSerial::BASE + 1..)
        .zip([
            "main",
            "render-<b>1</b>",
            "render-2",
            "render-3",
            "render-4",
        ])
        .map(|(serial, name)| thread(serial - 200_000, name))
        .collect();
    format!(
        "JAVA PROFILE 1.0.1, created Sat Nov 29 14:03:10 2025\n\nHeader.\n\n--------\n\n{threads}\
         TRACE {first}:\n\tshop.Poll.tick(Poll.java:5)\n\tshop.Main.main(Main.java:1)\n\
         TRACE {second}:\n\tshop.Report.render(Report.java:7)\n\tjava.lang.Thread.run(Thread.java:1)\n\
         TRACE {third}:\n\tjava.util.HashMap.get(HashMap.java:9)\n\tshop.Report.render(Report.java:8)\n\
         \tjava.lang.Thread.run(Thread.java:1)\n\
         CPU SAMPLES BEGIN (total = 7500) Sat Nov 29 14:04:10 2025\n\
         rank   self  accum   count trace method\n\
         \u{20}  1 54.40% 54.40%    4080 {second} shop.Report.render\n\
         \u{20}  2 32.00% 86.40%    2400 {first} shop.Poll.tick\n\
         \u{20}  3 13.60% 100.0%    1020 {third} java.util.HashMap.get\n\
         CPU SAMPLES END\n# {}\n",
        chunk.text(0)
    )
}

fn ready(browser: &Browser) {
    browser.wait_for("globalThis.hprofTimes > 0");
}

/// What is said of the window.
fn said(browser: &Browser) -> String {
    browser.text("document.getElementById('window').textContent")
}

/// The place of a second of the minute on a picture, and the height of a part of it.
fn spot(browser: &Browser, picture: &str, second: f64, part: f64) -> (f64, f64) {
    let place = format!("document.getElementById('{picture}').getBoundingClientRect().toJSON()");
    let place = browser.value(&place);
    let number = |key: &str| place[key].as_f64().expect("a number");
    let x = number("x") + number("width") * second / 60.0;
    (x, number("y") + number("height") * part)
}

fn drag(browser: &Browser, seconds: (f64, f64), held: Option<&str>) {
    let [from, to] = [seconds.0, seconds.1].map(|it| spot(browser, "lanes", it, 0.5));
    browser.drag(from, to, held);
}

fn minute(arguments: &[&str]) -> Option<(super::Scene, PathBuf, Browser)> {
    let (scene, page, browser) = show("java.hprof.txt", &profile(), arguments)?;
    browser.metrics(1366, 900, false);
    browser.go(&page, "?utc#zone=utc");
    ready(&browser);
    Some((scene, page, browser))
}

#[test]
fn a_window_has_its_own_flame_graph_tables_and_sentence() {
    let Some((_scene, page, browser)) = minute(&[]) else {
        return;
    };
    let title = browser.text("document.getElementById('time-title').textContent");
    assert_eq!(title, "Time: 2025-11-29, 14:03:10 to 14:04:10 (60 s)");
    let found = browser.text("document.getElementById('found').textContent");
    assert_eq!(
        found,
        "Between 14:03:30 and 14:03:45 CPU use was 3.80 cores instead of 0.40: 100 % of the difference in \
         shop.Report.render. Show it"
    );
    let all = width(&browser, "shop.Report.render");
    assert!(all > 0.6 * width(&browser, "all"), "{all}");
    drag(&browser, (5.0, 10.0), None);
    let text = "14:03:15 to 14:03:20 (5 s): 0.40 cores, 100 % in shop.Poll.tick";
    assert_eq!(said(&browser), text);
    assert_eq!(width(&browser, "shop.Report.render"), 0.0);
    assert!(width(&browser, "shop.Poll.tick") > 1000.0);
    assert_eq!(names(&browser), ["shop.Poll.tick", "shop.Main.main"]);
    // The link has the window.
    let link = hash(&browser);
    assert!(link.contains("time=1764424995-1764425000"), "{link}");
    browser.go(&page, &format!("?link{link}"));
    ready(&browser);
    assert_eq!(said(&browser), text);
    assert_eq!(names(&browser), ["shop.Poll.tick", "shop.Main.main"]);
    // Keys move the window, widen it and clear it.
    browser.value("document.getElementById('lanes').focus()");
    browser.press(&[keys::RIGHT]);
    browser.wait_for("location.hash.includes('1764424996-1764425001')");
    browser.press(&[keys::SHIFT, keys::RIGHT]);
    browser.wait_for("location.hash.includes('1764424996-1764425002')");
    assert!(said(&browser).starts_with("14:03:16 to 14:03:22 (6 s)"));
    browser.press(&[keys::ESCAPE]);
    browser.wait_for("!location.hash.includes('time')");
    assert!((width(&browser, "shop.Report.render") - all).abs() < 0.5);
    browser.back();
    assert!(said(&browser).starts_with("14:03:16 to 14:03:22 (6 s)"));
    assert_clean(&browser);
}

#[test]
fn two_windows_are_compared_in_both_directions() {
    let Some((_scene, _, browser)) = minute(&[]) else {
        return;
    };
    drag(&browser, (5.0, 15.0), None);
    drag(&browser, (21.0, 26.0), Some(keys::SHIFT));
    let [first, second] = ["14:03:15 to 14:03:25 (10 s)", "14:03:31 to 14:03:36 (5 s)"];
    let cause = "100 % of the difference in shop.Report.render";
    assert_eq!(
        said(&browser),
        format!("{first}: 0.40 cores, and 3.80 cores in {second}: {cause}")
    );
    // The second window counts for as much time as the first.
    let rows = "[...document.querySelectorAll('tbody tr')].map(row => row.innerText.replace(/\\s+/g, ' ').trim()).join('|')";
    let table = browser.text(rows);
    assert!(
        table.contains("\u{2212}2,720 2,720 0 shop.Report.render"),
        "{table}"
    );
    assert!(table.contains("0 400 400 shop.Poll.tick"), "{table}");
    browser.click("#swap");
    assert_eq!(
        said(&browser),
        format!("{second}: 3.80 cores, and 0.40 cores in {first}: {cause}")
    );
    assert!(width(&browser, "shop.Report.render") > 800.0);
    browser.screenshot("time-difference.png");
    browser.click("#clear-time");
    browser.click("#found button");
    let rest = "14:03:30 to 14:03:45 (15 s): 3.80 cores, and 0.40 cores in all other time: 100 % of the difference in \
                shop.Report.render";
    assert_eq!(said(&browser), rest);
    browser.pick("#against", "");
    assert!(said(&browser).ends_with("3.80 cores, 89 % in shop.Report.render"));
    assert_clean(&browser);
}

#[test]
fn the_heat_map_leads_to_fractions_of_a_second() {
    let Some((_scene, _, browser)) = minute(&[]) else {
        return;
    };
    // The cell from 0.30 to 0.32 of the fourth second: rows go upwards.
    let (x, y) = spot(&browser, "heat", 3.5, 1.0 - 0.31);
    browser.point(x, y, true);
    assert_eq!(
        said(&browser),
        "14:03:13.300 to 14:03:13.320 (0.02 s): 1.00 cores, 100 % in shop.Poll.tick"
    );
    let [from, to] = [(3.5, 0.19), (4.5, 0.11)];
    let [from, to] = [from, to].map(|(second, part)| spot(&browser, "heat", second, 1.0 - part));
    browser.drag(from, to, None);
    assert!(
        said(&browser).starts_with("14:03:13.180 to 14:03:14.120 (0.94 s)"),
        "{}",
        said(&browser)
    );
    browser.value("document.getElementById('heat').focus()");
    browser.press(&[keys::UP]);
    browser.wait_for("document.getElementById('window').textContent.startsWith('14:03:13.200')");
    browser.click("#zoom-time");
    browser.screenshot("time-zoomed.png");
    browser.click("#zoom-time");
    assert_clean(&browser);
}

#[test]
fn time_is_shown_in_any_light_and_on_a_phone() {
    let Some((_scene, page, browser)) = minute(&["--title", "A minute"]) else {
        return;
    };
    for scheme in ["light", "dark"] {
        browser.scheme(scheme);
        browser.metrics(1366, 900, false);
        browser.go(&page, &format!("?laptop-{scheme}#zone=utc"));
        ready(&browser);
        browser.screenshot(&format!("time-laptop-{scheme}.png"));
        assert_clean(&browser);
        browser.metrics(390, 844, true);
        let window = "time=1764425010-1764425025&against=rest";
        browser.go(&page, &format!("?{scheme}#zone=utc&{window}"));
        ready(&browser);
        assert_eq!(browser.value("document.getElementById('time').open"), true);
        assert_eq!(browser.value("document.documentElement.scrollWidth"), 390);
        assert!(said(&browser).contains("3.80 cores"), "{}", said(&browser));
        browser.screenshot(&format!("time-phone-{scheme}.png"));
        assert_clean(&browser);
    }
}

#[test]
fn the_agents_own_page_has_times() {
    let Some(browser) = Browser::open(1366, 900) else {
        return;
    };
    let phases = ["idle=200", "alpha=600", "idle=200", "beta=600"];
    let outcome = Run::new(Jdk::compiler())
        .agent("cpu=samples,interval=1,timeline=y,file=cpu.html")
        .class("Phases")
        .args(phases)
        .run()
        .expect_status(0);
    let page = outcome.path("cpu.html");
    let mut found = 0;
    for line in outcome.stdout.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let &[name @ ("alpha" | "beta"), from, to] = &words[..] else {
            continue;
        };
        let [from, to] = [from, to].map(|it| it.parse::<f64>().expect("a time") / 1000.0);
        browser.go(&page, &format!("?{name}#time={from}-{to}"));
        ready(&browser);
        let said = said(&browser);
        let share = said.split_once(" cores, ").and_then(|(_, rest)| {
            let (share, method) = rest.split_once(" % in ")?;
            (method == format!("Phases.{name}")).then_some(share)
        });
        let share: f64 = share
            .and_then(|it| it.parse().ok())
            .unwrap_or_else(|| panic!("{said}"));
        // A busy machine leaves some 100 samples, of which those at the two ends are main's and stand for up to 4 each.
        assert!(share >= 90.0, "{said}");
        found += 1;
    }
    assert_eq!(found, 2, "{}", outcome.stdout);
    assert_clean(&browser);
}
