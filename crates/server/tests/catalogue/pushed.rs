//! The list of segments that servers share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hprof_server::catalogue::PostgresCatalogue;
use hprof_server::catalogue::pushed::{PushedSegment, PushedSegments};

use super::open;
use crate::postgres::Cluster;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn segment(id: &str) -> PushedSegment {
    PushedSegment {
        id: id.to_owned(),
        level: 0,
        bytes: 1000,
        sha256: "00".repeat(32),
    }
}

/// Reserves and publishes.
fn add(list: &PostgresCatalogue, id: &str) {
    assert!(list.reserve_pushed(&segment(id)).unwrap());
    assert!(list.publish_pushed(id).unwrap());
}

fn live(list: &PostgresCatalogue) -> Vec<String> {
    let mut live: Vec<String> = list
        .pushed_segments()
        .unwrap()
        .into_iter()
        .map(|it| it.id)
        .collect();
    live.sort();
    live
}

#[test]
fn a_segment_counts_from_its_publication_until_it_is_replaced() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let list = open(&cluster.database("pushed"));
    // Reserved twice by a server that was killed in between.
    for _ in 0..2 {
        assert!(list.reserve_pushed(&segment("a")).unwrap());
    }
    assert_eq!(live(&list), [""; 0]);
    assert!(list.publish_pushed("a").unwrap());
    assert!(!list.publish_pushed("a").unwrap());
    assert!(!list.reserve_pushed(&segment("a")).unwrap());
    assert_eq!(list.pushed_segments().unwrap(), [segment("a")]);
    add(&list, "b");
    // Neither without a reserved name nor in the place of one that does not count.
    assert!(!list.replace_pushed(Some("c"), &["a", "b"]).unwrap());
    assert!(list.reserve_pushed(&segment("c")).unwrap());
    assert!(!list.replace_pushed(Some("c"), &["a", "x"]).unwrap());
    assert_eq!(live(&list), ["a", "b"]);
    assert!(list.replace_pushed(Some("c"), &["a", "b"]).unwrap());
    assert_eq!(live(&list), ["c"]);
    assert!(!list.replace_pushed(None, &["a"]).unwrap());
    // The name stays known, and does not count again.
    assert!(!list.reserve_pushed(&segment("a")).unwrap());
    assert!(!list.publish_pushed("a").unwrap());
    assert!(list.replace_pushed(None, &["c"]).unwrap());
    assert_eq!(live(&list), [""; 0]);
}

#[test]
fn files_go_a_while_after_their_segments_and_names_later() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let list = open(&cluster.database("pushed"));
    add(&list, "a");
    assert!(list.reserve_pushed(&segment("b")).unwrap());
    assert!(list.replace_pushed(None, &["a"]).unwrap());
    assert_eq!(list.pushed_leftovers().unwrap(), [""; 0]);
    let age = |minutes: u32| {
        let sql = format!("UPDATE pushed_segments SET changed_at = changed_at - {minutes} * 60000");
        cluster.ask("pushed", &sql);
    };
    age(11);
    assert_eq!(list.pushed_leftovers().unwrap(), ["a"]);
    list.forget_pushed("a", DAY).unwrap();
    assert!(!list.reserve_pushed(&segment("a")).unwrap());
    // A name that was reserved for nothing is free again.
    age(24 * 60);
    assert_eq!(list.pushed_leftovers().unwrap(), ["b"]);
    list.forget_pushed("b", DAY).unwrap();
    assert!(list.reserve_pushed(&segment("b")).unwrap());
    // The other was replaced a day ago, so nothing remembers it.
    assert!(list.reserve_pushed(&segment("a")).unwrap());
}

#[test]
fn of_servers_that_merge_the_same_segments_one_wins() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let address = cluster.database("pushed");
    let lists: Vec<_> = (0..4).map(|_| open(&address)).collect();
    for round in 0..20 {
        let old = ["a", "b", "c"].map(|name| format!("{name}{round}"));
        old.iter().for_each(|id| add(&lists[0], id));
        let won = AtomicUsize::new(0);
        thread::scope(|scope| {
            for (number, list) in lists.iter().enumerate() {
                let (won, old) = (&won, &old);
                scope.spawn(move || {
                    let new = format!("new{round}.{number}");
                    assert!(list.reserve_pushed(&segment(&new)).unwrap());
                    let mut gone: Vec<&str> = old.iter().map(String::as_str).collect();
                    gone.rotate_left(number % 3);
                    let is_ours = list.replace_pushed(Some(&new), &gone).unwrap();
                    won.fetch_add(usize::from(is_ours), Ordering::Relaxed);
                });
            }
        });
        assert_eq!(won.into_inner(), 1);
        assert_eq!(live(&lists[0]).len(), round + 1);
    }
}

#[test]
fn one_server_keeps_and_each_counts_the_others() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let list = open(&cluster.database("pushed"));
    assert_eq!(list.note_pushed_server("one").unwrap(), 0);
    assert_eq!(list.note_pushed_server("two").unwrap(), 1);
    assert_eq!(list.note_pushed_server("one").unwrap(), 1);
    assert!(list.keep_pushed("one").unwrap() && list.keep_pushed("one").unwrap());
    assert!(!list.keep_pushed("two").unwrap());
    cluster.ask("pushed", "UPDATE pushed_keeper SET until = until - 180000");
    assert!(list.keep_pushed("two").unwrap());
    assert!(!list.keep_pushed("one").unwrap());
    cluster.ask(
        "pushed",
        "UPDATE pushed_servers SET seen_at = seen_at - 660000",
    );
    assert_eq!(list.note_pushed_server("two").unwrap(), 0);
    list.note_pushed_server("one").unwrap();
    list.remove_pushed_server("two").unwrap();
    assert_eq!(list.note_pushed_server("one").unwrap(), 0);
    assert!(list.keep_pushed("one").unwrap());
}
