//! The costs of stacks, in one measure.

use std::fmt;
use std::str::FromStr;

use hprof_format::ids::TraceSerial;
use hprof_format::model::CpuKind;
use serde::Serialize;

use crate::tables::{SiteRow, Tables};

/// A quantity that is summed over stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// CPU samples (`cpu=samples`).
    Samples,
    /// CPU milliseconds (`cpu=times`).
    Time,
    /// Calls (`cpu=times`, `cpu=old`).
    Calls,
    /// Bytes ever allocated (`heap=sites`).
    AllocatedBytes,
    /// Objects ever allocated (`heap=sites`).
    AllocatedObjects,
    /// Bytes still alive (`heap=sites`).
    LiveBytes,
    /// Objects still alive (`heap=sites`).
    LiveObjects,
    /// Milliseconds spent waiting for monitors (`monitor=y`).
    Contention,
    /// Samples of threads whether they run or not, of other profilers.
    Wall,
    /// Samples of threads in native code whether they run or not, of the JDK Flight Recorder.
    NativeSamples,
    /// Milliseconds spent in `Object.wait`, of the JDK Flight Recorder.
    Waits,
    /// Bytes that native code allocated, of async-profiler.
    NativeBytes,
    /// Milliseconds spent waiting for locks of native code (`nativelock=`).
    NativeLock,
    /// Events of one type of a recording.
    Events,
    /// Milliseconds that the events of one type took.
    EventTime,
    /// Bytes that the events of one type state.
    EventBytes,
}

impl Measure {
    /// All measures, the one to show first in front.
    pub const ALL: [Self; 16] = [
        Self::Samples,
        Self::Time,
        Self::Calls,
        Self::LiveBytes,
        Self::LiveObjects,
        Self::AllocatedBytes,
        Self::AllocatedObjects,
        Self::Contention,
        Self::Wall,
        Self::NativeSamples,
        Self::Waits,
        Self::NativeBytes,
        Self::NativeLock,
        Self::Events,
        Self::EventTime,
        Self::EventBytes,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Time => "time",
            Self::Calls => "calls",
            Self::AllocatedBytes => "allocated-bytes",
            Self::AllocatedObjects => "allocated-objects",
            Self::LiveBytes => "live-bytes",
            Self::LiveObjects => "live-objects",
            Self::Contention => "contention",
            Self::Wall => "wall",
            Self::NativeSamples => "native-samples",
            Self::Waits => "waits",
            Self::NativeBytes => "native-bytes",
            Self::NativeLock => "native-lock",
            Self::Events => "events",
            Self::EventTime => "event-time",
            Self::EventBytes => "event-bytes",
        }
    }

    /// The unit of its values.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Samples | Self::Wall | Self::NativeSamples => "samples",
            Self::Time | Self::Contention | Self::Waits | Self::NativeLock | Self::EventTime => {
                "ms"
            }
            Self::Calls => "calls",
            Self::AllocatedBytes | Self::LiveBytes | Self::NativeBytes | Self::EventBytes => {
                "bytes"
            }
            Self::Events => "events",
            Self::AllocatedObjects | Self::LiveObjects => "objects",
        }
    }

    /// Returns whether it is a time.
    pub fn is_time(self) -> bool {
        self.unit() == "ms"
    }

    /// The name of the measure.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Samples => "CPU samples",
            Self::Time => "CPU time",
            Self::Calls => "Calls",
            Self::AllocatedBytes => "Allocated bytes",
            Self::AllocatedObjects => "Allocated objects",
            Self::LiveBytes => "Live bytes",
            Self::LiveObjects => "Live objects",
            Self::Contention => "Monitor contention",
            Self::Wall => "Wall-clock samples",
            Self::NativeSamples => "Samples in native code",
            Self::Waits => "Waits for notifications",
            Self::NativeBytes => "Bytes of native memory",
            Self::NativeLock => "Waits for native locks",
            Self::Events => "Events",
            Self::EventTime => "Time of events",
            Self::EventBytes => "Bytes of events",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Measure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // async-profiler's names of events.
        let name = match text {
            "cpu" => Self::Samples.name(),
            "alloc" => Self::AllocatedBytes.name(),
            "lock" => Self::Contention.name(),
            "nativelock" => Self::NativeLock.name(),
            // Short for those of one type of events.
            "count" => Self::Events.name(),
            "bytes" => Self::EventBytes.name(),
            name => name,
        };
        let found = Self::ALL.into_iter().find(|measure| measure.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("one of {names} is expected")
        })
    }
}

/// The cost of one trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weight {
    /// The trace.
    pub trace: TraceSerial,
    /// The cost in the measure's unit.
    pub value: u64,
    /// The class of what was allocated or waited for.
    pub class: Option<Box<str>>,
}

/// The costs of all traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    /// The measure of the values.
    pub measure: Measure,
    /// The sum that the file states, rows below the profiler's cutoff included.
    pub total: u64,
    /// The rows in the order of the file.
    pub rows: Vec<Weight>,
}

impl Weights {
    /// The costs in a measure; `None` if the file has none.
    ///
    /// A profiler sets its CPU counts to zero after each table, so the tables of a file are added
    /// up. Tables of sites hold all that happened so far, so the last one counts.
    pub fn of(contents: &(impl Tables + ?Sized), measure: Measure) -> Option<Self> {
        if let Some(all) = contents.weights() {
            return all.iter().find(|it| it.measure == measure).cloned();
        }
        let (total, rows) = match measure {
            Measure::Samples => cpu(contents, CpuKind::Samples),
            Measure::Time => cpu(contents, CpuKind::Times),
            Measure::Calls => calls(contents),
            Measure::AllocatedBytes => sites(contents, |row| row.allocated_bytes),
            Measure::AllocatedObjects => sites(contents, |row| row.allocated_objects),
            Measure::LiveBytes => sites(contents, |row| row.live_bytes),
            Measure::LiveObjects => sites(contents, |row| row.live_objects),
            Measure::Contention => contention(contents, false),
            Measure::NativeLock => contention(contents, true),
            Measure::Wall
            | Measure::NativeSamples
            | Measure::Waits
            | Measure::NativeBytes
            | Measure::Events
            | Measure::EventTime
            | Measure::EventBytes => None,
        }?;
        let listed = rows.iter().map(|row| row.value).sum();
        Some(Self {
            measure,
            total: total.max(listed),
            rows,
        })
    }

    /// Scales all costs so that the total becomes another, for comparisons with a longer or shorter
    /// run.
    pub fn scale_to(&mut self, total: u64) {
        if self.total == 0 {
            return;
        }
        let old = u128::from(self.total);
        for row in &mut self.rows {
            let scaled = (u128::from(row.value) * u128::from(total) + old / 2) / old;
            row.value = u64::try_from(scaled).unwrap_or(u64::MAX);
        }
        let listed: u64 = self.rows.iter().map(|row| row.value).sum();
        self.total = total.max(listed);
    }

    /// The first measure that the file has.
    pub fn first_of(contents: &(impl Tables + ?Sized)) -> Option<Self> {
        Measure::ALL
            .into_iter()
            .find_map(|measure| Self::of(contents, measure))
    }

    /// The part of the total that no row accounts for: what the profiler's cutoff left out.
    pub fn missing(&self) -> u64 {
        self.total
            - self
                .rows
                .iter()
                .map(|row| row.value)
                .sum::<u64>()
                .min(self.total)
    }
}

type Found = Option<(u64, Vec<Weight>)>;

fn cpu(contents: &(impl Tables + ?Sized), kind: CpuKind) -> Found {
    let mut tables = contents
        .cpu()
        .iter()
        .filter(|table| table.kind == kind)
        .peekable();
    tables.peek()?;
    let mut total = 0;
    let mut rows = Vec::new();
    for table in tables {
        total += table.total;
        rows.extend(table.rows.iter().map(|row| Weight {
            trace: row.trace,
            value: row.cost,
            class: None,
        }));
    }
    Some((total, rows))
}

fn calls(contents: &(impl Tables + ?Sized)) -> Found {
    let tables = contents
        .cpu()
        .iter()
        .filter(|table| table.kind == CpuKind::Times);
    let rows: Vec<Weight> = tables
        .flat_map(|table| &table.rows)
        .filter_map(|row| {
            Some(Weight {
                trace: row.trace,
                value: row.calls?,
                class: None,
            })
        })
        .collect();
    (!rows.is_empty()).then_some((0, rows))
}

fn sites(contents: &(impl Tables + ?Sized), value: impl Fn(&SiteRow) -> u64) -> Found {
    let table = contents.sites().last()?;
    let rows = table.rows.iter().map(|row| Weight {
        trace: row.trace,
        value: value(row),
        class: Some(row.class_name.clone()),
    });
    let total = table.totals.as_ref().map_or(0, &value);
    Some((total, rows.collect()))
}

fn contention(contents: &(impl Tables + ?Sized), is_native: bool) -> Found {
    let tables = || {
        let all = contents.monitors().iter();
        all.filter(|table| table.is_native == is_native)
    };
    tables().next()?;
    let rows = tables().flat_map(|table| &table.rows);
    let rows = rows.map(|row| Weight {
        trace: row.trace,
        value: row.millis,
        class: Some(row.class_name.clone()),
    });
    let total = tables().map(|table| table.total_millis).sum();
    Some((total, rows.collect()))
}
