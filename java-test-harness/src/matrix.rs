//! The one place where a test is repeated for every JDK and collector.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::outcome::forget_dropped;
use crate::{Collector, Jdk};

/// Runs the test on every tested JDK; fails at the end, naming each JDK it failed on.
///
/// # Panics
///
/// When the test panicked on any JDK.
pub fn each_jdk(test: impl Fn(&'static Jdk)) {
    each_jdk_since(0, test);
}

/// As [`each_jdk`], for the JDKs of at least the given feature release.
///
/// # Panics
///
/// When the test panicked on any JDK.
pub fn each_jdk_since(feature: u32, test: impl Fn(&'static Jdk)) {
    each_of(Jdk::tested(), feature, test);
}

/// Runs a test of what differs between releases on every supported JDK; fails at the end, naming each JDK it failed on.
///
/// # Panics
///
/// When the test panicked on any JDK.
pub fn each_release(test: impl Fn(&'static Jdk)) {
    each_release_since(0, test);
}

/// As [`each_release`], for the JDKs of at least the given feature release.
///
/// # Panics
///
/// When the test panicked on any JDK.
pub fn each_release_since(feature: u32, test: impl Fn(&'static Jdk)) {
    each_of(Jdk::releases(), feature, test);
}

fn each_of(jdks: Vec<&'static Jdk>, feature: u32, test: impl Fn(&'static Jdk)) {
    let jdks = jdks.into_iter().filter(|jdk| jdk.feature() >= feature);
    each(jdks.map(|jdk| (jdk.to_string(), jdk)), test);
}

/// Runs the test on every tested JDK with every collector that JDK has.
///
/// # Panics
///
/// When the test panicked in any of these cells.
pub fn each_collector(test: impl Fn(&'static Jdk, Collector)) {
    let cells = Jdk::tested().into_iter().flat_map(|jdk| {
        let supported = Collector::tested()
            .into_iter()
            .filter(move |it| it.supported_by(jdk));
        supported.map(move |collector| (format!("{jdk} with {collector}"), (jdk, collector)))
    });
    each(cells, |(jdk, collector)| test(jdk, collector));
}

fn each<T>(cells: impl Iterator<Item = (String, T)>, test: impl Fn(T)) {
    let mut failed = Vec::new();
    let mut passed = 0;
    for (name, cell) in cells {
        match catch_unwind(AssertUnwindSafe(|| test(cell))) {
            Ok(()) => {
                forget_dropped();
                passed += 1;
            }
            Err(_) => {
                eprintln!("^^^ failed on {name}\n");
                failed.push(name);
            }
        }
    }
    assert!(
        failed.is_empty(),
        "failed on {}; passed {passed} others",
        failed.join(", ")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(panic: Box<dyn std::any::Any + Send>) -> String {
        *panic.downcast::<String>().unwrap()
    }

    #[test]
    fn every_cell_runs_and_failures_are_named() {
        let cells = [1, 2, 3, 4].map(|number| (format!("cell {number}"), number));
        let panic = catch_unwind(|| {
            each(cells.into_iter(), |number| assert!(number % 2 == 1, "even"));
        });
        assert_eq!(
            message(panic.unwrap_err()),
            "failed on cell 2, cell 4; passed 2 others"
        );
    }

    #[test]
    fn passing_cells_pass() {
        each([("one".to_owned(), 1)].into_iter(), |number| {
            assert_eq!(number, 1)
        });
    }
}
