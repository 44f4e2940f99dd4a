//! Sentences on a slow call: its collections, the owners of its locks, its request.

use crate::slow::{LockOwner, SlowCall};

/// Nanoseconds with a unit.
pub fn time(nanos: u64) -> String {
    let exact = nanos as f64;
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{:.2} us", exact / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", exact / 1e6),
        _ => format!("{:.3} s", exact / 1e9),
    }
}

impl SlowCall {
    /// The nanoseconds in which collections stopped the program meanwhile.
    pub fn stopped(&self) -> u64 {
        let pauses = self.pauses.iter();
        pauses.fold(0, |sum: u64, it| sum.saturating_add(it.1))
    }

    /// Sentences, without a full stop, on the owners of locks, collections, and the request.
    pub fn remarks(&self) -> Vec<String> {
        let mut said: Vec<String> = self.owners.iter().map(LockOwner::remark).collect();
        match self.pauses.len() {
            0 => {}
            1 => said.push(format!(
                "a collection stopped the program for {} of it",
                time(self.stopped())
            )),
            count => said.push(format!(
                "{count} collections stopped the program for {} of it",
                time(self.stopped())
            )),
        }
        if let Some(trace) = &self.trace_id {
            let span = self.span_id.as_deref().unwrap_or("unknown");
            said.push(format!("trace {trace}, span {span}"));
        }
        said
    }
}

impl LockOwner {
    fn remark(&self) -> String {
        let place = match self.place.is_empty() {
            true => String::new(),
            false => format!(", in {}", self.place),
        };
        let seen = match self.seen {
            0 | 1 => format!("seen {} after it began", time(self.at)),
            seen => format!("seen {seen} times from {} after it began on", time(self.at)),
        };
        format!(
            "its lock of {} was owned by \"{}\"{place} ({seen})",
            self.lock, self.thread
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slow::SlowPause;

    #[test]
    fn times_have_units() {
        for (nanos, said) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (12_340_000, "12.34 ms"),
            (2_500_000_000, "2.500 s"),
        ] {
            assert_eq!(time(nanos), said);
        }
    }

    #[test]
    fn a_call_says_who_had_its_lock() {
        assert_eq!(SlowCall::default().remarks(), Vec::<String>::new());
        let owner = LockOwner {
            at: 52_000_000,
            seen: 3,
            lock: "java.lang.Object".to_owned(),
            thread: "holder".to_owned(),
            place: "acme.Store.save:42".to_owned(),
        };
        let call = SlowCall {
            trace_id: Some("4bf9".to_owned()),
            span_id: Some("00f0".to_owned()),
            pauses: vec![SlowPause(1, 1_000_000), SlowPause(5_000_000, 500_000)],
            owners: vec![
                owner.clone(),
                LockOwner {
                    seen: 1,
                    place: String::new(),
                    ..owner
                },
            ],
            ..SlowCall::default()
        };
        assert_eq!(
            call.remarks(),
            [
                "its lock of java.lang.Object was owned by \"holder\", in acme.Store.save:42 (seen 3 times from 52.00 ms after \
                 it began on)",
                "its lock of java.lang.Object was owned by \"holder\" (seen 52.00 ms after it began)",
                "2 collections stopped the program for 1.50 ms of it",
                "trace 4bf9, span 00f0",
            ]
        );
    }
}
