//! Durations by name, for a bounded number of names: kinds of pauses, causes, operations of the VM.

use crate::durations::Durations;

/// A log has some twenty causes; one with more names than these is made up.
const MAX_NAMES: usize = 48;
/// Longer names are cut, in bytes.
const MAX_LENGTH: usize = 160;
/// The name of all that have no place of their own.
const OTHERS: &str = "(others)";

/// Durations by name.
#[derive(Debug, Clone)]
pub(crate) struct Named<T> {
    /// In the order in which they came.
    rows: Vec<(Box<[u8]>, T, Durations)>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self { rows: Vec::new() }
    }
}

impl<T: Copy> Named<T> {
    /// Adds a duration; `what` belongs to the name.
    pub fn add(&mut self, name: &[u8], what: T, duration: crate::Nanos) {
        let name = &name[..name.len().min(MAX_LENGTH)];
        // Names are few, and the frequent ones come early.
        let found = self.rows.iter().position(|(it, ..)| **it == *name);
        let at = match found {
            Some(at) => at,
            None if self.rows.len() < MAX_NAMES => {
                self.rows.push((name.into(), what, Durations::default()));
                self.rows.len() - 1
            }
            None => {
                if self.rows.len() == MAX_NAMES {
                    let others = OTHERS.as_bytes();
                    self.rows.push((others.into(), what, Durations::default()));
                }
                MAX_NAMES
            }
        };
        self.rows[at].2.add(duration);
    }

    /// Names with what belongs to them, the largest sums first.
    pub fn rows(&self) -> Vec<(String, T, &Durations)> {
        let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut rows: Vec<_> = (self.rows.iter())
            .map(|(bytes, what, durations)| (name(bytes), *what, durations))
            .collect();
        rows.sort_by_key(|(_, _, durations)| std::cmp::Reverse(durations.sum()));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nanos;

    #[test]
    fn names_are_bounded() {
        let mut named = Named::default();
        for number in 0..1000u64 {
            named.add(format!("{number}").as_bytes(), (), Nanos(1));
        }
        named.add(b"7", (), Nanos(9));
        let rows = named.rows();
        assert_eq!(rows.len(), MAX_NAMES + 1);
        assert_eq!((rows[0].0.as_str(), rows[0].2.count()), (OTHERS, 952));
        assert_eq!((rows[1].0.as_str(), rows[1].2.count()), ("7", 2));
    }
}
