//! The account over time, for a page or JSON.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use hprof_process_memory::course::{Bounds, Course, Verdict};
use hprof_process_memory::series::{Point, Series};
use hprof_process_memory::{Bytes, Cause, Kind, cgroup};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::{Effort, Snapshot, look, watch};
use crate::attach::Target;
use crate::render::out::tell;

/// Looks of a recording whose rhythm is not given, at most about.
const LOOKS: u32 = 120;
/// The pauses between them: a look asks the JVM several questions.
const LEAST_PAUSE: Duration = Duration::from_secs(1);
const MOST_PAUSE: Duration = Duration::from_secs(60);

/// How long to record.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// From the first look to the last.
    pub time: Duration,
    /// The time between two looks; by default a part of the whole.
    pub every: Option<Duration>,
}

impl Plan {
    /// The time between two looks.
    pub fn pause(&self) -> Duration {
        let pause = (self.time / LOOKS).clamp(LEAST_PAUSE, MOST_PAUSE);
        self.every.unwrap_or(pause).min(self.time)
    }
}

/// The reason for the end of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Its time was over.
    Time,
    /// The process ended.
    Process,
    /// A signal ended it.
    Interrupted,
}

/// The name of a kind for the page.
#[derive(Debug, Serialize)]
struct Title {
    kind: Kind,
    title: &'static str,
}

/// A recording.
#[derive(Debug, Serialize)]
pub struct Recording {
    version: &'static str,
    /// The process.
    pub pid: u32,
    /// Its program.
    pub name: String,
    jdk: Option<String>,
    /// The conclusion in a sentence.
    pub sentence: String,
    /// Why it ended.
    pub ended: End,
    /// The time that it was to take, in seconds.
    planned_seconds: f64,
    /// The time between two looks, in seconds.
    every_seconds: f64,
    /// Rates, and the conclusion.
    pub course: Course,
    /// The looks.
    pub series: Series,
    /// The names of rows.
    titles: Vec<Title>,
    /// The first look.
    pub first: Snapshot,
    /// The last one.
    pub last: Snapshot,
    /// Sentences on what could not be seen.
    pub notes: Vec<String>,
}

/// Looks until the time is over, the process ends or a signal comes. With a rhythm that was asked for, each look is a line on
/// standard error.
///
/// # Errors
/// If the first look fails.
pub fn run(target: &Target, effort: &Effort, plan: Plan) -> anyhow::Result<Recording> {
    let pid = target.pid();
    let says = plan.every.is_some();
    let signals = signals()?;
    let began = pid.began().ok();
    let words = std::fs::read_to_string(pid.path("cgroup")).unwrap_or_default();
    let start = Instant::now();
    let mut first = look(target, effort)?;
    let mut series = Series::default();
    series.push(point(0.0, &first));
    if says {
        tell!("{}", watch::line(&first));
    }
    let zero = first.taken;
    let mut last: Option<Snapshot> = None;
    let mut due = start;
    let ended = loop {
        // Looks that take longer than the pause leave out some of the plan.
        while due <= Instant::now() {
            due += plan.pause();
        }
        if due > start + plan.time {
            break End::Time;
        }
        let wait = due.saturating_duration_since(Instant::now());
        match signals.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            // The thread of signals has no other way to end.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break End::Interrupted,
        }
        // A later process may have the number of one that has ended.
        let is_there = pid.began().ok() == began;
        let Some(mut snapshot) = is_there.then(|| look(target, effort).ok()).flatten() else {
            break End::Process;
        };
        // Of a process that is ending the kernel still shows files, which are empty.
        if snapshot.table.resident == Bytes::ZERO {
            break End::Process;
        }
        let seconds = snapshot.taken.duration_since(zero).as_secs_f64();
        series.push(point(seconds, &snapshot));
        if says {
            snapshot.compare(&first);
            tell!("{}", watch::line(&snapshot));
        }
        last = Some(snapshot);
    };
    let mut notes = std::mem::take(&mut first.notes);
    let mut last = match last {
        Some(last) => last,
        None => first.clone(),
    };
    for note in std::mem::take(&mut last.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.extend(ending(ended, &series, &words, effort, &last));
    let bounds = bounds(&last);
    let course = Course::of(&series, &first.table, &last.table, bounds);
    if matches!(course.verdict, Verdict::Grows { .. }) {
        // Nothing stands out in the rows at the end, but their growth does.
        last.causes
            .retain(|named| !matches!(named.cause, Cause::Healthy { .. }));
    }
    Ok(Recording {
        version: env!("CARGO_PKG_VERSION"),
        pid: pid.0,
        name: last.name.clone(),
        jdk: last.jdk.clone(),
        sentence: course.verdict.to_string(),
        ended,
        planned_seconds: plan.time.as_secs_f64(),
        every_seconds: plan.pause().as_secs_f64(),
        course,
        series,
        titles: Kind::ALL
            .map(|kind| Title {
                kind,
                title: kind.title(),
            })
            .into(),
        first,
        last,
        notes,
    })
}

/// Receives something once a signal asks for the end.
fn signals() -> anyhow::Result<mpsc::Receiver<()>> {
    let (sender, receiver) = mpsc::channel();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot catch signals")?;
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || {
        // The recording may have ended.
        signals.forever().all(|_| sender.send(()).is_ok());
    })?;
    Ok(receiver)
}

fn point(seconds: f64, snapshot: &Snapshot) -> Point {
    let threads = snapshot.status.threads;
    Point::of(seconds, &snapshot.table, threads, snapshot.group.as_ref())
}

fn bounds(last: &Snapshot) -> Bounds {
    Bounds {
        limit: last.group.as_ref().and_then(|group| group.limit),
        left: last.left(),
        heap: last.limits.max_heap,
        metaspace: last.limits.max_metaspace,
        code_cache: last.limits.code_cache,
        direct: last.limits.max_direct,
    }
}

/// Sentences on an end before the time.
fn ending(
    ended: End,
    series: &Series,
    words: &str,
    effort: &Effort,
    last: &Snapshot,
) -> Vec<String> {
    let after = hprof_process_memory::course_sentence::Seconds(series.seconds());
    match ended {
        End::Time => Vec::new(),
        End::Interrupted => vec![format!("the recording was interrupted after {after}")],
        End::Process => {
            let before = last.group.as_ref().map_or(0, |group| group.events.kills);
            let now = cgroup::read(words, &effort.cgroups).map_or(0, |group| group.events.kills);
            vec![match now > before {
                true => format!(
                    "the process ended after {after}, and the kernel killed {} of its cgroup meanwhile for lack of memory: \
                     `journalctl -k | hprof-rs memory --post-mortem -`",
                    match now - before {
                        1 => "a process".to_owned(),
                        many => format!("{many} processes"),
                    }
                ),
                false => format!("the process ended after {after}"),
            }]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_spread_over_the_time() {
        let pause = |time: u64, every: Option<u64>| {
            let plan = Plan {
                time: Duration::from_secs(time),
                every: every.map(Duration::from_secs),
            };
            plan.pause().as_secs()
        };
        assert_eq!(pause(600, None), 5);
        assert_eq!(pause(20, None), 1);
        assert_eq!(pause(86_400, None), 60);
        assert_eq!(pause(600, Some(2)), 2);
        assert_eq!(pause(5, Some(20)), 5);
    }
}
