//! The load of a program over time: costs by stretches of time, and the change that stands out.

use hprof_format::ids::TraceSerial;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::pictures::numbers::count;
use crate::timeline::{Moment, Timeline, Window};
use crate::{CallTree, Measure, Node, Stacks, Weight, Weights, change_points};

/// Lengths of stretches, in milliseconds: those that people count in.
const LENGTHS: [u64; 15] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
    1_800_000, 3_600_000,
];
const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SECOND: f64 = 1e9;
/// Stretches in which changes are looked for, at most.
const LOOKS: u64 = 600;
/// A change must make up this part of all that was used, and change the rate by this factor.
const LEAST_PART: f64 = 0.1;
const LEAST_FACTOR: f64 = 1.5;
/// A drop at the start or the end of a recording must take this part of its time: before a program works and after it
/// has ended there is no load.
const LEAST_EDGE: f64 = 0.2;
/// The part of a difference that a method must have to be named, and that of its caller's to be named instead of it.
const LEAST_SHARE: f64 = 0.5;
const LEAST_OF_CALLER: f64 = 0.8;

/// The costs of one measure by stretches of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The measure.
    pub measure: Measure,
    /// The nanoseconds of a stretch; the last may be shorter.
    pub stretch: u64,
    /// The time of all stretches.
    pub window: Window,
    /// The cost of each stretch, in nanoseconds for measures of milliseconds.
    pub values: Vec<u64>,
    /// The nanoseconds of CPU time that one of a value stands for, if that is known.
    nanos: Option<u64>,
}

/// A time in which a program used much more or less than otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Its start and end, in nanoseconds since 1970-01-01 UTC.
    #[serde(skip)]
    pub window: Window,
    /// What was used in a second of it: cores where the recording says how much CPU time a sample stands for, else
    /// samples.
    pub rate: f64,
    /// What was used in a second of the other time.
    pub otherwise: f64,
    /// The method with most of the difference, and its share, if one has half of it or more.
    pub method: Option<String>,
    /// The share, from 0 to 1.
    pub share: f64,
}

impl Change {
    /// The end of a sentence that begins with the time: `CPU use was 3.80 cores instead of 0.40: 91 % of the difference in
    /// acme.Report.render.` The name is as the file has it.
    pub fn words(&self, load: &Load) -> String {
        let [rate, otherwise] = [self.rate, self.otherwise].map(|it| load.figures(it));
        let unit = load.unit();
        let method = match &self.method {
            Some(method) => format!(
                ": {:.0} % of the difference in {method}.",
                self.share * 100.0
            ),
            None => "; no method has half of the difference.".to_owned(),
        };
        format!("CPU use was {rate} {unit} instead of {otherwise}{method}")
    }
}

/// The measure of CPU use of a recording: the more exact, if it has two; `None` if it has none, as on the wall clock.
pub fn cpu_measure(timeline: &Timeline) -> Option<Measure> {
    if timeline.is_wall {
        return None;
    }
    let has = |measure| timeline.moments.iter().any(|it| it.measure == measure);
    [Measure::Time, Measure::Samples]
        .into_iter()
        .find(|&it| has(it))
}

impl Load {
    /// The costs of a measure in a window, in no more stretches than this.
    pub fn of(timeline: &Timeline, measure: Measure, window: Window, most: u64) -> Self {
        let length = window.length();
        let fits = |&millis: &u64| length.div_ceil(millis * NANOS_PER_MILLI) <= most;
        let found = LENGTHS.into_iter().find(fits);
        let stretch = found.map_or_else(
            || length.div_ceil(most).max(1),
            |millis| millis * NANOS_PER_MILLI,
        );
        let stretches = usize::try_from(length.div_ceil(stretch)).unwrap_or(0);
        let mut values = vec![0_u64; stretches];
        for moment in of_measure(timeline, measure, window) {
            let at = moment.at.abs_diff(window.from) / stretch;
            if let Some(value) = usize::try_from(at).ok().and_then(|at| values.get_mut(at)) {
                *value = value.saturating_add(moment.value);
            }
        }
        let nanos = match measure {
            Measure::Time => Some(1),
            Measure::Samples => timeline.sample_nanos,
            _ => None,
        };
        Self {
            measure,
            stretch,
            window,
            values,
            nanos,
        }
    }

    /// The time of a stretch.
    pub fn time_of(&self, index: usize) -> Window {
        let from = self.stretch.saturating_mul(index as u64);
        let from = self.window.from.saturating_add_unsigned(from);
        let to = from.saturating_add_unsigned(self.stretch);
        Window {
            from,
            to: to.min(self.window.to),
        }
    }

    /// Returns whether the recording says how much CPU time the values stand for.
    pub const fn is_in_cores(&self) -> bool {
        self.nanos.is_some()
    }

    /// What a cost in a time is by the second: cores, if these are known, else in the measure's unit.
    pub fn rate(&self, value: u64, time: Window) -> f64 {
        let factor = self.nanos.map_or(NANOS_PER_SECOND, |nanos| nanos as f64);
        value as f64 * factor / time.length().max(1) as f64
    }

    /// The unit of rates, in words.
    pub const fn unit(&self) -> &'static str {
        match self.is_in_cores() {
            true => "cores",
            false => "samples a second",
        }
    }

    /// A rate in figures, without its unit.
    pub fn figures(&self, rate: f64) -> String {
        match self.is_in_cores() {
            true => format!("{rate:.2}"),
            false => count(rate.round() as u64),
        }
    }

    /// The numbers of samples that stretches hold, as the search for changes needs counts.
    fn counts(&self, timeline: &Timeline) -> Vec<u64> {
        let mut counts = vec![0; self.values.len()];
        for moment in of_measure(timeline, self.measure, self.window) {
            let at = moment.at.abs_diff(self.window.from) / self.stretch;
            let weight = match self.measure {
                Measure::Samples => moment.value,
                _ => 1,
            };
            if let Some(count) = usize::try_from(at).ok().and_then(|at| counts.get_mut(at)) {
                *count += weight;
            }
        }
        // What is left of the last stretch is no whole one.
        if !self.window.length().is_multiple_of(self.stretch) {
            counts.pop();
        }
        counts
    }
}

fn of_measure(
    timeline: &Timeline,
    measure: Measure,
    window: Window,
) -> impl Iterator<Item = &Moment> {
    let all = timeline.moments.iter();
    all.filter(move |it| it.measure == measure && window.contains(it.at))
}

/// The method that was on most stacks of each stretch by its own cost, with that cost.
pub fn top_methods(
    timeline: &Timeline,
    stacks: &Stacks,
    load: &Load,
) -> Vec<Option<(String, u64)>> {
    let mut all: Vec<FxHashMap<TraceSerial, u64>> = vec![FxHashMap::default(); load.values.len()];
    for moment in of_measure(timeline, load.measure, load.window) {
        let at = moment.at.abs_diff(load.window.from) / load.stretch;
        if let Some(costs) = usize::try_from(at).ok().and_then(|at| all.get_mut(at)) {
            *costs.entry(moment.trace).or_default() += moment.value;
        }
    }
    let top = |costs: FxHashMap<TraceSerial, u64>| {
        let weights = weights(load.measure, costs.into_iter());
        let first = crate::by_method(stacks, &weights).into_iter().next()?;
        Some((first.name, first.own))
    };
    all.into_iter().map(top).collect()
}

fn weights(measure: Measure, costs: impl Iterator<Item = (TraceSerial, u64)>) -> Weights {
    let mut rows: Vec<Weight> = costs
        .map(|(trace, value)| Weight {
            trace,
            value,
            class: None,
        })
        .collect();
    rows.sort_unstable_by_key(|row| row.trace);
    Weights {
        measure,
        total: rows.iter().map(|row| row.value).sum(),
        rows,
    }
}

/// The change of CPU use that stands out in a window; `None` for even load.
pub fn change(timeline: &Timeline, stacks: &Stacks, window: Window) -> Option<(Load, Change)> {
    let load = Load::of(timeline, cpu_measure(timeline)?, window, LOOKS);
    let counts = load.counts(timeline);
    let mut bounds = change_points(&counts);
    if bounds.is_empty() {
        return None;
    }
    bounds.insert(0, 0);
    bounds.push(counts.len());
    let segments: Vec<(usize, usize, f64)> = bounds
        .windows(2)
        .map(|pair| {
            let sum: u64 = counts[pair[0]..pair[1]].iter().sum();
            (pair[0], pair[1], sum as f64 / (pair[1] - pair[0]) as f64)
        })
        .collect();
    let usual = usual(&segments, counts.len());
    let (from, to) = stands_out(&segments, usual, &counts)?;
    let changed = Window {
        from: load.time_of(from).from,
        to: match to == counts.len() {
            true => window.to,
            false => load.time_of(to).from,
        },
    };
    let found = compared(timeline, stacks, &load, changed);
    Some((load, found))
}

/// The rate of most of the time: the lower median of the segments by their length.
fn usual(segments: &[(usize, usize, f64)], length: usize) -> f64 {
    let mut sorted = segments.to_vec();
    sorted.sort_by(|a, b| a.2.total_cmp(&b.2));
    let mut before = 0;
    let half = sorted.iter().find(|(from, to, _)| {
        before += to - from;
        2 * before >= length
    });
    half.map_or(0.0, |segment| segment.2)
}

/// The run of segments on one side of the usual rate that differs most in sum.
fn stands_out(
    segments: &[(usize, usize, f64)],
    usual: f64,
    counts: &[u64],
) -> Option<(usize, usize)> {
    let is_far = |rate: f64| {
        let (low, high) = (rate.min(usual), rate.max(usual));
        high >= LEAST_FACTOR * low && high - low > 0.0
    };
    let mut runs: Vec<(usize, usize, f64)> = Vec::new();
    for &(from, to, rate) in segments.iter().filter(|it| is_far(it.2)) {
        let area = (rate - usual) * (to - from) as f64;
        match runs.last_mut() {
            Some(last)
                if last.1 == from && last.2.is_sign_negative() == area.is_sign_negative() =>
            {
                (last.1, last.2) = (to, last.2 + area);
            }
            _ => runs.push((from, to, area)),
        }
    }
    let total: u64 = counts.iter().sum();
    let length = counts.len();
    runs.retain(|&(from, to, area)| {
        let is_edge = from == 0 || to == length;
        let is_long = (to - from) as f64 >= LEAST_EDGE * length as f64;
        area.abs() >= LEAST_PART * total as f64 && (area > 0.0 || !is_edge || is_long)
    });
    let most = runs
        .into_iter()
        .max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()))?;
    Some((most.0, most.1))
}

/// Compares a part of the time with all other.
fn compared(timeline: &Timeline, stacks: &Stacks, load: &Load, changed: Window) -> Change {
    let mut sums: [FxHashMap<TraceSerial, u64>; 2] = Default::default();
    for moment in of_measure(timeline, load.measure, load.window) {
        let side = usize::from(!changed.contains(moment.at));
        *sums[side].entry(moment.trace).or_default() += moment.value;
    }
    let [inside, outside] = sums.map(|costs| weights(load.measure, costs.into_iter()));
    let rest = Window {
        from: 0,
        to: i64::try_from(load.window.length() - changed.length()).unwrap_or(i64::MAX),
    };
    let rate = load.rate(inside.total, changed);
    let otherwise = load.rate(outside.total, rest);
    let sign = if rate < otherwise { -1.0 } else { 1.0 };
    let difference =
        |inside: u64, outside: u64| sign * (load.rate(inside, changed) - load.rate(outside, rest));
    let trees = [
        CallTree::new(stacks, &inside),
        CallTree::new(stacks, &outside),
    ];
    let named = named(&trees[0].roots, &trees[1].roots, &difference);
    let all = difference(inside.total, outside.total);
    let named = named.filter(|(_, part)| *part >= LEAST_SHARE * all);
    Change {
        window: changed,
        rate,
        otherwise,
        share: named
            .as_ref()
            .map_or(0.0, |(_, part)| (part / all).min(1.0)),
        method: named.map(|(name, _)| name),
    }
}

/// The innermost method that has most of the difference of its callers, with its difference: the program's own, if one
/// is on the way.
fn named(
    mut inside: &[Node],
    mut outside: &[Node],
    difference: &dyn Fn(u64, u64) -> f64,
) -> Option<(String, f64)> {
    let mut found: Option<(String, f64)> = None;
    let mut before = 0.0;
    loop {
        let of = |name: &str| {
            let here = |nodes: &'_ [Node]| nodes.iter().position(|it| &*it.name == name);
            (here(inside), here(outside))
        };
        let names = inside.iter().chain(outside).map(|it| &*it.name);
        let costed = names.map(|name| {
            let places = of(name);
            let cost = |nodes: &[Node], at: Option<usize>| at.map_or(0, |at| nodes[at].total);
            let part = difference(cost(inside, places.0), cost(outside, places.1));
            (name, part, places)
        });
        let Some((name, part, places)) = costed.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return found;
        };
        if part <= 0.0 || part < LEAST_OF_CALLER * before {
            return found;
        }
        // The first of the platform's methods stands until one of the program is found.
        let is_better = !is_of_platform(name) || found.is_none();
        if is_better {
            found = Some((name.to_owned(), part));
        }
        before = part;
        inside = places.0.map_or(&[], |at| &inside[at].children);
        outside = places.1.map_or(&[], |at| &outside[at].children);
    }
}

/// Returns whether a method is one of the JDK.
fn is_of_platform(name: &str) -> bool {
    let packages = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
    packages.iter().any(|package| name.starts_with(package))
}

#[cfg(test)]
mod tests;
