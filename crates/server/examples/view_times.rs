//! How long views take on a dump: `view_times DUMP INDEX_FOLDER REPORT_JSON [ROUNDS]`.
//!
//! The index is the one that `hprof-rs report --index INDEX_FOLDER DUMP` writes.

#![allow(clippy::disallowed_macros)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hprof_analysis::numbers::ClassNumber;
use hprof_server::views::dominators::{DominatorsBy, DominatorsQuery, dominators};
use hprof_server::views::histogram::{HistogramBy, HistogramQuery, histogram, unreachable};
use hprof_server::views::opened::{Files, Opened};
use hprof_server::views::page::TableQuery;
use hprof_server::views::references::{Direction, ReferencesQuery, references};
use hprof_server::views::table::hex;
use hprof_server::views::{
    ViewError, classes, entries, facts, fields, loaders, object, overview, paths, reference_kinds,
    roots, threads, treemap, waste,
};

type View = Box<dyn Fn(&Arc<Opened>) -> Result<(), ViewError>>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dump, index, report, rest @ ..] = arguments.as_slice() else {
        return Err("view_times DUMP INDEX_FOLDER REPORT_JSON [ROUNDS]".into());
    };
    let rounds = rest.first().map_or(Ok(20), |text| text.parse::<usize>())?;
    let files = Files {
        dump: PathBuf::from(dump),
        name: dump.clone(),
        index: PathBuf::from(index),
        report: PathBuf::from(report),
        held: Vec::new(),
    };
    let started = Instant::now();
    let opened = Arc::new(Opened::open(files, Default::default())?);
    println!("open {:?}", started.elapsed());
    let largest = largest(&opened);
    for (name, view) in views(&opened, &largest) {
        let mut times = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let started = Instant::now();
            view(&opened)?;
            times.push(started.elapsed());
        }
        let first = times[0];
        times.sort_unstable();
        let p95 = times[(times.len() * 95).div_ceil(100) - 1];
        println!("{name:<44} first {:>9} p95 {:>9}", shown(first), shown(p95));
    }
    Ok(())
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

/// The chain of largest children from the top of the dominator tree, and an object at its end.
fn largest(opened: &Opened) -> Vec<String> {
    let dominators = opened.snapshot.dominators();
    let (mut place, mut chain) = (None, Vec::new());
    while let Some(&child) = dominators.largest_children(place, 1).first() {
        chain.push(hex(opened.id(dominators.object(child))));
        place = Some(child);
    }
    chain
}

/// The class with most objects.
fn common_class(opened: &Opened) -> String {
    let classes = opened.snapshot.graph().classes();
    let sums = classes.numbers().zip(opened.sums());
    let most = sums
        .max_by_key(|(_, sum)| sum.live)
        .map_or(ClassNumber::UNKNOWN, |found| found.0);
    hex(classes.get(most).id)
}

fn views(opened: &Arc<Opened>, largest: &[String]) -> Vec<(String, View)> {
    let all = TableQuery::default();
    let mut views: Vec<(String, View)> = Vec::new();
    macro_rules! view {
        ($name:expr, $view:expr) => {{
            let query = all.clone();
            let view = $view;
            views.push((
                $name.to_string(),
                Box::new(move |opened| view(opened, &query).map(drop)),
            ));
        }};
    }
    view!("overview", |opened: &Arc<Opened>, _: &TableQuery| Ok(
        overview::overview(opened)
    ));
    view!("suspects", |opened: &Arc<Opened>, _: &TableQuery| Ok(
        overview::suspects(opened)
    ));
    for by in [
        HistogramBy::Class,
        HistogramBy::Superclass,
        HistogramBy::Package,
        HistogramBy::Loader,
    ] {
        let name = format!("histogram {by:?}");
        view!(name, move |opened: &Arc<Opened>, query: &TableQuery| {
            histogram(opened, &HistogramQuery { by, node: None }, query)
        });
    }
    let nodes = std::iter::once(None).chain(largest.iter().take(6).cloned().map(Some));
    for node in nodes {
        let name = format!("dominators below {}", node.as_deref().unwrap_or("the top"));
        view!(name, move |opened: &Arc<Opened>, query: &TableQuery| {
            dominators(
                opened,
                &DominatorsQuery {
                    by: DominatorsBy::Object,
                    node: node.clone(),
                },
                query,
            )
        });
    }
    let mut way: Option<String> = None;
    for level in 0..5 {
        let node = way.clone();
        let of = DominatorsQuery {
            by: DominatorsBy::Class,
            node: node.clone(),
        };
        let Ok(table) = dominators(opened, &of, &all) else {
            break;
        };
        view!(
            format!("dominators by class, level {level}"),
            move |opened: &Arc<Opened>, query: &TableQuery| {
                dominators(
                    opened,
                    &DominatorsQuery {
                        by: DominatorsBy::Class,
                        node: node.clone(),
                    },
                    query,
                )
            }
        );
        let Some(row) = table.rows.first() else { break };
        way = row.links.node.clone();
    }
    view!("treemap", |opened: &Arc<Opened>, _: &TableQuery| {
        treemap::treemap(opened, &treemap::TreemapQuery::default())
    });
    view!("roots", |opened: &Arc<Opened>, query: &TableQuery| {
        roots::roots(opened, &Default::default(), query)
    });
    view!("threads", |opened: &Arc<Opened>, query: &TableQuery| {
        threads::threads(opened, query)
    });
    view!("loaders", |opened: &Arc<Opened>, query: &TableQuery| {
        loaders::loaders(opened, query)
    });
    view!("duplicates", |opened: &Arc<Opened>, query: &TableQuery| {
        waste::duplicates(opened, query)
    });
    view!("unreachable", |opened: &Arc<Opened>, query: &TableQuery| {
        unreachable(opened, query)
    });
    view!("buffers", facts::buffers);
    view!("properties", |opened: &Arc<Opened>, query: &TableQuery| {
        facts::properties(opened, query)
    });
    view!("environment", |opened: &Arc<Opened>, query: &TableQuery| {
        facts::environment(opened, query)
    });
    let class = common_class(opened);
    let of = class.clone();
    view!("class", move |opened: &Arc<Opened>, _: &TableQuery| {
        classes::class(opened, &of)
    });
    view!(
        "instances of the most common class",
        move |opened: &Arc<Opened>, query: &TableQuery| {
            classes::instances(opened, &class, query)
        }
    );
    for (depth, id) in largest.iter().enumerate().take(5) {
        let of = id.clone();
        view!(
            format!("object {depth}"),
            move |opened: &Arc<Opened>, _: &TableQuery| object::object(opened, &of)
        );
        let of = id.clone();
        view!(
            format!("fields {depth}"),
            move |opened: &Arc<Opened>, query: &TableQuery| {
                fields::fields(opened, &of, Default::default(), query)
            }
        );
        let of = id.clone();
        view!(
            format!("entries {depth}"),
            move |opened: &Arc<Opened>, query: &TableQuery| {
                entries::entries(opened, &of, query)
            }
        );
        for direction in [Direction::Out, Direction::In] {
            let of = id.clone();
            view!(
                format!("references {direction:?} {depth}"),
                move |opened: &Arc<Opened>, query: &TableQuery| {
                    references(opened, &of, ReferencesQuery { direction }, query)
                }
            );
        }
        let of = id.clone();
        view!(
            format!("path {depth}"),
            move |opened: &Arc<Opened>, _: &TableQuery| paths::path(opened, &of)
        );
    }
    view!("collections", waste::collections);
    view!("reference kinds", reference_kinds::reference_kinds);
    views
}
