//! The costs of waits, by kind.

use std::collections::HashMap;

use hprof_format::ids::{ThreadSerial, TraceSerial};
use hprof_format::model::{LockKind, MethodName, MonitorRow};

use super::Monitors;
use super::kinds::{Classified, Kind, classify, public_class};
use super::rows::{Row, Source};
use crate::names::{Location, Names};
use crate::vm::Vm;

/// The key of a row of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    kind: Kind,
    lock: LockKind,
    trace: TraceSerial,
    class: String,
}

/// A row's time since the last dump.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    count: u64,
    nanos: u64,
}

/// The waits between two dumps.
pub(super) struct Costs(Vec<(Place, Cost)>);

impl Costs {
    /// The rows of one kind.
    pub(super) fn rows(&self, kind: Kind) -> Vec<MonitorRow<'_>> {
        let costs = self.0.iter().filter(|(place, _)| place.kind == kind);
        let rows = costs.map(|(place, cost)| MonitorRow {
            nanos: cost.nanos,
            count: cost.count,
            trace: place.trace,
            class_name: &place.class,
            lock: place.lock,
        });
        rows.collect()
    }
}

/// The rows by what they turned out to be.
pub(super) struct WaitTables {
    monitors: &'static Monitors,
    rows: Vec<(&'static Row, Place)>,
    /// The costs that are not in a dump yet.
    costs: HashMap<Place, Cost>,
}

impl WaitTables {
    pub(super) fn new(monitors: &'static Monitors) -> Self {
        Self {
            monitors,
            rows: Vec::new(),
            costs: HashMap::new(),
        }
    }

    /// Looks up the names of new rows.
    pub(super) fn update(&mut self, vm: Vm<'_>, names: &mut Names, depth: usize) {
        for row in self.monitors.take_fresh() {
            let place = place_of(self.monitors, row, vm, names, depth);
            self.rows.push((row, place));
        }
    }

    /// The waits since the last [`Self::clear`].
    pub(super) fn costs(&mut self) -> Costs {
        for (row, place) in &self.rows {
            let (count, nanos) = row.take();
            if count > 0 || nanos > 0 {
                let cost = self.costs.entry(place.clone()).or_default();
                cost.count += count;
                cost.nanos += nanos;
            }
        }
        let copy = |(place, cost): (&Place, &Cost)| (place.clone(), *cost);
        Costs(self.costs.iter().map(copy).collect())
    }

    /// A dump was written.
    pub(super) fn clear(&mut self) {
        self.costs.clear();
    }
}

fn place_of(monitors: &Monitors, row: &Row, vm: Vm<'_>, names: &mut Names, depth: usize) -> Place {
    let frames = names.resolve(vm, row.frames.iter().map(Location::from));
    let methods: Vec<MethodName<'_>> = frames
        .iter()
        .map(|&frame| names.methods.name(frame))
        .collect();
    let Classified { kind, inner } = classify(
        row.source,
        row.class.acquisition(monitors.jvmti(), vm.jni),
        &methods,
    );
    let shown = frames.get(inner..).unwrap_or_default();
    let shown = shown.get(..depth).unwrap_or(shown);
    let thread = (row.thread != 0).then(|| ThreadSerial::new(row.thread));
    let trace = names.intern_frames(thread, shown);
    let class = public_class(&row.class.name).to_owned();
    let lock = match row.source {
        Source::Monitor | Source::ObjectWait => LockKind::Monitor,
        Source::Synchronizer | Source::Park => LockKind::Synchronizer,
    };
    Place {
        kind,
        lock,
        trace,
        class,
    }
}
