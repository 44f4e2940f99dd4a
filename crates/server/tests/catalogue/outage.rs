//! A database that goes away and comes back.

use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use hprof_server::Problem;
use hprof_server::catalogue::{CatalogueError, News, PostgresCatalogue, Queue};

use super::{add, claim, new_dump, open};
use crate::postgres::Cluster;

/// The limit of every wait.
const DEADLINE: Duration = Duration::from_secs(120);

#[test]
fn a_database_that_is_away_is_an_answer_at_once_and_its_return_is_noticed() {
    let Some(mut cluster) = Cluster::start() else {
        return;
    };
    let catalogue = open(&cluster.database("fleet"));
    let job = add(&catalogue, &new_dump(1));
    let mut news = catalogue.news().unwrap();
    cluster.stop();
    let began = Instant::now();
    for _ in 0..20 {
        let failure = catalogue.job_counts().unwrap_err();
        assert!(matches!(failure, CatalogueError::Away(_)), "{failure}");
        let problem = Problem::from(failure);
        assert_eq!(problem.status.as_u16(), 503);
        assert!(!problem.detail.contains("hprof@"), "{}", problem.detail);
    }
    assert!(
        began.elapsed() < Duration::from_secs(40),
        "{:?}",
        began.elapsed()
    );
    cluster.resume();
    let began = Instant::now();
    while catalogue.job_counts().is_err() {
        assert!(began.elapsed() < DEADLINE, "it is never reached again");
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(claim(&catalogue).unwrap().id, job);
    // A listener learns that news were lost, and receives the next.
    let mut has_missed = false;
    let mut added = 1;
    let began = Instant::now();
    loop {
        match news.try_recv() {
            Ok(News::Missed) => has_missed = true,
            Ok(News::Job { .. }) if has_missed => break,
            Ok(_) => {}
            Err(_) => {
                added += 1;
                add(&catalogue, &new_dump(added));
                thread::sleep(Duration::from_millis(50));
            }
        }
        assert!(began.elapsed() < DEADLINE, "no news again");
    }
}

#[test]
fn a_database_that_says_nothing_is_given_up() {
    // The system accepts connections, and no process answers.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = mute.local_addr().unwrap().port();
    let address = format!("postgres://hprof@127.0.0.1:{port}/x?sslmode=disable");
    let began = Instant::now();
    let opened = PostgresCatalogue::open_within(address.parse().unwrap(), Duration::ZERO);
    let failure = opened.err().unwrap();
    assert!(matches!(failure, CatalogueError::Away(_)), "{failure}");
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
}
