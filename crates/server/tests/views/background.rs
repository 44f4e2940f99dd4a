//! Work in the background: once for all who ask, and never the end of more than itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hprof_server::views::ViewError;
use hprof_server::views::later::Later;

use super::made::Made;
use super::opening::open;

const LONG: Duration = Duration::from_secs(20);

#[test]
fn work_is_done_once_for_all_who_ask() {
    let opening = open(&Made::new().bytes(), "{}");
    let later: Arc<Later<u64>> = Arc::default();
    let done = Arc::new(AtomicUsize::new(0));
    let ask = |patience| {
        let done = Arc::clone(&done);
        let work = move |_: &_| {
            std::thread::sleep(Duration::from_millis(200));
            Ok(done.fetch_add(1, Ordering::Relaxed) as u64 + 7)
        };
        later.ask(&opening.opened, work, patience)
    };
    // Who has no patience has no answer yet.
    assert_eq!(ask(Duration::ZERO), Ok(None));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(ask(LONG), Ok(Some(Arc::new(7)))));
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), 1);
}

#[test]
fn work_that_breaks_is_a_failure_for_all_who_ask() {
    let opening = open(&Made::new().bytes(), "{}");
    let later: Arc<Later<u64>> = Arc::default();
    for _ in 0..2 {
        let work = |_: &_| -> Result<u64, ViewError> { panic!("broken") };
        let found = later.ask(&opening.opened, work, LONG);
        assert!(matches!(found, Err(ViewError::Failed(_))), "{found:?}");
    }
    // The turn of those who walk over dumps is free again.
    let other: Arc<Later<u64>> = Arc::default();
    assert_eq!(
        other.ask(&opening.opened, |_| Ok(1), LONG),
        Ok(Some(Arc::new(1)))
    );
}
