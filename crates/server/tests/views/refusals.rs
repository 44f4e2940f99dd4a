//! Hostile names, questions that make no sense, views without data.

use std::sync::Arc;

use hprof_server::views::csv::csv;
use hprof_server::views::dominators::{DominatorsBy, DominatorsQuery, dominators};
use hprof_server::views::histogram::{HistogramQuery, histogram};
use hprof_server::views::object::object;
use hprof_server::views::opened::Opened;
use hprof_server::views::paths::path;
use hprof_server::views::roots::{RootsQuery, roots};
use hprof_server::views::table::hex;
use hprof_server::views::{ViewError, classes, facts, loaders, sites, threads, treemap, waste};

use super::known::{HOSTILE, all, known, settled};
use super::made::Made;
use super::opening::open;

#[test]
fn names_of_the_dump_stay_text() {
    let known = known();
    let opened = &known.opening.opened;
    let by = HistogramQuery::default();
    let table = settled(|| histogram(opened, &by, &all()).unwrap());
    let json = serde_json::to_value(&table).unwrap();
    let names = json["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap());
    assert!(names.into_iter().any(|name| name == HOSTILE));
    let csv = String::from_utf8(csv(&table).unwrap()).unwrap();
    assert!(csv.contains("\n'=cmd|") && !csv.contains("\n=cmd"), "{csv}");
}

#[test]
fn what_is_not_there_is_told_apart_from_what_makes_no_sense() {
    let known = known();
    let opened = &known.opening.opened;
    for id in [
        "",
        "12",
        "0x",
        "0xg",
        "0x+1",
        "-1",
        "0x10000000000000000",
        "../etc/passwd",
    ] {
        assert!(
            matches!(object(opened, id), Err(ViewError::Invalid(_))),
            "{id}"
        );
        assert!(
            matches!(classes::class(opened, id), Err(ViewError::Invalid(_))),
            "{id}"
        );
    }
    assert!(matches!(object(opened, "0x1"), Err(ViewError::Missing(_))));
    assert!(matches!(
        classes::class(opened, "0x1"),
        Err(ViewError::Missing(_))
    ));
    assert!(matches!(
        classes::class(opened, "0x0"),
        Err(ViewError::Missing(_))
    ));
    assert!(matches!(path(opened, "0x1"), Err(ViewError::Missing(_))));
    assert!(matches!(
        threads::thread(opened, &hex(known.map)),
        Err(ViewError::Missing(_))
    ));
    let below = |by, node: &str| {
        let query = DominatorsQuery {
            by,
            node: Some(node.to_owned()),
        };
        dominators(opened, &query, &all()).unwrap_err()
    };
    assert!(matches!(
        below(DominatorsBy::Object, "12"),
        ViewError::Invalid(_)
    ));
    assert!(matches!(
        below(DominatorsBy::Class, "x"),
        ViewError::Invalid(_)
    ));
    assert!(matches!(
        below(DominatorsBy::Class, "99999"),
        ViewError::Invalid(_)
    ));
    let empty_group = below(DominatorsBy::Class, "0.0");
    assert!(
        matches!(empty_group, ViewError::Missing(_)),
        "{empty_group:?}"
    );
    let long = vec!["1"; 100].join(".");
    assert!(matches!(
        below(DominatorsBy::Class, &long),
        ViewError::Invalid(_)
    ));
    let kind = RootsQuery {
        kind: Some("nothing".to_owned()),
    };
    assert!(matches!(
        roots(opened, &kind, &all()),
        Err(ViewError::Invalid(_))
    ));
    let map = |depth, least| treemap::TreemapQuery {
        node: None,
        depth,
        least,
    };
    for query in [map(0, 0.1), map(9, 0.1), map(2, -0.1), map(2, f64::NAN)] {
        assert!(matches!(
            treemap::treemap(opened, &query),
            Err(ViewError::Invalid(_))
        ));
    }
}

#[test]
fn views_without_data_say_why() {
    let known = known();
    let opened = &known.opening.opened;
    let tables = [
        threads::threads(opened, &all()),
        loaders::duplicate_classes(opened, &Default::default(), &all()),
        waste::duplicates(opened, &all()),
        facts::buffers(opened, &all()),
        facts::properties(opened, &all()),
        facts::environment(opened, &all()),
        facts::android(opened, &all()),
        sites::sites(opened, &all()),
    ];
    for table in tables {
        let table = table.unwrap();
        assert_eq!((table.rows.len(), table.notes.len()), (0, 1), "{table:?}");
        assert!(!table.columns.is_empty());
    }
}

#[test]
fn an_analysis_without_its_files_is_refused() {
    let opening = open(&Made::new().bytes(), "{}");
    let opened: &Arc<Opened> = &opening.opened;
    let mut files = opened.files.clone();
    files.report = files.report.with_file_name("gone.json");
    let refused = Opened::open(files.clone(), Default::default());
    assert!(matches!(refused, Err(ViewError::Failed(_))));
    std::fs::write(&files.report, "[not json").unwrap();
    assert!(matches!(
        Opened::open(files, Default::default()),
        Err(ViewError::Failed(_))
    ));
}

#[test]
fn a_file_without_a_binary_heap_dump_is_refused_by_its_own_name() {
    let opening = open(&Made::new().bytes(), "{}");
    let mut files = opening.opened.files.clone();
    files.dump = super::opening::data("cpu-samples.txt");
    files.name = "app.txt".to_owned();
    let refused = Opened::open(files, Default::default()).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, ViewError::NotReady(_)), "{refused:?}");
    assert!(
        text.contains("text format") && !text.contains("tests/data"),
        "{text}"
    );
}
