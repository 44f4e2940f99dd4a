//! The promises of PostgreSQL to many servers and workers.

use std::collections::HashSet;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use hprof_server::catalogue::{Ending, JobState, News, PostgresCatalogue, Queue};

use super::{LONG, add, claim, claim_as, error, new_dump, open};
use crate::postgres::Cluster;

/// The limit of every wait.
const DEADLINE: Duration = Duration::from_secs(120);

#[test]
fn many_who_start_at_once_make_one_schema_and_none_takes_a_later_one() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let address = cluster.database("new");
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| open(&address));
        }
    });
    assert_eq!(
        cluster.ask("new", "SELECT count(*) FROM hprof_rs_schema"),
        "1"
    );
    cluster.ask("new", "INSERT INTO hprof_rs_schema VALUES (99)");
    let refused = PostgresCatalogue::open(address.parse().unwrap());
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("later version"), "{refused}");
}

#[test]
fn each_job_is_claimed_once_by_whoever_comes_first() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let address = cluster.database("fleet");
    let catalogues: Vec<_> = (0..4).map(|_| open(&address)).collect();
    for number in 1..=200 {
        add(&catalogues[0], &new_dump(number));
    }
    let claimed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for catalogue in &catalogues {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some(job) = claim(catalogue) {
                        claimed.lock().unwrap().push(job.id);
                        let end = Ending::Failed(error());
                        assert!(catalogue.end(job.id, job.attempt, &end).unwrap());
                    }
                });
            }
        }
    });
    let claimed = claimed.into_inner().unwrap();
    assert_eq!(claimed.len(), 200);
    assert_eq!(claimed.iter().collect::<HashSet<_>>().len(), 200);
}

#[test]
fn a_job_whose_lease_ran_out_goes_to_another_and_the_first_changes_nothing() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let address = cluster.database("fleet");
    let (first, second) = (open(&address), open(&address));
    let job = add(&first, &new_dump(1));
    let lease = Duration::from_millis(300);
    assert_eq!(claim_as(&first, "one:1", lease).unwrap().attempt, 1);
    assert_eq!(
        second.recover(&error()).unwrap(),
        0,
        "the lease has not run out"
    );
    thread::sleep(lease);
    assert!(
        first.renew(job, 1, lease, None).unwrap(),
        "nobody has taken it"
    );
    assert_eq!(second.recover(&error()).unwrap(), 0, "it was renewed");
    thread::sleep(lease * 2);
    assert_eq!(second.recover(&error()).unwrap(), 1);
    let taken = claim_as(&second, "two:1", LONG).unwrap();
    assert_eq!((taken.id, taken.attempt), (job, 2));
    assert_eq!(taken.worker.as_deref(), Some("two:1"));
    assert!(!first.renew(job, 1, LONG, None).unwrap());
    for late in [
        Ending::Interrupted,
        Ending::Failed(error()),
        Ending::Crashed(error()),
    ] {
        assert!(!first.end(job, 1, &late).unwrap());
    }
    assert_eq!(second.job(job).unwrap().unwrap().state, JobState::Running);
}

#[test]
fn a_crash_is_followed_by_a_pause_that_grows() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let address = cluster.database("fleet");
    let catalogue = open(&address).with_back_off(Duration::from_secs(1));
    let job = add(&catalogue, &new_dump(1));
    for (attempt, pause) in [(1, 1000), (2, 4000)] {
        let began = Instant::now();
        while claim(&catalogue).is_none() {
            assert!(began.elapsed() < DEADLINE, "attempt {attempt} is never due");
            thread::sleep(Duration::from_millis(10));
        }
        let crashed = Ending::Crashed(error());
        assert!(catalogue.end(job, attempt, &crashed).unwrap());
        let sql = "SELECT due_at - hprof_rs_now() FROM jobs";
        let left: i64 = cluster.ask("fleet", sql).parse().unwrap();
        assert!(
            left <= pause && left > pause - 990,
            "{left} ms after attempt {attempt}"
        );
        assert!(claim(&catalogue).is_none(), "it is not due");
    }
    assert!(catalogue.cancel(job).unwrap().is_some());
    assert!(catalogue.retry(job).unwrap());
    assert_eq!(
        claim(&catalogue).unwrap().attempt,
        3,
        "a person does not wait"
    );
}

#[test]
fn a_job_for_which_no_worker_has_room_says_what_the_largest_has() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let catalogue = open(&cluster.database("fleet"));
    let (large, small) = (
        add(&catalogue, &new_dump(1000)),
        add(&catalogue, &new_dump(10)),
    );
    let room = |job| catalogue.job(job).unwrap().unwrap().room;
    assert_eq!(room(large), None);
    // The larger one of two workers counts, in whatever order they look.
    for (offered, noted) in [(500, Some(500)), (900, Some(900)), (600, Some(900))] {
        catalogue.note_room(offered).unwrap();
        assert_eq!((room(large), room(small)), (noted, None));
    }
    catalogue.note_room(2000).unwrap();
    assert_eq!(room(large), Some(900));
    assert_eq!(claim(&catalogue).unwrap().id, large);
    assert_eq!(room(large), None, "a worker has room now");
}

#[test]
fn all_hear_of_jobs_and_dumps() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let address = cluster.database("fleet");
    let (one, two) = (open(&address), open(&address));
    let mut news = two.news().unwrap();
    let mut wait_for = |wanted: &News| {
        let began = Instant::now();
        loop {
            match news.try_recv() {
                Ok(found) if found == *wanted => return,
                Ok(_) => {}
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
            assert!(began.elapsed() < DEADLINE, "never heard: {wanted:?}");
        }
    };
    wait_for(&News::Missed);
    let dump = new_dump(1);
    let id = add(&one, &dump);
    let job = |state| News::Job {
        id,
        state,
        dump: dump.id.clone(),
    };
    wait_for(&job(JobState::Queued));
    claim(&one).unwrap();
    wait_for(&job(JobState::Running));
    one.cancel(id).unwrap();
    wait_for(&job(JobState::Cancelled));
    hprof_server::catalogue::Catalogue::delete_dump(&one, &dump.id).unwrap();
    wait_for(&News::DumpDeleted(dump.id.clone()));
}
