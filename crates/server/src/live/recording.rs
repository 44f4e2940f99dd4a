//! A live recording: its results so far, and when a client last viewed it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_analysis::contents::{
    Contents, GrowingText, MonitorRow, MonitorTable, Waits, take_times,
};
use hprof_format::held::Held;
use hprof_format::ids::TraceSerial;
use hprof_format::model::{CpuKind, LockKind};
use hprof_stacks::events::Chunk;
use hprof_stacks::slow::Slow;
use hprof_stacks::{Measure, SiteTable};
use hprof_wire::marks::Mark;
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;
use serde::Serialize;
use utoipa::ToSchema;

use super::costs::{Costs, Found, Timeline};
use super::link::JvmId;
use super::machine::JvmFacts;
use super::modes::Mode;
use super::tables::{live, samples_table, times_table};
use crate::time::Millis;
use crate::views::ViewError;
use crate::views::profile::ProfileFile;

/// Stacks and threads of a recording, in bytes.
const MAX_STACKS: usize = 64 << 20;
/// The slow calls of a method that samples are looked up in, at most.
const MAX_SLOW_CALLS: usize = 200_000;
/// The limit of samples with their times, in bytes: about 30 million.
pub const MAX_TIMES: usize = 256 << 20;
/// Views of the present state that are kept for the next request.
const KEPT: usize = 4;

/// Why a recording has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// A request ended it.
    Requested(Afterwards),
    /// No request has looked at it for these minutes.
    Unviewed(u64, Afterwards),
    /// The program or its agent has ended.
    Gone,
    /// The agent wrote more at once than the server holds.
    TooMuch,
}

/// The state of the agent after the end of its recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Afterwards {
    /// It was detached from its program.
    Detached,
    /// It goes on sending its stream, as it was started with `net=`.
    Sends,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested(Afterwards::Detached) => f.write_str("the agent was detached"),
            Self::Requested(Afterwards::Sends) => {
                f.write_str("the recording was ended; the agent's stream continues")
            }
            Self::Unviewed(minutes, Afterwards::Detached) => write!(
                f,
                "no page has asked for {minutes} minutes, so the agent was detached"
            ),
            Self::Unviewed(minutes, Afterwards::Sends) => write!(
                f,
                "no page has asked for {minutes} minutes, so the recording has ended; the agent's stream \
                 continues"
            ),
            Self::Gone => f.write_str("the program or its agent has ended"),
            Self::TooMuch => f.write_str("the agent wrote more at once than the server holds"),
        }
    }
}

/// The agent's cost for the program.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Cost {
    /// CPU time of the agent's own thread, in percent of one core.
    pub cpu_percent: f64,
    /// Memory of the agent's tables in bytes.
    pub memory_bytes: u64,
    /// Both in words, with what they leave out.
    pub sentence: String,
}

/// The state of a recording, for those who show it.
#[derive(Debug, Clone)]
pub struct Status {
    /// Modes that record now.
    pub modes: Vec<Mode>,
    /// Its clock, stopped or not: of CPU time or the wall clock.
    pub clock: Option<Mode>,
    /// When it began.
    pub since: Millis,
    /// Samples so far, by either clock.
    pub samples: u64,
    /// The agent's cost, once it was asked.
    pub cost: Option<Cost>,
    /// Why it ended, if it has.
    pub ended: Option<End>,
    /// Remarks, as sentences.
    pub notes: Vec<String>,
    /// Why modes have counted nothing, as the agent has found at its end.
    pub nothing: Vec<String>,
    /// Grows with each change.
    pub revision: u64,
    /// Seconds recorded so far.
    pub seconds: u64,
}

/// A table of sites holds all since the start; what is new are differences.
type Allocated = FxHashMap<(TraceSerial, Box<str>), (u64, u64)>;

#[derive(Debug)]
struct Data {
    text: GrowingText,
    costs: Costs,
    /// The last table of sites: what is alive now.
    sites: Option<SiteTable>,
    /// The agent's remarks on native memory that is held for long, with the last table.
    held: Vec<String>,
    allocated: Allocated,
    /// Contention by trace, class and kind: how often and for how long.
    monitors: FxHashMap<(TraceSerial, Box<str>, LockKind), (u64, u64)>,
    /// Modes that record now.
    modes: BTreeSet<Mode>,
    /// Modes that have recorded, stopped ones too.
    started: BTreeSet<Mode>,
    cost: Option<Cost>,
    notes: Vec<String>,
    nothing: Vec<String>,
    /// Samples with their times that were not taken yet, and their bytes.
    times: Vec<Chunk>,
    times_bytes: usize,
    /// Timed calls, where the agent's `slow=` has them.
    slow: Slow,
    are_times_full: bool,
    ended: Option<(Instant, End)>,
    revision: u64,
    /// Up to when it is recorded, in milliseconds since 1970-01-01 UTC.
    until: i64,
    viewed: Instant,
    wants_end: bool,
    shown: Vec<(Option<u64>, Arc<ProfileFile>)>,
}

/// A live recording of one JVM.
#[derive(Debug)]
pub struct Recording {
    /// Which JVM it is of.
    pub id: JvmId,
    /// The JVM as it was at the start.
    pub facts: JvmFacts,
    /// Options of the agent that its beginning asked for.
    pub options: String,
    since: Millis,
    data: Mutex<Data>,
    changed: Condvar,
}

impl Recording {
    /// A recording that begins now.
    pub fn new(id: JvmId, facts: JvmFacts, modes: &[Mode]) -> Self {
        let since = Millis::now();
        Self {
            id,
            facts,
            options: String::new(),
            since,
            data: Mutex::new(Data {
                text: GrowingText::default(),
                costs: Costs::default(),
                sites: None,
                held: Vec::new(),
                allocated: Allocated::default(),
                monitors: FxHashMap::default(),
                modes: modes.iter().copied().collect(),
                started: modes.iter().copied().collect(),
                cost: None,
                notes: Vec::new(),
                nothing: Vec::new(),
                times: Vec::new(),
                times_bytes: 0,
                slow: Slow::default(),
                are_times_full: false,
                ended: None,
                revision: 0,
                until: since.0,
                viewed: Instant::now(),
                wants_end: false,
                shown: Vec::new(),
            }),
            changed: Condvar::new(),
        }
    }

    /// Notes the options that the agent was given, for a recording that begins anew.
    pub fn with_options(self, options: &str) -> Self {
        Self {
            options: options.to_owned(),
            ..self
        }
    }

    /// Takes names and stacks of a stream that began before the recording; its tables are of that time.
    pub fn begin(&self, text: &str) {
        let mut data = self.data.lock();
        data.text.push(text);
        let contents = Arc::make_mut(&mut data.text.contents);
        contents.cpu.clear();
        contents.monitors.clear();
        contents.sites.clear();
        contents.comments.clear();
    }

    /// Adds what the agent has written since the last look.
    pub fn add(&self, text: &str) {
        let mut data = self.data.lock();
        let data = &mut *data;
        data.shown.clear();
        data.text.push(text);
        let contents = Arc::make_mut(&mut data.text.contents);
        let mut found = Found::default();
        // A trace without a stack here counts for the trace without frames.
        let stacks = &contents.stacks;
        let known = |trace| match stacks.trace(trace) {
            Some(_) => trace,
            None => TraceSerial::SYSTEM,
        };
        for table in contents.cpu.drain(..) {
            let measure = match table.kind {
                CpuKind::Samples if data.started.contains(&Mode::Wall) => Measure::Wall,
                CpuKind::Samples => Measure::Samples,
                CpuKind::Times => Measure::Time,
            };
            found.totals.push((measure, table.total));
            for row in &table.rows {
                let trace = known(row.trace);
                found.rows.push((measure, None, trace, row.cost));
                let calls = row.calls.filter(|_| measure == Measure::Time);
                let calls = calls.map(|calls| (Measure::Calls, None, trace, calls));
                found.rows.extend(calls);
            }
        }
        for table in contents.monitors.drain(..) {
            let measure = match table.is_native {
                true => Measure::NativeLock,
                false => Measure::Contention,
            };
            found.totals.push((measure, table.total_millis));
            for row in table.rows {
                let (trace, class) = (known(row.trace), row.class_name);
                found
                    .rows
                    .push((measure, Some(class.clone()), trace, row.millis));
                let sum = data.monitors.entry((trace, class, row.lock)).or_default();
                *sum = (sum.0 + row.count, sum.1 + row.millis);
            }
        }
        if let Some(table) = contents.sites.pop() {
            contents.sites.clear();
            // Classes of several loaders may have one name.
            let mut sums = Allocated::default();
            for row in &table.rows {
                let key = (known(row.trace), row.class_name.clone());
                let sum = sums.entry(key).or_default();
                *sum = (sum.0 + row.allocated_bytes, sum.1 + row.allocated_objects);
            }
            for (key, now) in &sums {
                let before = data.allocated.get(key).copied().unwrap_or_default();
                let (trace, class) = key;
                let more = [
                    (Measure::AllocatedBytes, now.0.saturating_sub(before.0)),
                    (Measure::AllocatedObjects, now.1.saturating_sub(before.1)),
                ];
                let rows =
                    more.map(|(measure, value)| (measure, Some(class.clone()), *trace, value));
                found.rows.extend(rows);
            }
            data.held.clear();
            data.allocated = sums;
            data.sites = Some(table);
        }
        contents.comments.retain(|remark| !data.slow.take(remark));
        for method in &mut data.slow.methods {
            method.spans.truncate(MAX_SLOW_CALLS);
        }
        for mut chunk in take_times(&mut contents.comments) {
            // The counts are those of this recording.
            chunk.is_first = false;
            data.times_bytes += chunk.bytes();
            if data.times_bytes <= MAX_TIMES {
                data.times.push(chunk);
            } else if !data.are_times_full {
                data.are_times_full = true;
                data.notes.push(format!(
                    "the recording holds {} MB of times; later samples are in the sums alone",
                    MAX_TIMES >> 20
                ));
            }
        }
        for remark in &contents.comments {
            if Held::parse(remark).is_some() {
                data.held.push(remark.clone());
            }
            if let Some(Mark::Nothing(nothing)) = Mark::parse(remark)
                && !data.nothing.contains(&nothing.why)
            {
                data.nothing.push(nothing.why);
            }
        }
        // The remarks of a dump are about the agent's counters since the start.
        contents.comments.clear();
        contents.old_cpu.clear();
        contents.monitor_dumps.clear();
        contents.waits = Waits::default();
        contents.text_dumps.clear();
        let frames = contents.stacks.frame_count() + contents.threads.len();
        let is_full = 250 * frames + 300 * contents.stacks.len() > MAX_STACKS;
        if is_full && !data.text.is_full {
            data.text.is_full = true;
            data.notes.push(format!(
                "the recording holds {} MB of stacks, and takes no new ones; their costs count for \
                 the empty stack",
                MAX_STACKS >> 20
            ));
        }
        let now = Millis::now().0;
        data.costs.add(data.until, now, found);
        data.until = now.max(data.until);
        data.revision += 1;
    }

    /// Returns true before there is anything to show.
    pub fn is_empty(&self) -> bool {
        self.data.lock().revision == 0
    }

    /// Notes that a client views the recording, so that the recorder reads often.
    pub fn touch(&self) {
        self.data.lock().viewed = Instant::now();
        self.changed.notify_all();
    }

    /// The time since a client last viewed the recording.
    pub fn unviewed(&self) -> Duration {
        self.data.lock().viewed.elapsed()
    }

    /// Asks the recorder to end.
    pub fn ask_end(&self) {
        self.data.lock().wants_end = true;
        self.changed.notify_all();
    }

    /// Waits until something changes, the end is wanted or the time is over; true if the end is
    /// wanted.
    pub fn pause(&self, limit: Duration) -> bool {
        let mut data = self.data.lock();
        if !data.wants_end {
            self.changed.wait_for(&mut data, limit);
        }
        data.wants_end
    }

    /// Notes the end, for a reason.
    pub fn end(&self, why: End) {
        let mut data = self.data.lock();
        if data.ended.is_none() {
            data.ended = Some((Instant::now(), why));
            data.modes.clear();
            data.revision += 1;
            data.shown.clear();
        }
        drop(data);
        self.changed.notify_all();
    }

    /// Waits for the end; false if it does not come in time.
    pub fn wait_end(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut data = self.data.lock();
        while data.ended.is_none() {
            if self.changed.wait_until(&mut data, deadline).timed_out() {
                return data.ended.is_some();
            }
        }
        true
    }

    /// Returns whether it continues.
    pub fn is_live(&self) -> bool {
        self.data.lock().ended.is_none()
    }

    /// For how long it has ended.
    pub fn ended_for(&self) -> Option<Duration> {
        let data = self.data.lock();
        data.ended.as_ref().map(|(since, _)| since.elapsed())
    }

    /// Sets what the agent costs.
    pub fn set_cost(&self, cost: Cost) {
        self.data.lock().cost = Some(cost);
    }

    /// Adds a remark, once.
    pub fn note(&self, note: &str) {
        let mut data = self.data.lock();
        if !data.notes.iter().any(|known| known == note) {
            data.notes.push(note.to_owned());
        }
    }

    /// The modes that record now.
    pub fn modes(&self) -> Vec<Mode> {
        self.data.lock().modes.iter().copied().collect()
    }

    /// The modes that have recorded, stopped ones too.
    pub fn started(&self) -> Vec<Mode> {
        self.data.lock().started.iter().copied().collect()
    }

    /// Notes that these modes record now, too.
    pub fn add_modes(&self, modes: &[Mode]) {
        let mut data = self.data.lock();
        data.modes.extend(modes);
        data.started.extend(modes);
    }

    /// Notes that these modes record no more.
    pub fn remove_modes(&self, modes: &[Mode]) {
        self.data.lock().modes.retain(|mode| !modes.contains(mode));
    }

    /// The state.
    pub fn status(&self) -> Status {
        let data = self.data.lock();
        Status {
            modes: data.modes.iter().copied().collect(),
            clock: data.started.iter().copied().find(|mode| mode.is_clock()),
            since: self.since,
            samples: data.costs.samples(),
            cost: data.cost.clone(),
            ended: data.ended.as_ref().map(|(_, why)| why.clone()),
            notes: data.notes.clone(),
            nothing: data.nothing.clone(),
            revision: data.revision,
            seconds: self.seconds(&data),
        }
    }

    fn seconds(&self, data: &Data) -> u64 {
        u64::try_from(data.until - self.since.0).unwrap_or(0) / 1000
    }

    /// The contents recorded so far, or in the last seconds, for the views of profiles.
    ///
    /// # Errors
    /// If the agent has not written anything yet.
    pub fn profile(&self, last: Option<u64>) -> Result<Arc<ProfileFile>, ViewError> {
        let mut data = self.data.lock();
        if data.revision == 0 {
            return Err(ViewError::NotReady(
                "nothing is recorded yet; ask again in a second".to_owned(),
            ));
        }
        if let Some((_, known)) = data.shown.iter().find(|(key, _)| *key == last) {
            return Ok(Arc::clone(known));
        }
        let since = last.map(|seconds| {
            let span = i64::try_from(seconds)
                .unwrap_or(i64::MAX)
                .saturating_mul(1000);
            data.until.saturating_sub(span)
        });
        let mut weights = data.costs.weights(since);
        weights.extend(data.sites.iter().flat_map(live));
        weights.sort_by_key(|weights| order(weights.measure));
        let mut notes = data.notes.clone();
        if last.is_some() && data.sites.is_some() {
            notes.push("what is alive is counted as of now, not for a time".to_owned());
        }
        let contents = Arc::clone(&data.text.contents);
        let title = &self.facts.name;
        let profile = Arc::new(ProfileFile::of_recording(title, contents, weights, notes));
        if data.shown.len() >= KEPT {
            data.shown.remove(0);
        }
        data.shown.push((last, Arc::clone(&profile)));
        Ok(profile)
    }

    /// How samples are spread over the time.
    pub fn timeline(&self) -> Timeline {
        self.data.lock().costs.timeline()
    }

    /// All that was recorded, and the samples with their times that came since the last call, where the agent's
    /// `timeline=y` has them. The times are those of samples in the contents.
    pub fn take(&self) -> (Contents, Vec<Chunk>) {
        let mut data = self.data.lock();
        (data.times_bytes, data.are_times_full) = (0, false);
        let times = std::mem::take(&mut data.times);
        (self.contents_of(&data), times)
    }

    /// The samples with their times, as far as they were not taken.
    pub fn times(&self) -> Vec<Chunk> {
        self.data.lock().times.clone()
    }

    /// All that was recorded, as a profile file has it.
    pub fn contents(&self) -> Contents {
        self.contents_of(&self.data.lock())
    }

    /// The calls that were timed, where the agent's `slow=` names methods.
    pub fn slow(&self) -> Slow {
        self.data.lock().slow.clone()
    }

    fn contents_of(&self, data: &Data) -> Contents {
        let mut contents = Contents::clone(&data.text.contents);
        let all = data.costs.weights(None);
        let of = |measure| all.iter().find(|it| it.measure == measure && it.total > 0);
        contents.cpu.extend(of(Measure::Samples).map(samples_table));
        if let Some(wall) = of(Measure::Wall) {
            contents.cpu.push(samples_table(wall));
            contents.comments.push(ON_THE_WALL_CLOCK.to_owned());
        }
        contents
            .cpu
            .extend(of(Measure::Calls).map(|calls| times_table(calls, of(Measure::Time))));
        contents.sites.extend(data.sites.clone());
        contents.comments.extend(data.held.iter().cloned());
        let mut rows: Vec<MonitorRow> = data
            .monitors
            .iter()
            .map(|((trace, class_name, lock), &(count, millis))| MonitorRow {
                trace: *trace,
                class_name: class_name.clone(),
                lock: *lock,
                count,
                millis,
            })
            .collect();
        rows.sort_by(|a, b| (a.trace, &a.class_name).cmp(&(b.trace, &b.class_name)));
        let (native, rows): (Vec<_>, Vec<_>) =
            (rows.into_iter()).partition(|row| row.lock == LockKind::Native);
        for (measure, rows) in [(Measure::Contention, rows), (Measure::NativeLock, native)] {
            if !rows.is_empty() {
                contents.monitors.push(MonitorTable {
                    is_native: measure == Measure::NativeLock,
                    total_millis: data.costs.total(measure),
                    rows,
                });
            }
        }
        contents.slow = data.slow.clone();
        contents
            .comments
            .push(format!("hprof-rs: a recording of {} s", self.seconds(data)));
        contents
    }
}

/// The remark of profiles whose samples are of all threads: the agent writes the same word.
const ON_THE_WALL_CLOCK: &str = "hprof-rs: clock=wall";

fn order(measure: Measure) -> usize {
    let all = Measure::ALL;
    all.iter()
        .position(|&it| it == measure)
        .unwrap_or(all.len())
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
