//! All pages together are the whole table, whatever the sort, filter and limit.

use proptest::prelude::*;

use super::ViewError;
use super::page::{Source, TableForm, TableQuery, compile, page};
use super::records::Records;
use super::table::{Cell, Column, Links, Table, count, text};

#[derive(Debug, Clone)]
struct Named(String, u64);

fn records(rows: &[Named]) -> Records<'_, Named> {
    let columns = [
        (
            text("name", "Name"),
            (|row| Cell::from(row.0.as_str())) as fn(&Named) -> Cell,
        ),
        (count("objects", "Objects"), |row| Cell::Count(row.1)),
    ];
    Records::new(rows, &columns)
}

/// `Records`, sorted by ranks.
struct Ranked<'a>(Records<'a, Named>, &'a [Named]);

impl Source for Ranked<'_> {
    fn columns(&self) -> &[Column] {
        self.0.columns()
    }
    fn row_count(&self) -> usize {
        self.0.row_count()
    }
    fn cell(&self, at: usize, column: usize) -> Cell {
        self.0.cell(at, column)
    }
    fn links(&self, at: usize) -> Links {
        Links::object(at as u64)
    }
    fn rank(&self, at: usize, column: usize) -> Option<u64> {
        (column == 1).then(|| self.1[at].1)
    }
    fn default_sort(&self) -> Option<&'static str> {
        Some("objects")
    }
}

fn all_pages(source: &dyn Source, query: &TableQuery) -> Vec<Table> {
    let mut query = query.clone();
    let mut pages = Vec::new();
    loop {
        let table = page(source, &query).unwrap();
        let next = table.next.clone();
        pages.push(table);
        assert!(pages.len() < 1000, "pages without end");
        let Some(next) = next else { break };
        query.cursor = Some(next);
    }
    pages
}

proptest! {
    #[test]
    fn all_pages_together_are_the_whole_table(
        rows in prop::collection::vec(("[a-c]{1,2}", 0u64..6), 0..60),
        limit in 1usize..20,
        sort in prop::sample::select(vec!["", "name", "-name", "objects", "-objects"]),
        filter in prop::sample::select(vec!["", "a", "^b", "C$", "x"]),
    ) {
        let rows: Vec<Named> = rows.into_iter().map(|(name, n)| Named(name, n)).collect();
        let query = TableQuery {
            limit: Some(limit),
            sort: (!sort.is_empty()).then(|| sort.to_owned()),
            filter: (!filter.is_empty()).then(|| filter.to_owned()),
            ..TableQuery::default()
        };
        let source = Ranked(records(&rows), &rows);
        let pages = all_pages(&source, &query);
        let found: Vec<usize> = (pages.iter().flat_map(|page| &page.rows))
            .map(|row| row.links.object.unwrap() as usize)
            .collect();
        let is_kept = |name: &str| match filter {
            "a" => name.contains('a'),
            "^b" => name.starts_with('b'),
            "C$" => name.ends_with('c'),
            "x" => false,
            _ => true,
        };
        let mut expected: Vec<usize> = (0..rows.len()).filter(|&at| is_kept(&rows[at].0)).collect();
        match sort {
            "name" => expected.sort_by(|&a, &b| rows[a].0.cmp(&rows[b].0)),
            "-name" => expected.sort_by(|&a, &b| rows[b].0.cmp(&rows[a].0)),
            "objects" => expected.sort_by_key(|&at| rows[at].1),
            _ => expected.sort_by_key(|&at| std::cmp::Reverse(rows[at].1)),
        }
        prop_assert_eq!(&found, &expected);
        prop_assert!(pages.iter().all(|page| page.total == expected.len() as u64));
        prop_assert!(pages.iter().all(|page| page.rows.len() <= limit));
    }

    #[test]
    fn no_cursor_breaks_the_server(cursor in ".{0,40}") {
        let rows = [Named("a".to_owned(), 1)];
        let query = TableQuery { cursor: Some(cursor), ..TableQuery::default() };
        let _ = page(&records(&rows), &query);
    }
}

fn refusal(query: &TableQuery) -> String {
    let rows: Vec<Named> = (0..5).map(|n| Named(format!("row {n}"), n)).collect();
    match page(&records(&rows), query) {
        Err(ViewError::Invalid(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_reason() {
    let query = |sort: &str, filter: &str, cursor: &str| {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        TableQuery {
            sort: given(sort),
            filter: given(filter),
            cursor: given(cursor),
            ..TableQuery::default()
        }
    };
    assert_eq!(
        refusal(&query("size", "", "")),
        "sort=size: no such column; it is one of name, objects"
    );
    assert_eq!(
        refusal(&query("", "(", "")),
        "filter: no regular expression: unclosed group"
    );
    assert!(refusal(&query("", &"a".repeat(1001), "")).contains("1000 bytes"));
    assert!(compile("(a{1000}){1000}").is_err());
    for cursor in [
        "x",
        "1",
        "1.2",
        "-1.811c9dc5.",
        "fffffffffffffffff.811c9dc5.",
    ] {
        assert!(refusal(&query("", "", cursor)).contains("none that this server gave"));
    }
    assert!(refusal(&query("", "", "1.0.")).contains("another filter"));
    assert!(refusal(&query("name", "", "1.811c9dc5.objects")).contains("another sort"));
    let limit = |limit, format| TableQuery {
        limit: Some(limit),
        format,
        ..TableQuery::default()
    };
    assert!(refusal(&limit(0, TableForm::Json)).contains("1 to 1000"));
    assert!(refusal(&limit(1001, TableForm::Json)).contains("1 to 1000"));
    assert!(refusal(&limit(100_001, TableForm::Csv)).contains("1 to 100000"));
}

#[test]
fn a_cursor_after_the_end_gives_an_empty_last_page() {
    let rows = [Named("a".to_owned(), 1)];
    let query = TableQuery {
        cursor: Some("ffff.811c9dc5.-name".to_owned()),
        ..TableQuery::default()
    };
    let table = page(&records(&rows), &query).unwrap();
    assert_eq!((table.rows.len(), table.total, table.next), (0, 1, None));
}

#[test]
fn a_page_begins_at_its_offset() {
    let rows: Vec<Named> = (0..50).map(|n| Named(format!("row {n}"), n)).collect();
    let query = TableQuery {
        offset: Some(40),
        limit: Some(5),
        sort: Some("-objects".to_owned()),
        ..TableQuery::default()
    };
    let table = page(&records(&rows), &query).unwrap();
    let first = table.rows[0].cell("objects");
    assert_eq!(first, Some(&Cell::Count(9)));
    assert_eq!((table.rows.len(), table.total), (5, 50));
    let beyond = TableQuery {
        offset: Some(usize::MAX),
        ..query
    };
    assert!(page(&records(&rows), &beyond).unwrap().rows.is_empty());
}
