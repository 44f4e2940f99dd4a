//! Answers: series, flame graphs, values over time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hprof_stacks::CallTree;
use regex::Regex;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::batch::Series;
use crate::chunk::{Detail, MINUTE};
use crate::kind::{self, NANOSECONDS};
use crate::scan::Wanted;
use crate::selector::{Selector, THREAD};
use crate::sums::{Rounded, Sums, group, of_scan};
use crate::{Pushed, QueryError};

/// Series of an answer.
const MAX_SERIES: usize = 5_000;
/// Lanes of an answer; the others are one.
const MAX_LANES: usize = 20;
/// Steps of a lane, if the request says nothing.
const STEPS: u32 = 240;
/// The most steps of a lane.
const MAX_STEPS: u32 = 10_000;
/// The window if the request says nothing: the last hour.
const HOUR: i64 = 3_600_000;
/// The lane of all groups beyond the largest.
const OTHERS: &str = "<others>";

/// A part of time.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Window {
    /// Its first millisecond since 1970-01-01 UTC; an hour before its end without it.
    pub from: Option<i64>,
    /// The millisecond after its last; now without it.
    pub to: Option<i64>,
}

/// Which series.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SeriesQuery {
    /// Conditions of labels with commas between, such as `service="shop",pod=~"a.*"`; all series without it.
    pub selector: Option<String>,
}

/// Which costs.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct CostsQuery {
    /// Conditions of labels with commas between, such as `service="shop",pod=~"a.*"`; all series without it.
    pub selector: Option<String>,
    /// The key of a kind of values, such as `samples`.
    pub kind: String,
    /// A label: costs are grouped by its values. `thread` groups by thread.
    pub by: Option<String>,
}

/// A series of pushed profiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SeriesFound {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The key of its kind of values.
    pub kind: String,
    /// The kind for people.
    pub title: String,
    /// The unit of its values.
    pub unit: String,
    /// Its first millisecond in the store.
    pub from: i64,
    /// The millisecond after its last.
    pub to: i64,
}

/// The series of a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SeriesList {
    /// The series, by labels and kind.
    pub series: Vec<SeriesFound>,
    /// The values of each label.
    pub labels: BTreeMap<String, Vec<String>>,
    /// Limits of the answer, as sentences.
    pub notes: Vec<String>,
}

/// The values of a group over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Lane {
    /// The value of the label; empty without a label.
    pub group: String,
    /// The sum of all values; of states the last.
    pub total: u64,
    /// The value of each step.
    pub values: Vec<u64>,
}

/// Values over time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CostsOverTime {
    /// The unit of all values.
    pub unit: String,
    /// The start of the first step, in milliseconds since 1970-01-01 UTC.
    pub from: i64,
    /// The length of a step in milliseconds.
    pub step: i64,
    /// The groups, the largest first.
    pub lanes: Vec<Lane>,
    /// Limits of the answer, as sentences.
    pub notes: Vec<String>,
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nothing {
    /// The window has no values of these series.
    NoSeries,
    /// It has values of other kinds only.
    OtherKinds {
        /// The kind of the question.
        asked: String,
        /// The kinds that there are.
        there: Vec<String>,
    },
}

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSeries => f.write_str("no series of the selector has values in this window"),
            Self::OtherKinds { asked, there } => write!(
                f,
                "no series of the selector has {asked} in this window; there are {}",
                there.join(", ")
            ),
        }
    }
}

/// The unit of values in answers: times are in milliseconds there.
pub(super) fn shown_unit(unit: &str) -> Cow<'static, str> {
    match unit {
        NANOSECONDS => Cow::Borrowed("ms"),
        other => Cow::Owned(other.to_owned()),
    }
}

impl Window {
    /// This window with both ends.
    pub fn fixed(self) -> Self {
        let to = self.to.unwrap_or_else(|| now() + 1000);
        let from = self.from.unwrap_or_else(|| to.saturating_sub(HOUR));
        Self {
            from: Some(from),
            to: Some(to),
        }
    }

    /// The window just before this one, as long as it.
    pub fn before(self) -> Self {
        let Self { from, to } = self.fixed();
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        Self {
            from: Some(from.saturating_sub(to.saturating_sub(from))),
            to: Some(from),
        }
    }

    /// Its seconds. A row of a second is in it if the second begins in it, so that windows side by side have each once.
    pub(super) fn seconds(self) -> Result<(u32, u32), QueryError> {
        let Self { from, to } = self.fixed();
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        if from >= to {
            return Err(QueryError::Invalid(
                "from: an earlier time than `to`".to_owned(),
            ));
        }
        let second = |millis: i64| {
            let up = millis.max(0).saturating_add(999) / 1000;
            u32::try_from(up).unwrap_or(u32::MAX)
        };
        Ok((second(from), second(to)))
    }
}

/// The present time, in milliseconds since 1970-01-01 UTC.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

fn parsed(selector: Option<&str>) -> Result<Selector, QueryError> {
    Selector::parse(selector.unwrap_or_default()).map_err(QueryError::Invalid)
}

impl CostsQuery {
    fn wanted(&self, window: Window) -> Result<Wanted, QueryError> {
        let (from, to) = window.seconds()?;
        Ok(Wanted {
            selector: parsed(self.selector.as_deref())?,
            kind: Some(self.kind.clone()),
            from,
            to,
            detail: Detail::Stacks,
            has_names: true,
            last: None,
        })
    }

    fn by(&self) -> Option<&str> {
        self.by.as_deref().filter(|by| !by.is_empty())
    }
}

impl Pushed {
    /// The series that have values in a window.
    ///
    /// # Errors
    /// If the selector or the window makes no sense.
    pub fn series(&self, query: &SeriesQuery, window: Window) -> Result<SeriesList, QueryError> {
        let selector = parsed(query.selector.as_deref())?;
        let (from, to) = window.seconds()?;
        let mut found: BTreeMap<Arc<Series>, (u32, u32)> = BTreeMap::new();
        self.each_series(|series, first, last| {
            if first < to && last >= from && selector.takes(series) {
                let span = found.entry(Arc::clone(series)).or_insert((first, last));
                *span = (span.0.min(first), span.1.max(last));
            }
        });
        let mut notes = Vec::new();
        if found.len() > MAX_SERIES {
            let left = found.len() - MAX_SERIES;
            notes.push(format!(
                "{left} more series are left out; narrow the selector"
            ));
        }
        let mut labels: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for series in found.keys() {
            for (label, value) in &series.labels {
                labels.entry(label.clone()).or_default().push(value.clone());
            }
        }
        for values in labels.values_mut() {
            values.sort();
            values.dedup();
        }
        let millis = |second: u32| i64::from(second) * 1000;
        let series = found.into_iter().take(MAX_SERIES);
        let series = series.map(|(series, (from, to))| SeriesFound {
            labels: series.labels.clone(),
            kind: series.kind.clone(),
            title: kind::title(&series.kind),
            unit: shown_unit(&series.unit).into_owned(),
            from: millis(from),
            to: millis(to) + 1000,
        });
        Ok(SeriesList {
            series: series.collect(),
            labels,
            notes,
        })
    }

    /// The last second of each series of a state.
    fn last_seconds(&self, wanted: &Wanted) -> io::Result<FxHashMap<Arc<Series>, u32>> {
        let mut last: FxHashMap<Arc<Series>, u32> = FxHashMap::default();
        self.scan(wanted, |source| {
            for (series, rows) in &source.parts {
                let newest = rows.iter().map(|row| row.0.second).max().unwrap_or(0);
                let known = last.entry(Arc::clone(series)).or_default();
                *known = newest.max(*known);
            }
            Ok(())
        })?;
        Ok(last)
    }

    pub(super) fn sums(&self, query: &CostsQuery, window: Window) -> Result<Sums, QueryError> {
        let mut wanted = query.wanted(window)?;
        let mut sums = Sums::default();
        if kind::is_state(&query.kind) {
            wanted.detail = Detail::Times;
            wanted.has_names = wanted.selector.has_threads();
            wanted.last = Some(self.last_seconds(&wanted).map_err(of_scan)?);
            wanted.has_names = true;
        }
        let scanned = self.scan(&wanted, |source| sums.add(source, query.by()));
        scanned.map_err(of_scan)?;
        Ok(sums)
    }

    /// Why a question has no answer.
    ///
    /// # Errors
    /// If the query makes no sense.
    pub fn nothing(&self, query: &CostsQuery, window: Window) -> Result<Nothing, QueryError> {
        let series = SeriesQuery {
            selector: query.selector.clone(),
        };
        let found = self.series(&series, window)?.series;
        let mut kinds: Vec<String> = found.into_iter().map(|series| series.kind).collect();
        kinds.sort();
        kinds.dedup();
        Ok(match kinds.is_empty() {
            true => Nothing::NoSeries,
            false => Nothing::OtherKinds {
                asked: query.kind.clone(),
                there: kinds,
            },
        })
    }

    /// The call tree of a window, of the stacks with a method that a filter matches, and its unit; by the innermost methods if it is
    /// inverted.
    ///
    /// # Errors
    /// If the query makes no sense, the answer is too large, or the disk fails.
    pub fn call_tree(
        &self,
        query: &CostsQuery,
        window: Window,
        filter: Option<&Regex>,
        is_inverted: bool,
    ) -> Result<(CallTree, Cow<'static, str>), QueryError> {
        let sums = self.sums(query, window)?;
        let unit = shown_unit(sums.unit.as_deref().unwrap_or_default());
        Ok((sums.call_tree(filter, is_inverted)?, unit))
    }

    /// Values over time, by group.
    ///
    /// # Errors
    /// If the query makes no sense, or the disk fails.
    pub fn over_time(
        &self,
        query: &CostsQuery,
        window: Window,
        steps: Option<u32>,
    ) -> Result<CostsOverTime, QueryError> {
        let mut wanted = query.wanted(window)?;
        wanted.detail = Detail::Times;
        wanted.has_names = query.by() == Some(THREAD) || wanted.selector.has_threads();
        let steps = steps.unwrap_or(STEPS);
        if !(1..=MAX_STEPS).contains(&steps) {
            return Err(QueryError::Invalid(format!(
                "steps: a number from 1 to {MAX_STEPS}"
            )));
        }
        let is_state = kind::is_state(&query.kind);
        let length = wanted.to.saturating_sub(wanted.from).max(1);
        let (mut start, mut step) = (wanted.from, length.div_ceil(steps).max(1));
        if step >= MINUTE {
            // Whole minutes, of which there are sums.
            start = wanted.from / MINUTE * MINUTE;
            step = step.div_ceil(MINUTE) * MINUTE;
        } else if !is_state {
            wanted.detail = Detail::Rows;
        }
        let count = wanted.to.saturating_sub(start).div_ceil(step).max(1) as usize;
        let mut unit = None;
        let mut places: FxHashMap<String, usize> = FxHashMap::default();
        let mut groups: Vec<Vec<u64>> = Vec::new();
        let mut numbers: FxHashMap<Arc<Series>, usize> = FxHashMap::default();
        // The last second of each series and group in a step, and its sum.
        let mut states: FxHashMap<(usize, usize, usize), (u32, u64)> = FxHashMap::default();
        let scanned = self.scan(&wanted, |source| {
            for (series, rows) in &source.parts {
                unit.get_or_insert_with(|| series.unit.clone());
                let next = numbers.len();
                let series_number = *numbers.entry(Arc::clone(series)).or_insert(next);
                // Of the rows of a series only the thread may be in another group than the one before.
                let mut before: Option<(u32, usize)> = None;
                for &(at, value) in rows {
                    let place = (at.second.saturating_sub(start) / step) as usize;
                    let known = before.filter(|known| known.0 == at.thread);
                    let of = known.map(|known| known.1).unwrap_or_else(|| {
                        let group = query.by().map_or("", |by| group(by, series, source, at));
                        match places.get(group) {
                            Some(&of) => of,
                            None => {
                                groups.push(vec![0; count]);
                                places.insert(group.to_owned(), groups.len() - 1);
                                groups.len() - 1
                            }
                        }
                    });
                    before = Some((at.thread, of));
                    if is_state {
                        let key = (series_number, of, place);
                        let state = states.entry(key).or_default();
                        match at.second.cmp(&state.0) {
                            std::cmp::Ordering::Greater => *state = (at.second, value),
                            std::cmp::Ordering::Equal => state.1 = state.1.saturating_add(value),
                            std::cmp::Ordering::Less => {}
                        }
                        continue;
                    }
                    let values = groups.get_mut(of).and_then(|it| it.get_mut(place));
                    if let Some(sum) = values {
                        *sum = sum.saturating_add(value);
                    }
                }
            }
            Ok(())
        });
        scanned.map_err(of_scan)?;
        for ((_, of, place), (_, value)) in states {
            let values = groups.get_mut(of).and_then(|it| it.get_mut(place));
            if let Some(sum) = values {
                *sum = sum.saturating_add(value);
            }
        }
        let lanes = places.into_iter().map(|(group, of)| {
            let mut values = groups.get_mut(of).map(std::mem::take).unwrap_or_default();
            if unit.as_deref() == Some(NANOSECONDS) {
                let mut rounded = Rounded::default();
                values
                    .iter_mut()
                    .for_each(|value| *value = rounded.next(*value));
            }
            Lane {
                total: total(&values, is_state),
                group,
                values,
            }
        });
        let mut lanes: Vec<Lane> = lanes.collect();
        lanes.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.group.cmp(&b.group)));
        let mut notes = Vec::new();
        if lanes.len() > MAX_LANES {
            let small = lanes.split_off(MAX_LANES - 1);
            notes.push(format!("{} groups are one lane, {OTHERS}", small.len()));
            let mut values = vec![0_u64; count];
            for lane in small {
                for (sum, value) in values.iter_mut().zip(lane.values) {
                    *sum = sum.saturating_add(value);
                }
            }
            lanes.push(Lane {
                group: OTHERS.to_owned(),
                total: total(&values, is_state),
                values,
            });
        }
        if lanes.is_empty() {
            notes.push(self.nothing(query, window)?.to_string());
        }
        Ok(CostsOverTime {
            unit: shown_unit(unit.as_deref().unwrap_or_default()).into_owned(),
            from: i64::from(start) * 1000,
            step: i64::from(step) * 1000,
            lanes,
            notes,
        })
    }
}

/// The sum of values; of states the last that there is.
fn total(values: &[u64], is_state: bool) -> u64 {
    match is_state {
        true => values
            .iter()
            .rev()
            .find(|it| **it > 0)
            .copied()
            .unwrap_or(0),
        false => values
            .iter()
            .fold(0, |sum, &value| sum.saturating_add(value)),
    }
}
