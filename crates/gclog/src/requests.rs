//! Collections that a program or a tool has requested, each request counted once.

use serde::Serialize;

use crate::event::{Family, Nanos, Pause};

/// Causes of collections that the program or a tool has asked for (`gcCause.cpp`).
pub(crate) const ASKED: [&str; 5] = [
    SYSTEM_GC,
    "Heap Dump Initiated GC",
    "Heap Inspection Initiated GC",
    "Diagnostic Command",
    "JvmtiEnv ForceGarbageCollection",
];
/// The cause that the program itself has.
pub(crate) const SYSTEM_GC: &str = "System.gc()";

/// Causes of collections that metaspace asks for when it grows.
pub(crate) const METADATA: [&str; 2] =
    ["Metadata GC Threshold", "Metadata GC Clear Soft References"];

/// The requests of one cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The cause in the log.
    pub cause: &'static str,
    /// How often a collection was asked for.
    pub count: u64,
    /// The pauses of these requests in total; none of concurrent cycles, whose pauses have no cause.
    #[serde(rename = "sum_ms")]
    pub sum: Option<Nanos>,
    /// The requests that started a concurrent cycle of G1.
    pub concurrent: u64,
}

/// Requests by cause.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    by_cause: Vec<Request>,
    /// The cause of a young collection that was the last pause: the full one of the same request may follow.
    begun: Option<&'static str>,
}

impl Requests {
    /// Takes any pause.
    pub fn pause(&mut self, pause: &Pause<'_>) {
        let begun = self.begun.take();
        let Some(request) = self.of(pause.cause) else {
            return;
        };
        let sum = request.sum.unwrap_or_default().0;
        request.sum = Some(Nanos(sum.saturating_add(pause.duration.0)));
        let cause = request.cause;
        let is_concurrent = starts_cycle(pause);
        request.concurrent += u64::from(is_concurrent);
        // Parallel collects the young generation before the whole heap, as Serial and CMS do by an option.
        let is_second = pause.family == Family::Full && begun == Some(cause);
        request.count += u64::from(!is_second);
        if pause.family == Family::Young && !is_concurrent {
            self.begun = Some(cause);
        }
    }

    /// Takes a collection of ZGC or a cycle of Shenandoah.
    pub fn cycle(&mut self, cause: &[u8]) {
        if let Some(request) = self.of(cause) {
            request.count += 1;
        }
    }

    /// The requests of a cause; none for causes that are no requests.
    fn of(&mut self, cause: &[u8]) -> Option<&mut Request> {
        let mut causes = ASKED.into_iter().chain(METADATA);
        let cause = causes.find(|it| it.as_bytes() == cause)?;
        let at = self.by_cause.iter().position(|it| it.cause == cause);
        let at = at.unwrap_or_else(|| {
            self.by_cause.push(Request {
                cause,
                count: 0,
                sum: None,
                concurrent: 0,
            });
            self.by_cause.len() - 1
        });
        self.by_cause.get_mut(at)
    }

    /// The requests of program and tools, and those of metaspace, the largest sums first.
    pub fn rows(mut self) -> (Vec<Request>, Vec<Request>) {
        self.by_cause
            .sort_by_key(|request| std::cmp::Reverse((request.sum, request.count)));
        let asked = self.by_cause.into_iter();
        asked.partition(|request| ASKED.contains(&request.cause))
    }
}

/// Returns whether a young collection of G1 starts a concurrent cycle, under the names of all
/// releases.
fn starts_cycle(pause: &Pause<'_>) -> bool {
    let names: [&[u8]; 3] = [b"Concurrent Start", b"Initial Mark", b"initial-mark"];
    pause.family == Family::Young
        && (names.contains(&pause.kind.detail) || names.contains(&pause.kind.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;

    /// Cause, count, milliseconds and concurrent starts of pauses of one millisecond.
    fn requests(pauses: &[(&str, &str, Family, &str)]) -> Vec<(&'static str, u64, f64, u64)> {
        let mut requests = Requests::default();
        for (name, detail, family, cause) in pauses {
            requests.pause(&Pause {
                at: None,
                kind: Kind {
                    name: name.as_bytes(),
                    detail: detail.as_bytes(),
                },
                cause: cause.as_bytes(),
                family: *family,
                duration: Nanos(1_000_000),
                heap: None,
                has_failed: false,
            });
        }
        let (asked, metaspace) = requests.rows();
        let rows = asked.into_iter().chain(metaspace);
        rows.map(|it| (it.cause, it.count, it.sum.unwrap().millis(), it.concurrent))
            .collect()
    }

    #[test]
    fn a_young_collection_and_the_full_one_after_it_are_one_request() {
        let young = ("Young", "", Family::Young, SYSTEM_GC);
        let full = ("Full", "", Family::Full, SYSTEM_GC);
        let other = ("Young", "", Family::Young, "Allocation Failure");
        let dump = ("Full", "", Family::Full, "Heap Dump Initiated GC");
        assert_eq!(requests(&[young, full]), [(SYSTEM_GC, 1, 2.0, 0)]);
        assert_eq!(
            requests(&[young, full, young, full]),
            [(SYSTEM_GC, 2, 4.0, 0)]
        );
        assert_eq!(requests(&[full, full]), [(SYSTEM_GC, 2, 2.0, 0)]);
        assert_eq!(requests(&[young, other, full]), [(SYSTEM_GC, 2, 2.0, 0)]);
        let threshold = |name, family| (name, "", family, "Metadata GC Threshold");
        let of_metaspace = [
            threshold("Young", Family::Young),
            threshold("Full", Family::Full),
        ];
        assert_eq!(
            requests(&of_metaspace),
            [("Metadata GC Threshold", 1, 2.0, 0)]
        );
        assert_eq!(
            requests(&[young, dump, other]),
            [(SYSTEM_GC, 1, 1.0, 0), (dump.3, 1, 1.0, 0)]
        );
    }

    #[test]
    fn a_concurrent_start_is_a_request_of_its_own() {
        let full = ("Full", "", Family::Full, SYSTEM_GC);
        for (name, detail) in [
            ("Young", "Concurrent Start"),
            ("Young", "initial-mark"),
            ("Initial Mark", ""),
        ] {
            let start = (name, detail, Family::Young, SYSTEM_GC);
            assert_eq!(requests(&[start, full]), [(SYSTEM_GC, 2, 2.0, 1)]);
        }
    }
}
