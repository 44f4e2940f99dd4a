//! The head of a page: which program was profiled, how, and for how long.

use std::collections::BTreeMap;
use std::time::Duration;

use hprof_format::model::CpuKind;
use serde::Serialize;

use super::numbers;
use crate::events::Clock;
use crate::{RunFacts, Stacks, Tables, Trace, depth};

/// The head of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct About {
    /// Program, mode and duration; the title of the window too.
    pub title: String,
    /// More of that, a few words each.
    pub facts: Vec<String>,
    /// The command line.
    pub command: Option<String>,
    /// Reasons why the pictures are less exact than they look.
    pub warnings: Vec<String>,
    /// The profiler's remarks.
    pub remarks: Vec<String>,
}

/// The known facts of a run.
#[derive(Debug, Clone, Default)]
pub struct Run<'a> {
    /// The name of the file.
    pub file: &'a str,
    /// The profiler's remarks, from which the rest comes if it is there.
    pub remarks: &'a [String],
    /// How long the run took, if something else than the remarks tells.
    pub duration: Option<Duration>,
    /// The stacks; some may be truncated.
    pub stacks: Option<&'a Stacks>,
    /// The greatest number of frames in a stack, if something else than the remarks tells.
    pub depth: Option<usize>,
}

impl About {
    /// The head for the tables of a run.
    pub fn of(run: &Run<'_>, tables: &(impl Tables + ?Sized)) -> Self {
        let known = values(run.remarks);
        let of_run = RunFacts::read(run.remarks.iter().map(String::as_str));
        let mode = mode(&known, &of_run, tables);
        let duration = run.duration.or_else(|| {
            let millis = known.get("run_ms")?.parse().ok()?;
            Some(Duration::from_millis(millis))
        });
        let duration = duration.map(numbers::time);
        let program = known.get("main").copied();
        let depth = run.depth.or_else(|| known.get("depth")?.parse().ok());
        let counted = run.stacks.filter(|_| mode.is_some());
        let cut = counted
            .zip(depth)
            .and_then(|(stacks, depth)| cut_stacks(stacks, depth));
        let waits = of_run.mostly_waits().then(|| {
            "The program mostly waited, and CPU samples do not show what for: record it with --wall (agent: cpu=wall).".to_owned()
        });
        let title = [program, mode.as_deref(), duration.as_deref()];
        let title: Vec<&str> = title.into_iter().flatten().collect();
        let mut facts: Vec<String> = Vec::new();
        for table in tables.cpu() {
            if table.kind == CpuKind::Samples {
                facts.push(format!("{} samples", numbers::count(table.total)));
            }
        }
        let lost = known.get("lost_samples").filter(|&&lost| lost != "0");
        facts.extend(lost.map(|lost| format!("{lost} samples lost")));
        facts.extend(known.get("threads").map(|seen| format!("{seen} threads")));
        facts.extend(of_run.cpu_words());
        facts.extend(
            of_run
                .began
                .as_ref()
                .map(|began| format!("began {}", began.replacen('T', " ", 1))),
        );
        facts.extend(of_run.vm.clone());
        facts.extend(of_run.host.as_ref().map(|host| format!("on {host}")));
        facts.extend(known.get("pid").map(|pid| format!("process {pid}")));
        facts.extend(known.get("version").map(|it| format!("hprof-rs {it}")));
        if !run.file.is_empty() && !title.is_empty() {
            facts.push(run.file.to_owned());
        }
        Self {
            title: match title.is_empty() {
                true => run.file.to_owned(),
                false => title.join(", "),
            },
            facts,
            command: of_run.command,
            warnings: cut.into_iter().chain(waits).collect(),
            remarks: run.remarks.to_vec(),
        }
    }
}

/// The greatest number of frames in a stack, if the agent's remarks tell it.
pub fn depth_of(remarks: &[String]) -> Option<usize> {
    values(remarks).get("depth")?.parse().ok()
}

/// The clock of the samples, if the agent's remarks tell it.
pub fn clock_of(remarks: &[String]) -> Option<Clock> {
    Clock::of_word(values(remarks).get("clock")?)
}

/// The `key=value` words of remarks. The class of the program may hold blanks and stands last.
fn values(remarks: &[String]) -> BTreeMap<&str, &str> {
    let mut known = BTreeMap::new();
    let is_words = |line: &&String| line.starts_with("hprof-rs") && !RunFacts::is_free(line);
    for line in remarks.iter().filter(is_words) {
        let (line, program) = match line.split_once(" main=") {
            Some((line, program)) => (line, Some(program)),
            None => (line.as_str(), None),
        };
        known.extend(program.map(|program| ("main", program)));
        known.extend(line.split(' ').filter_map(|word| word.split_once('=')));
    }
    known
}

/// A warning if stacks end at the greatest depth, and not where threads begin.
fn cut_stacks(stacks: &Stacks, limit: usize) -> Option<String> {
    let traces = stacks.traces();
    let is_cut = |trace: &Trace| depth::is_cut(stacks, &trace.frames, limit);
    let cut = traces.iter().filter(|(_, trace)| is_cut(trace)).count();
    (cut > 0).then(|| {
        format!(
            "{} of {} stacks are cut at {limit} frames: the methods that called these are missing, and \
             one method may stand in several places. Profile with a greater depth.",
            numbers::count(cut as u64),
            numbers::count(traces.len() as u64)
        )
    })
}

/// How the profile was made.
fn mode(
    known: &BTreeMap<&str, &str>,
    facts: &RunFacts,
    tables: &(impl Tables + ?Sized),
) -> Option<String> {
    let has = |kind| tables.cpu().iter().any(|table| table.kind == kind);
    let mut modes = Vec::new();
    if has(CpuKind::Samples) {
        let interval = facts.interval.map(|it| it.as_millis().to_string());
        let interval = interval.as_deref().or(known.get("interval_ms").copied());
        let of_event = facts.event.as_ref().map(|event| format!("events {event}"));
        let kind = match facts.clock {
            Some(Clock::Wall) => "wall-clock samples",
            _ => of_event.as_deref().unwrap_or("CPU samples"),
        };
        modes.push(match interval.filter(|_| of_event.is_none()) {
            Some(interval) => format!("{kind} every {interval} ms"),
            None => kind.to_owned(),
        });
    }
    if has(CpuKind::Times) || !tables.old_cpu().is_empty() {
        modes.push("CPU time of every call".to_owned());
    }
    if !tables.sites().is_empty() {
        modes.push("allocation sites".to_owned());
    }
    if !tables.monitors().is_empty() {
        modes.push("lock contention".to_owned());
    }
    (!modes.is_empty()).then(|| modes.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hprof_format::ids::TraceSerial;
    use hprof_format::model::Line;

    use crate::{CpuTable, Frame, MonitorTable, OldCpuRow, SiteTable};

    struct Samples(Vec<CpuTable>);

    impl Tables for Samples {
        fn cpu(&self) -> &[CpuTable] {
            &self.0
        }
        fn sites(&self) -> &[SiteTable] {
            &[]
        }
        fn monitors(&self) -> &[MonitorTable] {
            &[]
        }
        fn old_cpu(&self) -> &[OldCpuRow] {
            &[]
        }
    }

    #[test]
    fn the_head_names_program_mode_and_duration() {
        let remarks = [
            "hprof-rs agent: version=0.1.0 pid=7 format=a modes=cpu=samples main=a.Main -x b=c",
            "hprof-rs 0.1.0: engine=signal interval_ms=10 samples=1234 threads=6",
            "hprof-rs: run_ms=75400 depth=64",
        ];
        let remarks = remarks.map(str::to_owned);
        let tables = Samples(vec![CpuTable {
            kind: CpuKind::Samples,
            total: 1234,
            rows: Vec::new(),
        }]);
        let run = Run {
            file: "java.hprof.txt",
            remarks: &remarks,
            ..Run::default()
        };
        let about = About::of(&run, &tables);
        assert_eq!(about.title, "a.Main -x b=c, CPU samples every 10 ms, 75 s");
        let facts = [
            "1,234 samples",
            "6 threads",
            "process 7",
            "hprof-rs 0.1.0",
            "java.hprof.txt",
        ];
        assert_eq!(about.facts, facts);
        let of_run = RunFacts {
            began: Some("2026-11-29T11:14:00+01:00".to_owned()),
            run: Some(Duration::from_secs(75)),
            cpu: Some(Duration::from_secs(3)),
            interval: Some(Duration::from_millis(20)),
            clock: Some(Clock::Cpu),
            host: Some("web-1".to_owned()),
            vm: Some("OpenJDK 64-Bit Server VM 17".to_owned()),
            command: Some("java -Ddepth=... main=7 App".to_owned()),
            ..RunFacts::default()
        };
        let remarks = [&remarks[..1], &of_run.texts()].concat();
        let described = Run {
            remarks: &remarks,
            ..run.clone()
        };
        let described = About::of(&described, &tables);
        assert_eq!(
            described.title,
            "a.Main -x b=c, CPU samples every 20 ms, 75 s"
        );
        let facts = [
            "1,234 samples",
            "3.0 s of CPU in 75 s: 0.04 cores",
            "began 2026-11-29 11:14:00+01:00",
            "OpenJDK 64-Bit Server VM 17",
            "on web-1",
            "process 7",
            "hprof-rs 0.1.0",
            "java.hprof.txt",
        ];
        assert_eq!(described.facts, facts);
        assert_eq!(described.command, of_run.command);
        assert!(described.warnings[0].starts_with("The program mostly waited"));
        let mut stacks = Stacks::default();
        let frame = |method: &str| Frame {
            class_name: "A".into(),
            method: method.into(),
            source_file: None,
            line: Line::Unknown,
        };
        let frames = [frame("inner"), frame("outer"), frame("main")];
        let [inner, outer, main] = frames.map(|frame| stacks.intern(frame));
        for (serial, frames) in [(1, [inner, outer]), (2, [inner, main])] {
            let (thread, frames) = (None, frames.into());
            stacks.add(TraceSerial::new(serial), Trace { thread, frames });
        }
        let cut = Run {
            stacks: Some(&stacks),
            depth: Some(2),
            ..run.clone()
        };
        let warnings = About::of(&cut, &tables).warnings;
        assert!(
            warnings[0].starts_with("1 of 2 stacks are cut at 2 frames"),
            "{warnings:?}"
        );
        assert!(About::of(&run, &tables).warnings.is_empty());
        let unknown = Run {
            file: "a.txt",
            ..Run::default()
        };
        let bare = About::of(&unknown, &Samples(Vec::new()));
        assert_eq!(bare.title, "a.txt");
    }
}
