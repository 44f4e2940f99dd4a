//! Questions over many dumps, with planted answers.

use hprof_server::Millis;
use hprof_server::catalogue::fleet::{Measure, Regression};
use hprof_server::catalogue::{
    Catalogue, ClassFigures, DumpKind, DumpPatch, Ending, Figures, Outcome, PostgresCatalogue,
    SqliteCatalogue, SuspectFigures,
};
use hprof_server::ids::DumpId;

use super::{add, claim, new_dump};
use crate::postgres::Cluster;

/// A class with these bytes, of its own and in all.
fn class(name: &str, bytes: u64) -> ClassFigures {
    ClassFigures {
        name: name.to_owned(),
        objects: bytes / 10,
        shallow: bytes,
        retained: bytes * 2,
    }
}

fn suspect(code: &str, retained: u64) -> SuspectFigures {
    SuspectFigures {
        code: code.to_owned(),
        signature: format!("{code} in com.example.Cache.ENTRIES"),
        title: format!("{retained} bytes are kept alive"),
        retained,
        share: 0.25,
    }
}

/// Adds a dump that is analysed, taken at a time by the clock of its number.
fn analysed(
    catalogue: &dyn Catalogue,
    number: u16,
    places: [&str; 3],
    classes: &[(&str, u64)],
    suspects: &[(&str, u64)],
) -> DumpId {
    let figures = Figures {
        taken_at: Some(Millis(i64::from(number))),
        live_objects: 10,
        live_bytes: 1000 * u64::from(number),
        array_waste: u64::from(number),
        string_waste: number.is_multiple_of(2).then_some(1),
        classes: classes
            .iter()
            .map(|&(name, bytes)| class(name, bytes))
            .collect(),
        suspects: suspects
            .iter()
            .map(|&(code, bytes)| suspect(code, bytes))
            .collect(),
    };
    let id = ended(catalogue, number, DumpKind::Heap, Some(figures));
    label(catalogue, &id, places);
    id
}

fn ended(
    catalogue: &dyn Catalogue,
    number: u16,
    kind: DumpKind,
    figures: Option<Figures>,
) -> DumpId {
    let dump = new_dump(number);
    add(catalogue, &dump);
    let job = claim(catalogue).unwrap();
    let done = Ending::Done(Outcome {
        kind,
        headline: None,
        summary: None,
        figures,
    });
    assert!(catalogue.end(job.id, job.attempt, &done).unwrap());
    dump.id
}

fn label(catalogue: &dyn Catalogue, id: &DumpId, places: [&str; 3]) {
    let keys = ["service", "host", "build"];
    let labels = keys
        .into_iter()
        .zip(places)
        .filter(|(_, value)| !value.is_empty());
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let patch = DumpPatch {
        labels: Some(labels.collect()),
        ..DumpPatch::default()
    };
    assert!(catalogue.change_dump(id, &patch).unwrap());
}

pub fn classes_that_grow_on_each_host_are_found(catalogue: &dyn Catalogue) {
    let shop = |host| ["shop", host, "7"];
    for (number, session, cache) in [
        (1, 100, 10),
        (2, 200, 30),
        (3, 300, 20),
        (4, 400, 40),
        (5, 600, 50),
    ] {
        let classes = [("Session", session), ("Cache", cache), ("Constant", 7)];
        analysed(catalogue, number, shop("a"), &classes, &[]);
    }
    for (number, session) in [(11, 10), (12, 20), (13, 40)] {
        analysed(
            catalogue,
            number,
            shop("b"),
            &[("Session", session), ("New", 1)],
            &[],
        );
    }
    // Two dumps show no growth, nor does a class that a dump lacks, nor another service.
    for (number, session) in [(21, 1), (22, 1000)] {
        analysed(catalogue, number, shop("c"), &[("Session", session)], &[]);
    }
    for (number, session) in [(31, 1), (32, 2), (33, 3)] {
        analysed(
            catalogue,
            number,
            ["", "a", ""],
            &[("Session", session)],
            &[],
        );
    }
    let found = catalogue.growth("shop", 5, Measure::Shallow).unwrap();
    let rows: Vec<_> = found
        .iter()
        .map(|row| (row.name.as_str(), row.hosts, row.grown))
        .collect();
    assert_eq!(rows, [("Session", 2, 530)]);
    assert_eq!(found[0].sizes, [110, 210, 310, 420, 640]);
    assert_eq!(found[0].objects, 64);
    let retained = catalogue.growth("shop", 5, Measure::Retained).unwrap();
    assert_eq!((retained[0].grown, retained[0].sizes[4]), (1060, 1280));
    // The cache grew in each of the last three dumps.
    let found = catalogue.growth("shop", 3, Measure::Shallow).unwrap();
    let rows: Vec<_> = found
        .iter()
        .map(|row| (row.name.as_str(), row.grown))
        .collect();
    assert_eq!(rows, [("Session", 330), ("Cache", 30)]);
    assert_eq!(found[1].sizes, [20, 40, 50]);
    assert_eq!(
        catalogue.growth("unknown", 3, Measure::Shallow).unwrap()[0].sizes,
        [1, 2, 3]
    );
    assert!(
        catalogue
            .growth("sho%", 5, Measure::Shallow)
            .unwrap()
            .is_empty()
    );

    let services = catalogue.services().unwrap();
    let rows: Vec<_> = services
        .iter()
        .map(|row| {
            (
                row.name.as_str(),
                row.hosts,
                row.dumps,
                row.newest,
                row.live_bytes,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("shop", 3, 10, Millis(22), 40_000),
            ("unknown", 1, 3, Millis(33), 33_000)
        ]
    );
    assert_eq!(
        (services[0].array_waste, services[0].string_waste),
        (40, Some(1))
    );
    assert_eq!(
        (services[1].array_waste, services[1].string_waste),
        (33, None)
    );
}

pub fn suspects_are_found_in_all_services_and_go_with_their_dumps(catalogue: &dyn Catalogue) {
    analysed(
        catalogue,
        1,
        ["shop", "a", ""],
        &[],
        &[("s1", 50), ("s2", 5)],
    );
    analysed(
        catalogue,
        2,
        ["shop", "a", ""],
        &[],
        &[("s1", 70), ("s1", 60)],
    );
    analysed(catalogue, 3, ["shop", "b", ""], &[], &[("s1", 40)]);
    let last = analysed(catalogue, 4, ["pay", "a", ""], &[], &[("s1", 90)]);
    let found = catalogue.suspects(None, None).unwrap();
    let codes: Vec<&str> = found.iter().map(|row| row.code.as_str()).collect();
    assert_eq!(codes, ["s1", "s2"]);
    let first = &found[0];
    assert_eq!((first.services, first.hosts, first.dumps), (2, 3, 4));
    assert_eq!(
        (first.first, first.last, first.retained),
        (Millis(1), Millis(4), 90)
    );
    assert!((first.share - 0.25).abs() < 1e-9);
    assert_eq!(first.signature, "s1 in com.example.Cache.ENTRIES");
    let of = |service, code| {
        let found = catalogue.suspects(service, code).unwrap();
        found
            .into_iter()
            .map(|row| (row.code, row.services))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(Some("pay"), None), [("s1".to_owned(), 2)]);
    assert_eq!(of(None, Some("s2")), [("s2".to_owned(), 1)]);
    assert_eq!(of(None, Some("' OR 1=1 --\0")), []);

    let carriers = catalogue.carriers("s1").unwrap();
    let rows: Vec<_> = carriers
        .iter()
        .map(|row| (row.service.as_str(), row.hosts, row.dumps, row.retained))
        .collect();
    assert_eq!(rows, [("pay", 1, 1, 90), ("shop", 2, 3, 70)]);
    assert_eq!(carriers[0].dump, last.as_str());
    assert_eq!(
        (carriers[1].first, carriers[1].last),
        (Millis(1), Millis(3))
    );
    // People correct a label, and delete a dump.
    label(catalogue, &last, ["shop", "c", ""]);
    assert_eq!(catalogue.carriers("s1").unwrap().len(), 1);
    assert_eq!(catalogue.suspects(None, Some("s1")).unwrap()[0].hosts, 3);
    assert!(catalogue.delete_dump(&last).unwrap());
    assert_eq!(catalogue.carriers("s1").unwrap()[0].retained, 70);
    assert_eq!(catalogue.services().unwrap()[0].dumps, 3);
}

pub fn two_builds_are_compared_by_host(catalogue: &dyn Catalogue) {
    let of = |host, build| ["shop", host, build];
    analysed(catalogue, 1, of("a", "1"), &[("Old", 999)], &[]);
    analysed(
        catalogue,
        2,
        of("a", "1"),
        &[("Buffer", 100), ("Old", 50), ("Even", 5)],
        &[],
    );
    analysed(
        catalogue,
        3,
        of("b", "1"),
        &[("Buffer", 300), ("Even", 5)],
        &[],
    );
    analysed(
        catalogue,
        4,
        of("a", "2"),
        &[("Buffer", 500), ("Fresh", 60), ("Even", 5)],
        &[],
    );
    analysed(catalogue, 5, ["pay", "a", "2"], &[("Buffer", 5000)], &[]);
    let compare = |old, new| {
        catalogue
            .regressions("shop", old, new, Measure::Shallow)
            .unwrap()
    };
    let row = |name: &str, old, new| Regression {
        name: name.to_owned(),
        old_hosts: 2,
        new_hosts: 1,
        old,
        new,
    };
    // Each host counts with its newest dump, a class that it lacks with nothing.
    assert_eq!(
        compare("1", "2"),
        [row("Buffer", 200, 500), row("Fresh", 0, 60)]
    );
    assert_eq!(compare("1", "3"), []);
    assert_eq!(compare("1", "1"), []);
    let builds = catalogue.builds("shop").unwrap();
    let rows: Vec<_> = builds
        .iter()
        .map(|row| (row.name.as_str(), row.hosts, row.dumps))
        .collect();
    assert_eq!(rows, [("2", 1, 1), ("1", 2, 3)]);
}

pub fn figures_of_strangers_do_no_harm(catalogue: &dyn Catalogue) {
    let text = "'; DROP TABLE dumps; -- \u{1f600} \u{202e} \\ % $1 ?1";
    let figures = |number: u64| Figures {
        taken_at: Some(Millis(i64::MAX)),
        live_objects: u64::MAX,
        live_bytes: u64::MAX,
        array_waste: u64::MAX,
        string_waste: Some(u64::MAX),
        classes: (0..100)
            .map(|_| ClassFigures {
                name: text.to_owned(),
                objects: u64::MAX,
                shallow: number,
                retained: u64::MAX,
            })
            .collect(),
        suspects: vec![suspect(text, u64::MAX)],
    };
    for number in 1..=3 {
        let id = ended(
            catalogue,
            number,
            DumpKind::Heap,
            Some(figures(u64::from(number))),
        );
        label(catalogue, &id, [text, &"x".repeat(9000), "\0"]);
    }
    let service = &catalogue.services().unwrap()[0];
    assert_eq!(
        (service.name.as_str(), service.hosts, service.dumps),
        (text, 1, 3)
    );
    assert_eq!(
        catalogue.suspects(Some(text), Some(text)).unwrap()[0].dumps,
        3
    );
    assert_eq!(catalogue.carriers(text).unwrap()[0].service, text);
    assert_eq!(catalogue.builds(text).unwrap()[0].name, "unknown");
    // Dumps of one time are in the order of their ids, so that the answer is one.
    let grown = catalogue.growth(text, 3, Measure::Shallow).unwrap();
    assert_eq!(grown[0].sizes, [100, 200, 300]);
}

pub fn figures_are_kept_once(catalogue: &dyn Catalogue) {
    let figures = Figures {
        classes: vec![class("Session", 5)],
        ..Figures::default()
    };
    let heap = ended(catalogue, 1, DumpKind::Heap, Some(figures.clone()));
    let profile = ended(catalogue, 2, DumpKind::Profile, None);
    assert!(catalogue.without_figures(10).unwrap().is_empty());
    for id in [&heap, &profile, &new_dump(9).id] {
        assert!(!catalogue.keep_figures(id, Some(&figures)).unwrap());
    }
    assert_eq!(catalogue.services().unwrap()[0].dumps, 1);
}

/// Two heap dumps and a profile that an earlier version has analysed, as its statements wrote them.
const EARLIER: &str = r#"
    INSERT INTO dumps (id, sha256, name, kind, bytes, uploaded_at, labels) VALUES
        ('0000000000000001', '1', 'a', 'heap', 1, 11, '{"service":"shop","host":" eu-1 ","build":""}'),
        ('0000000000000002', '2', 'b', 'heap', 1, 12, '{"service":"a\u0000b"}'),
        ('0000000000000003', '3', 'c', 'profile', 1, 13, '{}');"#;

/// Dumps of earlier versions get their figures later.
fn of_an_earlier_version(catalogue: &dyn Catalogue) {
    let ids = |dumps: Vec<DumpId>| {
        dumps
            .iter()
            .map(|id| id.as_str()[15..].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(catalogue.without_figures(10).unwrap()), ["2", "1"]);
    assert_eq!(ids(catalogue.without_figures(1).unwrap()), ["2"]);
    assert!(catalogue.services().unwrap().is_empty());
    let figures = Figures {
        live_bytes: 7,
        ..Figures::default()
    };
    let id: DumpId = "0000000000000001".parse().unwrap();
    assert!(catalogue.keep_figures(&id, Some(&figures)).unwrap());
    assert!(!catalogue.keep_figures(&id, None).unwrap());
    let id: DumpId = "0000000000000002".parse().unwrap();
    assert!(catalogue.keep_figures(&id, None).unwrap());
    assert!(catalogue.without_figures(10).unwrap().is_empty());
    let services = catalogue.services().unwrap();
    let rows: Vec<_> = services
        .iter()
        .map(|row| (row.name.as_str(), row.newest, row.live_bytes))
        .collect();
    assert_eq!(rows, [("shop", Millis(11), 7)]);
}

#[test]
fn dumps_of_an_earlier_version_get_their_figures_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalogue.db");
    let before = rusqlite::Connection::open(&path).unwrap();
    before
        .execute_batch(include_str!("../../src/catalogue/sqlite/schema.sql"))
        .unwrap();
    let later = "ALTER TABLE uploads ADD COLUMN dump TEXT;
        ALTER TABLE dumps ADD COLUMN rules TEXT NOT NULL DEFAULT '[]';
        ALTER TABLE dumps ADD COLUMN stripped INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE uploads ADD COLUMN strips INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE uploads ADD COLUMN fail_above TEXT NOT NULL DEFAULT '';
        PRAGMA user_version = 3;";
    before.execute_batch(later).unwrap();
    before.execute_batch(EARLIER).unwrap();
    let jobs = "INSERT INTO jobs (dump, state) SELECT id, 'done' FROM dumps";
    before.execute_batch(jobs).unwrap();
    drop(before);
    of_an_earlier_version(&SqliteCatalogue::open(&path).unwrap());
}

#[test]
fn dumps_of_an_earlier_version_get_their_figures_in_postgresql() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let address = cluster.database("before");
    cluster.ask(
        "before",
        include_str!("../../src/catalogue/postgres/schema.sql"),
    );
    cluster.ask("before", EARLIER);
    let jobs = "INSERT INTO jobs (dump, state, allowed) SELECT id, 'done', 5 FROM dumps";
    cluster.ask("before", jobs);
    let version = "CREATE TABLE hprof_rs_schema (version bigint NOT NULL);
        INSERT INTO hprof_rs_schema VALUES (1)";
    cluster.ask("before", version);
    of_an_earlier_version(&PostgresCatalogue::open(address.parse().unwrap()).unwrap());
}
