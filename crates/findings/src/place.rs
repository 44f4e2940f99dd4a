//! The line of the program that costs most.

use hprof_format::ids::TraceSerial;
use hprof_format::model::Line;
use hprof_stacks::Frame;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::recorded::Recorded;
use crate::units::percent;

/// A line, and how much of a cost is its.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Place {
    /// Class and method.
    pub method: String,
    /// The line, if the recording says.
    pub line: Option<u32>,
    /// The method is the program's; otherwise no method of the program is on the stacks, and this is the innermost.
    pub is_own: bool,
    /// Its share of the cost, from 0 to 1.
    pub share: f64,
}

impl Place {
    /// The method and its line.
    pub fn words(&self) -> String {
        match self.line {
            Some(line) => format!("{} (line {line})", self.method),
            None => self.method.clone(),
        }
    }

    /// The method with its line, and its share unless that is all.
    pub fn with_share(&self) -> String {
        match self.share {
            share if share > 0.995 => self.words(),
            share => format!("{} of it in {}", percent(share), self.words()),
        }
    }
}

/// Ends a clause with the place of a cost: `, most of it in acme.Shop.list (line 9)`.
pub(crate) fn at(place: Option<&Place>) -> String {
    match place {
        Some(place) if place.share > 0.995 => format!(", in {}", place.words()),
        Some(place) => format!(", {}", place.with_share()),
        None => String::new(),
    }
}

impl Recorded {
    /// The frames of a stack, innermost first.
    pub(crate) fn frames(&self, trace: TraceSerial) -> impl DoubleEndedIterator<Item = &Frame> {
        let frames = self.stacks.frames_of(trace).iter();
        frames.map(|&frame| self.stacks.frame(frame))
    }

    /// True if a frame of a stack is as asked for.
    pub(crate) fn has(&self, trace: TraceSerial, is: impl Fn(&Frame) -> bool) -> bool {
        self.frames(trace).any(is)
    }

    /// True if a frame of the program is on a stack.
    pub(crate) fn has_own(&self, trace: TraceSerial) -> bool {
        self.has(trace, |frame| self.own().is_own(frame))
    }

    /// The line of the program that costs most, of stacks and what each costs: the innermost of the program. If none of the
    /// stacks has one, the innermost of any.
    pub(crate) fn place(&self, costs: impl Iterator<Item = (TraceSerial, f64)>) -> Option<Place> {
        let mut methods: FxHashMap<(bool, String), FxHashMap<Line, f64>> = FxHashMap::default();
        let mut total = 0.0;
        for (trace, cost) in costs {
            total += cost;
            let own = self.frames(trace).find(|frame| self.own().is_own(frame));
            let Some(frame) = own.or_else(|| self.frames(trace).next()) else {
                continue;
            };
            let lines = methods.entry((own.is_some(), frame.name())).or_default();
            *lines.entry(frame.line).or_default() += cost;
        }
        let sum = |lines: &FxHashMap<Line, f64>| lines.values().sum::<f64>();
        let best = methods.iter().max_by(|(a, a_lines), (b, b_lines)| {
            let key = |is_own: bool, lines| (is_own, sum(lines));
            let (a_key, b_key) = (key(a.0, a_lines), key(b.0, b_lines));
            let order = a_key.0.cmp(&b_key.0).then(a_key.1.total_cmp(&b_key.1));
            order.then_with(|| b.1.cmp(&a.1))
        });
        let ((is_own, method), lines) = best?;
        let line = lines.iter().max_by(|(a, a_cost), (b, b_cost)| {
            let number = |line: &Line| match line {
                Line::Number(number) => *number,
                _ => 0,
            };
            let order = a_cost.total_cmp(b_cost);
            order.then_with(|| number(b).cmp(&number(a)))
        });
        let line = line.and_then(|(line, _)| match line {
            Line::Number(number) => Some(*number),
            _ => None,
        });
        Some(Place {
            method: method.clone(),
            line,
            is_own: *is_own,
            share: sum(lines) / total.max(f64::MIN_POSITIVE),
        })
    }

    /// The line of the program that does something, as samples of CPU and of allocation show it: both count alike.
    pub(crate) fn place_of(&self, is: impl Fn(&Frame) -> bool) -> Option<Place> {
        let of = |trace: TraceSerial| self.has(trace, &is);
        let samples: Vec<_> = self.samples_and_native().filter(|it| of(it.0)).collect();
        let allocations = self.allocations.iter();
        let allocations: Vec<_> = allocations
            .map(|it| (it.trace, it.bytes))
            .filter(|it| of(it.0))
            .collect();
        let sum = |costs: &[(TraceSerial, f64)]| costs.iter().map(|it| it.1).sum::<f64>().max(1.0);
        let (samples_sum, allocations_sum) = (sum(&samples), sum(&allocations));
        let samples = samples.into_iter().map(|it| (it.0, it.1 / samples_sum));
        let allocations = allocations.into_iter();
        let allocations = allocations.map(|it| (it.0, it.1 / allocations_sum));
        self.place(samples.chain(allocations))
    }
}
