//! Periods of high CPU.

use serde::Serialize;

use super::Figures;
use crate::Level;
use crate::place::{Place, at};
use crate::recorded::Recorded;
use crate::units::threads;

/// The period in which more threads ran than before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HighCpu {
    /// The threads that ran Java code, on average of the recording.
    pub average: f64,
    /// The start of the period, in seconds from that of the recording.
    pub from_seconds: f64,
    /// Its end.
    pub to_seconds: f64,
    /// The threads that ran in it, on average.
    pub inside: f64,
    /// The threads that ran outside of it, on average.
    pub outside: f64,
    /// The samples in it.
    pub samples: f64,
    /// The period is the start of the JVM.
    pub is_start: bool,
    /// The line that ran most in it.
    pub place: Option<Place>,
}

/// The recording is divided into as many stretches.
const STRETCHES: usize = 50;
/// Stretches at the start that a JVM may take to start.
const START: usize = 5;

impl Figures for HighCpu {
    const RULE: &'static str = "high-cpu";
    const NEEDS: &'static [&'static str] = &[
        "jdk.ExecutionSample",
        "jdk.CPUTimeSample",
        "datadog.ExecutionSample",
    ];

    fn of(recorded: &Recorded) -> Self {
        let begin = recorded.span.map_or(0, |span| span.from);
        let stretch = recorded.nanos() / STRETCHES as f64;
        let of = |at: i64| (at.saturating_sub(begin) as f64 / stretch).max(0.0) as usize;
        let mut sums = [0.0; STRETCHES];
        for sample in &recorded.samples {
            sums[of(sample.at).min(STRETCHES - 1)] += sample.count;
        }
        let (from, to) = busiest(&sums);
        let threads = |samples: f64, stretches: usize| match stretches {
            0 => 0.0,
            stretches => samples * recorded.period.unwrap_or(20e6) / (stretch * stretches as f64),
        };
        let samples: f64 = sums[from..to].iter().sum();
        let others = sums.iter().sum::<f64>() - samples;
        let inside = recorded.samples.iter();
        let inside = inside.filter(|it| (from..to).contains(&of(it.at).min(STRETCHES - 1)));
        let started = recorded.jvm_start.map(|start| begin.abs_diff(start));
        Self {
            average: recorded.running(),
            from_seconds: from as f64 * stretch / 1e9,
            to_seconds: to as f64 * stretch / 1e9,
            inside: threads(samples, to - from),
            outside: threads(others, STRETCHES - (to - from)),
            samples,
            is_start: from < START && started.is_some_and(|nanos| nanos < 10_000_000_000),
            place: recorded.place(inside.map(|it| (it.trace, it.count))),
        }
    }

    fn level(&self) -> Level {
        let whole = self.from_seconds.max(self.to_seconds);
        let is_period = whole > 0.0 && self.samples >= 15.0 && !self.is_start;
        let is_higher = self.inside >= 0.4 && self.inside >= 5.0 * self.outside;
        match is_period && is_higher {
            true => Level::Warning,
            false => Level::Ok,
        }
    }

    fn headline(&self) -> String {
        match self.level() {
            Level::Ok => format!(
                "{} on average ran Java code{}.",
                threads(self.average),
                at(self.place.as_ref())
            ),
            _ => format!(
                "Between second {:.1} and {:.1} {} ran Java code rather than {:.1}{}.",
                self.from_seconds,
                self.to_seconds,
                threads(self.inside),
                self.outside,
                at(self.place.as_ref())
            ),
        }
    }

    fn cause(&self) -> String {
        "Work that comes all at once, such as a timer or one large request, lets other work wait in that time.".to_owned()
    }

    fn next(&self) -> String {
        "Look at this time alone: `hprof-rs samples --from +START --to +END` of this recording, with the seconds above."
            .to_owned()
    }
}

/// The stretches whose sum is furthest above what the average of all would give: the segment of largest sum of the
/// differences (J. Bentley, Programming Pearls, Communications of the ACM 27, 1984).
fn busiest(sums: &[f64]) -> (usize, usize) {
    let average = sums.iter().sum::<f64>() / sums.len().max(1) as f64;
    let (mut best, mut best_range) = (0.0, (0, 0));
    let (mut sum, mut start) = (0.0, 0);
    for (at, value) in sums.iter().enumerate() {
        sum += value - average;
        if sum <= 0.0 {
            (sum, start) = (0.0, at + 1);
        } else if sum > best {
            (best, best_range) = (sum, (start, at + 1));
        }
    }
    best_range
}

#[cfg(test)]
mod tests {
    use super::busiest;

    #[test]
    fn the_busiest_stretches_are_those_above_the_average() {
        assert_eq!(busiest(&[0.0, 1.0, 9.0, 8.0, 9.0, 0.0, 1.0, 0.0]), (2, 5));
        assert_eq!(busiest(&[2.0; 8]), (0, 0));
        assert_eq!(busiest(&[]), (0, 0));
    }
}
