//! Facts of a run: which program, where, when, how long, and how much CPU time it used.
//!
//! Neither format of HPROF has a place for them, so they are texts that readers pass over, as those of [`events`](crate::events) are:
//!
//! ```text
//! hprof-rs run: began=2026-11-29T11:14:00+01:00 run_ms=20000 process_cpu_ms=2100 cpus=4 interval_us=10000 clock=cpu depth=64 host=web-1
//! hprof-rs vm: OpenJDK 64-Bit Server VM 17.0.9+9
//! hprof-rs command: java -Xmx2g -jar shop.jar (3 arguments)
//! ```

use std::time::Duration;

use crate::Measure;
use crate::events::Clock;
use crate::pictures::numbers;

const RUN: &str = "hprof-rs run: ";
const VM: &str = "hprof-rs vm: ";
const COMMAND: &str = "hprof-rs command: ";

/// The cores below which a program mostly waits.
const MOSTLY_WAITS: f64 = 0.2;
/// A shorter run says nothing about a program.
const TOO_SHORT: Duration = Duration::from_secs(1);

/// Facts of a run; none is known of files of other tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// When the profile began, with the distance from UTC (RFC 3339).
    pub began: Option<String>,
    /// How long it took.
    pub run: Option<Duration>,
    /// The CPU time that the process used meanwhile, by all threads.
    pub cpu: Option<Duration>,
    /// The processors that the process may use.
    pub cpus: Option<usize>,
    /// The time between samples; none if no samples were taken.
    pub interval: Option<Duration>,
    /// The clock by which samples were taken.
    pub clock: Option<Clock>,
    /// The event of the kernel or function by which samples were taken, such as `page-faults`; none if that was a clock.
    pub event: Option<String>,
    /// The greatest number of frames in a stack.
    pub depth: Option<usize>,
    /// The machine or container.
    pub host: Option<String>,
    /// The VM and its version.
    pub vm: Option<String>,
    /// The command line, without what may be secret.
    pub command: Option<String>,
}

impl RunFacts {
    /// The texts for a profile.
    pub fn texts(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = |name: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("{name}={}", value.replace([' ', '\n'], "_"))));
        };
        let millis = |time: Duration| time.as_millis().to_string();
        word("began", self.began.clone());
        word("run_ms", self.run.map(millis));
        word("process_cpu_ms", self.cpu.map(millis));
        word("cpus", self.cpus.map(|it| it.to_string()));
        word(
            "interval_us",
            self.interval.map(|it| it.as_micros().to_string()),
        );
        word("clock", self.clock.map(|clock| clock.word().to_owned()));
        word("event", self.event.clone());
        word("depth", self.depth.map(|it| it.to_string()));
        word("host", self.host.clone());
        let line =
            |start: &str, text: &String| format!("{start}{}", text.replace(char::is_control, " "));
        let mut texts = vec![format!("{RUN}{}", words.join(" "))];
        texts.extend(self.vm.iter().map(|text| line(VM, text)));
        texts.extend(self.command.iter().map(|text| line(COMMAND, text)));
        texts
    }

    /// Reads the texts of a profile; the last of each kind counts. Others are passed over.
    pub fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut facts = Self::default();
        for text in texts {
            if let Some(words) = text.strip_prefix(RUN) {
                let (vm, command) = (facts.vm.take(), facts.command.take());
                facts = Self {
                    vm,
                    command,
                    ..Self::default()
                };
                words.split(' ').for_each(|word| facts.word(word));
            } else if let Some(vm) = text.strip_prefix(VM) {
                facts.vm = Some(vm.to_owned());
            } else if let Some(command) = text.strip_prefix(COMMAND) {
                facts.command = Some(command.to_owned());
            }
        }
        facts
    }

    fn word(&mut self, word: &str) {
        let Some((name, value)) = word.split_once('=') else {
            return;
        };
        let millis = || value.parse().ok().map(Duration::from_millis);
        match name {
            "began" => self.began = Some(value.to_owned()),
            "run_ms" => self.run = millis(),
            "process_cpu_ms" => self.cpu = millis(),
            "cpus" => self.cpus = value.parse().ok(),
            "interval_us" => self.interval = value.parse().ok().map(Duration::from_micros),
            "clock" => self.clock = Clock::of_word(value),
            "event" => self.event = Some(value.to_owned()),
            "depth" => self.depth = value.parse().ok(),
            "host" => self.host = Some(value.to_owned()),
            // Of a later version.
            _ => {}
        }
    }

    /// Returns whether a text has facts.
    pub fn is_one(text: &str) -> bool {
        [RUN, VM, COMMAND]
            .iter()
            .any(|start| text.starts_with(start))
    }

    /// Returns whether a text is of words that are no pairs of name and value.
    pub(crate) fn is_free(text: &str) -> bool {
        [VM, COMMAND].iter().any(|start| text.starts_with(start))
    }

    /// The name of a measure in this profile: samples may be those of an event.
    pub fn title(&self, measure: Measure) -> String {
        match (&self.event, measure) {
            (Some(event), Measure::Samples) => format!("Events {event}"),
            _ => measure.title().to_owned(),
        }
    }

    /// The unit of a measure in this profile.
    pub fn unit(&self, measure: Measure) -> &'static str {
        match (&self.event, measure) {
            (Some(_), Measure::Samples) => "events",
            _ => measure.unit(),
        }
    }

    /// The processors that the program kept busy, on the average; `None` if the run was too short to tell.
    pub fn cores(&self) -> Option<f64> {
        let run = self.run.filter(|&run| run >= TOO_SHORT)?;
        Some(self.cpu?.as_secs_f64() / run.as_secs_f64())
    }

    /// Returns whether the program mostly waited, so that samples of CPU time say little.
    pub fn mostly_waits(&self) -> bool {
        self.clock == Some(Clock::Cpu) && self.cores().is_some_and(|cores| cores < MOSTLY_WAITS)
    }

    /// The CPU time in words: `2.1 s of CPU in 20 s: 0.1 cores of 4`.
    pub fn cpu_words(&self) -> Option<String> {
        let (cpu, run) = (self.cpu?, self.run?);
        let cores = self.cores()?;
        let of = self.cpus.map(|cpus| format!(" of {cpus}"));
        Some(format!(
            "{} of CPU in {}: {} cores{}",
            numbers::time(cpu),
            numbers::time(run),
            match cores {
                // Not nothing.
                0.001..0.05 => format!("{cores:.2}"),
                _ => format!("{cores:.1}"),
            },
            of.unwrap_or_default()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> RunFacts {
        RunFacts {
            began: Some("2026-11-29T11:14:00+01:00".to_owned()),
            run: Some(Duration::from_secs(20)),
            cpu: Some(Duration::from_millis(2100)),
            cpus: Some(4),
            interval: Some(Duration::from_millis(10)),
            clock: Some(Clock::Cpu),
            event: Some("G1CollectedHeap::humongous_obj_allocate".to_owned()),
            depth: Some(64),
            host: Some("web-1".to_owned()),
            vm: Some("OpenJDK 64-Bit Server VM 17.0.9+9".to_owned()),
            command: Some("java -Xmx2g -jar shop.jar".to_owned()),
        }
    }

    #[test]
    fn facts_come_back_and_the_last_count() {
        let mut before = facts();
        (before.run, before.host) = (Some(Duration::from_secs(1)), Some("web-0".to_owned()));
        let texts = [
            before.texts(),
            vec!["another remark".to_owned()],
            facts().texts(),
        ]
        .concat();
        let read = RunFacts::read(texts.iter().map(String::as_str));
        assert_eq!(read, facts());
        assert!(facts().texts().iter().all(|text| RunFacts::is_one(text)));
        assert_eq!(RunFacts::read(["hprof-rs: run_ms=7"]), RunFacts::default());
    }

    #[test]
    fn samples_of_an_event_have_its_name() {
        let (of_event, of_clock) = (facts(), RunFacts::default());
        let title =
            |facts: &RunFacts| (facts.title(Measure::Samples), facts.unit(Measure::Samples));
        let name = "Events G1CollectedHeap::humongous_obj_allocate".to_owned();
        assert_eq!(title(&of_event), (name, "events"));
        assert_eq!(title(&of_clock), ("CPU samples".to_owned(), "samples"));
        assert_eq!(of_event.title(Measure::Contention), "Monitor contention");
    }

    #[test]
    fn a_line_of_its_own_stays_one() {
        let facts = RunFacts {
            host: Some("a b".to_owned()),
            command: Some("java A\nhprof-rs vm: no".to_owned()),
            ..RunFacts::default()
        };
        let texts = facts.texts();
        assert_eq!(
            texts,
            [
                "hprof-rs run: host=a_b",
                "hprof-rs command: java A hprof-rs vm: no"
            ]
        );
    }

    #[test]
    fn few_cores_mean_that_the_program_waits() {
        let mut facts = facts();
        let words = facts.cpu_words();
        assert_eq!(
            words.as_deref(),
            Some("2.1 s of CPU in 20 s: 0.1 cores of 4")
        );
        assert!(facts.mostly_waits());
        facts.clock = Some(Clock::Wall);
        assert!(!facts.mostly_waits());
        facts.clock = Some(Clock::Cpu);
        facts.cpu = Some(Duration::from_secs(4));
        assert!(!facts.mostly_waits());
        // Too short to tell.
        facts.run = Some(Duration::from_millis(900));
        assert_eq!((facts.cores(), facts.cpu_words()), (None, None));
    }
}
