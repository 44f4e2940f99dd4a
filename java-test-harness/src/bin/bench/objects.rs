//! Questions about live objects: their pauses, whether ids stay, whether memory comes back.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use hprof_wire::control::Reply;
use java_test_harness::{Jdk, Run, Running, control_socket};

use super::Arguments;
use super::figures::{Figure, Figures, Wanted, mebibytes, median};
use super::listener::memory;

/// Requests by id and by value, in turn.
const REQUESTS: u32 = 1000;
/// A collection moves objects after each run of this many requests.
const COLLECTS: u32 = 50;

/// 1,000 questions to a program with a million objects of the class.
pub fn objects(_: &Arguments, figures: &mut Figures) -> Result<()> {
    let jdk = Jdk::compiler();
    let running = Run::new(jdk)
        .agent("cpu=samples,interval=1000,doe=n")
        .jvm_args(["-Xms1g", "-Xmx1g", "-XX:+AlwaysPreTouch"])
        .class("Carts")
        .args(["1000000"])
        .start();
    running.wait_for_line("ready");
    let first = ask(&running, "object Carts$Cart limit=1000")?;
    let ids: BTreeMap<String, String> = (1..=1000)
        .filter_map(|number| {
            let value = |name: &str| first.get(&format!("object.{number}.{name}"));
            Some((value("id")?.to_owned(), value("field.number")?.to_owned()))
        })
        .collect();
    ensure!(ids.len() == 1000, "{} objects", ids.len());
    let with_referrers = pause(&first)?;
    let ids: Vec<(String, String)> = ids.into_iter().collect();
    // Caches of the VM fill.
    for known in ids.iter().take(20) {
        by_value(&running, known)?;
    }
    let before = memory(running.pid(), "VmRSS:").context("no memory")?;
    let (mut by_id, mut found, mut pauses) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..REQUESTS {
        if round % COLLECTS == 0 {
            running.jcmd(&["GC.run"]);
        }
        let known = &ids[round as usize % ids.len()];
        let began = Instant::now();
        if round % 4 > 0 {
            let reply = ask(&running, &format!("object #{} referrers=n", known.0))?;
            ensure!(
                reply.get("object.1.field.number") == Some(&known.1),
                "{reply}"
            );
            by_id.push(began.elapsed().as_secs_f64() * 1000.0);
        } else {
            pauses.push(by_value(&running, known)?);
            found.push(began.elapsed().as_secs_f64() * 1000.0);
        }
    }
    ask(&running, "object forget")?;
    running.jcmd(&["GC.run"]);
    let after = memory(running.pid(), "VmRSS:").context("no memory")?;
    fs::write(running.path("end"), "")?;
    let outcome = running.finish();
    ensure!(outcome.status == Some(0), "{}", outcome.report());
    let mut add = |measure, result: f64, unit, wanted| {
        figures.add(Figure {
            benchmark: "objects",
            case: format!("{jdk}, {REQUESTS} requests, 1,000,000 objects"),
            measure,
            plain: None,
            profiled: result,
            unit,
            result,
            wanted,
        });
    };
    add(
        "pause, 1,000 objects with referrers",
        with_referrers,
        "ms",
        Wanted::Any,
    );
    add(
        "pause, one object by a field",
        median(pauses),
        "ms",
        Wanted::Any,
    );
    add(
        "answer, one object by a field",
        median(found),
        "ms",
        Wanted::Any,
    );
    add(
        "answer, one object by id, no pause",
        median(by_id),
        "ms",
        Wanted::Any,
    );
    let more = mebibytes(after) - mebibytes(before);
    add("memory, more", more, "MiB", Wanted::AtMost(16.0));
    Ok(())
}

/// Asks for an object by the value of a field, and gives the pause in milliseconds.
fn by_value(running: &Running, (id, number): &(String, String)) -> Result<f64> {
    let reply = ask(
        running,
        &format!("object Carts$Cart referrers=n where=number={number}"),
    )?;
    ensure!(reply.get("object.1.id") == Some(id), "another id: {reply}");
    pause(&reply)
}

fn pause(reply: &Reply) -> Result<f64> {
    let text = reply.get("pause_ms").context("no pause")?;
    Ok(text.parse()?)
}

fn ask(running: &Running, request: &str) -> Result<Reply> {
    let mut stream = UnixStream::connect(control_socket(running.pid()))?;
    writeln!(stream, "{request}")?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    let reply = Reply::parse(&reply).with_context(|| format!("no reply to {request}"))?;
    ensure!(reply.error.is_none(), "{request}: {reply}");
    Ok(reply)
}
