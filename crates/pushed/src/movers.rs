//! Methods whose own costs grew or shrank most between two windows.

use std::collections::BTreeSet;

use serde::Serialize;
use utoipa::ToSchema;

use crate::answers::{CostsQuery, Window, shown_unit};
use crate::kind;
use crate::{Pushed, QueryError, answers};

/// Methods of each list, if the request says nothing.
const USUAL: usize = 20;
/// The most methods of a list.
const MAX: usize = 1000;

/// A method whose costs changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Mover {
    /// Its name.
    pub method: String,
    /// Its own costs in the window before.
    pub before: u64,
    /// Its own costs in the window after.
    pub after: u64,
    /// The costs after beyond those before. Windows of different lengths are compared as if the one before had the
    /// length of the one after.
    pub change: i64,
}

/// The methods whose costs changed most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Movers {
    /// The unit of all costs.
    pub unit: String,
    /// The costs of all methods in the window before.
    pub before: u64,
    /// The costs of all methods in the window after.
    pub after: u64,
    /// Methods that cost more, the largest change first.
    pub grew: Vec<Mover>,
    /// Methods that cost less, the largest change first.
    pub shrank: Vec<Mover>,
    /// Limits of the answer, as sentences.
    pub notes: Vec<String>,
}

/// The costs of a window if it had another length.
fn scaled(value: u64, (from, to): (u64, u64)) -> i64 {
    let scaled = u128::from(value) * u128::from(to) / u128::from(from.max(1));
    i64::try_from(scaled).unwrap_or(i64::MAX)
}

impl Pushed {
    /// The methods whose own costs changed most between two windows, at most `limit` in each direction.
    ///
    /// # Errors
    /// If a query makes no sense, an answer is too large, or the disk fails.
    pub fn movers(
        &self,
        before: (&CostsQuery, Window),
        after: (&CostsQuery, Window),
        limit: Option<usize>,
    ) -> Result<Movers, QueryError> {
        let limit = limit.unwrap_or(USUAL);
        if !(1..=MAX).contains(&limit) {
            return Err(QueryError::Invalid(format!(
                "limit: a number from 1 to {MAX}"
            )));
        }
        let length = |window: answers::Window| {
            let (from, to) = window.seconds()?;
            Ok::<_, QueryError>(u64::from(to.saturating_sub(from)).max(1))
        };
        // States are as they are, however long the window.
        let lengths = match kind::is_state(&after.0.kind) {
            true => (1, 1),
            false => (length(before.1)?, length(after.1)?),
        };
        let old = self.sums(before.0, before.1)?.own_by_method();
        let sums = self.sums(after.0, after.1)?;
        let unit = shown_unit(sums.unit.as_deref().unwrap_or_default()).into_owned();
        let new = sums.own_by_method();
        let names: BTreeSet<&str> = old.keys().chain(new.keys()).map(|name| &**name).collect();
        let all = names.into_iter().map(|name| {
            let of = |costs: &rustc_hash::FxHashMap<Box<str>, u64>| {
                costs.get(name).copied().unwrap_or_default()
            };
            let (before, after) = (of(&old), of(&new));
            let change = i64::try_from(after).unwrap_or(i64::MAX);
            Mover {
                method: name.to_owned(),
                before,
                after,
                change: change.saturating_sub(scaled(before, lengths)),
            }
        });
        let mut all: Vec<Mover> = all.filter(|mover| mover.change != 0).collect();
        // Names are in order, and stay so among equals.
        all.sort_by_key(|mover| std::cmp::Reverse(mover.change.unsigned_abs()));
        let (grew, shrank): (Vec<Mover>, Vec<Mover>) =
            all.into_iter().partition(|mover| mover.change > 0);
        let mut notes = Vec::new();
        for (costs, (query, window), which) in [(&old, before, "before"), (&new, after, "after")] {
            if costs.is_empty() {
                let reason = self.nothing(query, window)?;
                notes.push(format!("{which}: {reason}"));
            }
        }
        for (list, what) in [(&grew, "cost more"), (&shrank, "cost less")] {
            if list.len() > limit {
                let left = list.len() - limit;
                notes.push(format!("{left} more methods {what}, each by less"));
            }
        }
        if lengths.0 != lengths.1 {
            notes.push(format!(
                "the window before has {} s and is compared as if it had {} s",
                lengths.0, lengths.1
            ));
        }
        let first = |mut list: Vec<Mover>| {
            list.truncate(limit);
            list
        };
        let sum = |costs: rustc_hash::FxHashMap<Box<str>, u64>| {
            let all = costs.into_values();
            all.fold(0, |sum: u64, value| sum.saturating_add(value))
        };
        Ok(Movers {
            unit,
            grew: first(grew),
            shrank: first(shrank),
            before: sum(old),
            after: sum(new),
            notes,
        })
    }
}
