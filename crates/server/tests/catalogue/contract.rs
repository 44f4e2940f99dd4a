//! The promises of every catalogue.

use std::collections::BTreeMap;

use hprof_server::Millis;
use hprof_server::catalogue::{
    Added, Catalogue, Claim, Deed, DumpKind, DumpPatch, DumpQuery, Ending, JobQuery, JobState,
    Outcome, Role, Upload,
};
use hprof_server::jobs::Progress;
use hprof_server::rules::Verdict;
use serde_json::json;

use super::{LONG, add, claim, error, figures, new_dump};

/// A promise, which panics if a catalogue breaks it.
type Promise = fn(&dyn Catalogue);

/// Each promise with its name.
pub const ALL: [(&str, Promise); 13] = [
    (
        "of_two_who_change_a_job_one_wins",
        of_two_who_change_a_job_one_wins,
    ),
    ("crashes_are_counted", crashes_are_counted_and_stops_are_not),
    ("a_job_waits_for_room", a_job_waits_for_room),
    ("jobs_in_pages", jobs_come_in_pages_and_by_state),
    ("dumps_in_pages", dumps_come_in_pages_and_by_text),
    ("dumps_change", dumps_change_and_go),
    ("texts_survive", texts_of_strangers_survive),
    ("uploads_tokens", uploads_tokens_and_deeds_are_kept),
    ("growth", figures::classes_that_grow_on_each_host_are_found),
    (
        "suspects",
        figures::suspects_are_found_in_all_services_and_go_with_their_dumps,
    ),
    ("regressions", figures::two_builds_are_compared_by_host),
    ("hostile_figures", figures::figures_of_strangers_do_no_harm),
    ("figures_once", figures::figures_are_kept_once),
];

fn done(headline: &str) -> Ending {
    Ending::Done(Outcome {
        kind: DumpKind::Heap,
        headline: Some(headline.to_owned()),
        summary: Some(json!({"live_objects": 7})),
        figures: None,
    })
}

fn of_two_who_change_a_job_one_wins(catalogue: &dyn Catalogue) {
    let dump = new_dump(1);
    let job = add(catalogue, &dump);
    assert_eq!(catalogue.add_dump(&dump).unwrap(), Added::Known);
    assert_eq!(catalogue.next_queued().unwrap().unwrap().id, job);
    let first = claim(catalogue).unwrap();
    assert_eq!((first.id, first.attempt), (job, 1));
    assert_eq!(first.dump, dump.id);
    assert!(claim(catalogue).is_none());
    // The first attempt crashes, the second runs; everything that the first says now is late.
    assert!(catalogue.end(job, 1, &Ending::Crashed(error())).unwrap());
    assert_eq!(claim(catalogue).unwrap().attempt, 2);
    assert!(!catalogue.end(job, 1, &done("late")).unwrap());
    assert!(!catalogue.renew(job, 1, LONG, None).unwrap());
    assert!(catalogue.renew(job, 2, LONG, None).unwrap());
    assert_eq!(catalogue.dump(&dump.id).unwrap().unwrap().headline, None);
    assert_eq!(catalogue.cancel(job).unwrap(), Some(JobState::Running));
    assert!(!catalogue.end(job, 2, &done("late")).unwrap());
    assert!(!catalogue.renew(job, 2, LONG, None).unwrap());
    assert_eq!(catalogue.cancel(job).unwrap(), None);
    assert!(catalogue.retry(job).unwrap());
    assert!(!catalogue.retry(job).unwrap());
    assert_eq!(claim(catalogue).unwrap().attempt, 3);
    let progress = Progress {
        phase: "graph".to_owned(),
        done: 5,
        total: 10,
        unit: "bytes".to_owned(),
        bytes_per_second: 2.0,
        seconds_left: Some(2.5),
    };
    assert!(catalogue.renew(job, 3, LONG, Some(&progress)).unwrap());
    let running = catalogue.job(job).unwrap().unwrap();
    assert_eq!(running.phase.as_deref(), Some("graph"));
    assert!(catalogue.end(job, 3, &done("done")).unwrap());
    let kept = catalogue.dump(&dump.id).unwrap().unwrap();
    assert_eq!(kept.headline.as_deref(), Some("done"));
    assert_eq!(kept.summary.unwrap()["live_objects"], 7);
    assert_eq!(kept.kind, DumpKind::Heap);
    assert_eq!(kept.job.unwrap().state, JobState::Done);
}

fn crashes_are_counted_and_stops_are_not(catalogue: &dyn Catalogue) {
    let job = add(catalogue, &new_dump(1));
    for attempt in 1..=5 {
        assert_eq!(claim(catalogue).unwrap().attempt, attempt);
        assert!(catalogue.end(job, attempt, &Ending::Interrupted).unwrap());
    }
    let allowed = if catalogue.is_shared() { 5 } else { 2 };
    for attempt in 6..6 + allowed {
        assert_eq!(claim(catalogue).unwrap().attempt, attempt);
        let crashed = Ending::Crashed(error());
        assert!(catalogue.end(job, attempt, &crashed).unwrap());
        let last = attempt + 1 == 6 + allowed;
        let state = if last {
            JobState::Failed
        } else {
            JobState::Queued
        };
        assert_eq!(catalogue.job(job).unwrap().unwrap().state, state);
    }
    let failed = catalogue.job(job).unwrap().unwrap();
    assert_eq!(failed.error, Some(error()));
    // A job whose workers fall silent again and again is given up in the end.
    assert!(catalogue.retry(job).unwrap());
    let mut lost = 0;
    while catalogue.job(job).unwrap().unwrap().state == JobState::Queued {
        let claimed = super::claim_as(catalogue, "lost:1", std::time::Duration::ZERO);
        assert!(claimed.is_some());
        std::thread::sleep(std::time::Duration::from_millis(3));
        assert_eq!(catalogue.recover(&error()).unwrap(), 1);
        lost += 1;
        assert!(lost < 10, "it is never given up");
    }
    assert_eq!(catalogue.job(job).unwrap().unwrap().state, JobState::Failed);
}

fn a_job_waits_for_room(catalogue: &dyn Catalogue) {
    let job = add(catalogue, &new_dump(1000));
    let mut wish = Claim {
        worker: "small:1",
        room: 999,
        lease: LONG,
    };
    assert!(catalogue.claim(&wish).unwrap().is_none());
    wish.room = 1000;
    assert_eq!(catalogue.claim(&wish).unwrap().unwrap().id, job);
    let large = add(catalogue, &new_dump(2000));
    assert!(catalogue.reject(large, &error()).unwrap());
    assert!(!catalogue.reject(large, &error()).unwrap());
    assert!(!catalogue.reject(job, &error()).unwrap());
    assert_eq!(
        catalogue.job(large).unwrap().unwrap().state,
        JobState::Failed
    );
}

fn jobs_come_in_pages_and_by_state(catalogue: &dyn Catalogue) {
    let jobs: Vec<_> = (1..=5)
        .map(|number| add(catalogue, &new_dump(number)))
        .collect();
    for expected in &jobs[..2] {
        assert_eq!(
            claim(catalogue).unwrap().id,
            *expected,
            "the oldest comes first"
        );
    }
    assert_eq!(catalogue.job_counts().unwrap(), (2, 3));
    let mut query = JobQuery {
        limit: 2,
        ..JobQuery::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = catalogue.jobs(&query).unwrap();
        seen.extend(page.items.iter().map(|job| job.id));
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    seen.reverse();
    assert_eq!(seen, jobs);
    let query = JobQuery {
        limit: 10,
        state: Some(JobState::Running),
        cursor: None,
    };
    assert_eq!(catalogue.jobs(&query).unwrap().items.len(), 2);
    let strange = JobQuery {
        limit: 10,
        cursor: Some("x".to_owned()),
        state: None,
    };
    assert!(catalogue.jobs(&strange).unwrap().items.is_empty());
}

fn dumps_come_in_pages_and_by_text(catalogue: &dyn Catalogue) {
    for number in 1..=5 {
        add(catalogue, &new_dump(number));
    }
    let mut query = DumpQuery {
        limit: 2,
        ..DumpQuery::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = catalogue.dumps(&query).unwrap();
        seen.extend(page.items.into_iter().map(|dump| dump.name));
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    seen.sort();
    assert_eq!(
        seen,
        ["1.hprof", "2.hprof", "3.hprof", "4.hprof", "5.hprof"]
    );
    let found = |text: &str| {
        let query = DumpQuery {
            limit: 10,
            text: Some(text.to_owned()),
            cursor: None,
        };
        catalogue.dumps(&query).unwrap().items.len()
    };
    for (text, count) in [
        ("3.HPROF", 1),
        ("hprof", 5),
        ("%", 0),
        ("_", 0),
        ("\\", 0),
        ("'", 0),
    ] {
        assert_eq!(found(text), count, "{text}");
    }
    assert_eq!(catalogue.totals().unwrap(), (5, 15));
}

fn dumps_change_and_go(catalogue: &dyn Catalogue) {
    let dump = new_dump(1);
    let job = add(catalogue, &dump);
    let id = dump.id;
    let patch = DumpPatch {
        note: Some("a note".to_owned()),
        labels: Some(BTreeMap::from([("service".to_owned(), "shop".to_owned())])),
        ..DumpPatch::default()
    };
    assert!(catalogue.change_dump(&id, &patch).unwrap());
    assert!(!catalogue.change_dump(&new_dump(9).id, &patch).unwrap());
    let verdict = |rule: &str| Verdict::open(&rule.parse().unwrap());
    let (one, two) = ([verdict("suspects=0")], [verdict("suspects=1")]);
    assert!(catalogue.set_rules(&id, &one, None).unwrap());
    assert!(!catalogue.set_rules(&id, &two, Some(&two)).unwrap());
    assert!(catalogue.set_rules(&id, &two, Some(&one)).unwrap());
    let kept = catalogue.dump(&id).unwrap().unwrap();
    assert_eq!(
        (kept.name.as_str(), kept.note.as_str()),
        ("1.hprof", "a note")
    );
    assert_eq!(kept.labels["service"], "shop");
    assert_eq!(kept.rules[0].rule, "suspects=1");
    assert_eq!(kept.job.unwrap().rules[0].rule, "suspects=1");
    assert!(catalogue.removable().unwrap().is_empty(), "its job waits");
    catalogue.cancel(job).unwrap();
    assert_eq!(catalogue.removable().unwrap().len(), 1);
    let pin = DumpPatch {
        pinned: Some(true),
        ..DumpPatch::default()
    };
    assert!(catalogue.change_dump(&id, &pin).unwrap());
    assert!(catalogue.removable().unwrap().is_empty(), "it is pinned");
    assert!(catalogue.delete_dump(&id).unwrap());
    assert!(!catalogue.delete_dump(&id).unwrap());
    assert!(catalogue.dump(&id).unwrap().is_none());
    assert!(catalogue.job(job).unwrap().is_none());
}

fn texts_of_strangers_survive(catalogue: &dyn Catalogue) {
    let text = "'; DROP TABLE dumps; -- \u{1f600} \u{202e} \\ % _ \" $1 \u{7f}";
    let mut dump = new_dump(1);
    dump.name = text.to_owned();
    dump.note = format!("{text}\0");
    add(catalogue, &dump);
    let labels = BTreeMap::from([(format!("a\0{text}"), text.to_owned())]);
    let patch = DumpPatch {
        labels: Some(labels.clone()),
        ..DumpPatch::default()
    };
    assert!(catalogue.change_dump(&dump.id, &patch).unwrap());
    let job = claim(catalogue).unwrap();
    assert!(
        catalogue
            .end(job.id, 1, &done(&format!("a\0{text}")))
            .unwrap()
    );
    let kept = catalogue.dump(&dump.id).unwrap().unwrap();
    assert_eq!(kept.name, text);
    assert_eq!(kept.labels, labels);
    assert!(kept.note.starts_with(text) && kept.headline.unwrap().ends_with(text));
    let query = DumpQuery {
        limit: 10,
        text: Some("DROP TABLE\0".trim_end_matches('\0').to_owned()),
        cursor: Some("9223372036854775807:\0'".to_owned()),
    };
    assert_eq!(catalogue.dumps(&query).unwrap().items.len(), 1);
}

fn uploads_tokens_and_deeds_are_kept(catalogue: &dyn Catalogue) {
    let upload = Upload {
        id: "0123456789abcdef0123456789abcdef".to_owned(),
        name: "a".to_owned(),
        length: 10,
        created_at: Millis(5),
        strips: true,
        fail_above: "suspects=0".to_owned(),
        stripped: "{}".to_owned(),
        dump: None,
    };
    catalogue.add_upload(&upload).unwrap();
    let dump = new_dump(1).id;
    catalogue.complete_upload(&upload.id, &dump).unwrap();
    let kept = catalogue.upload(&upload.id).unwrap().unwrap();
    assert_eq!(
        (kept.length, kept.strips, kept.created_at, &*kept.stripped),
        (10, true, Millis(5), "{}")
    );
    assert_eq!(kept.dump, Some(dump));
    assert_eq!(catalogue.uploads().unwrap().len(), 1);
    assert!(catalogue.delete_upload(&upload.id).unwrap());
    assert!(!catalogue.delete_upload(&upload.id).unwrap());
    assert!(catalogue.upload(&upload.id).unwrap().is_none());

    catalogue.add_token("1f", Role::Reader, "team").unwrap();
    catalogue.add_token("1f", Role::Admin, "team").unwrap();
    catalogue.add_token("2f", Role::Uploader, "team").unwrap();
    assert_eq!(catalogue.role_of("1f").unwrap(), Some(Role::Admin));
    assert_eq!(catalogue.role_of("3f").unwrap(), None);
    assert_eq!(catalogue.token_count().unwrap(), 2);
    assert_eq!(catalogue.remove_tokens("team").unwrap(), 2);
    let deed = Deed {
        who: "1f",
        address: "127.0.0.1",
        what: "DELETE /api/v1/dumps/\0'",
        status: 204,
    };
    catalogue.audit(&deed).unwrap();
}
