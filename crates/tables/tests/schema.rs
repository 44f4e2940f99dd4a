//! The schema, its version and its page.

use std::fs;
use std::path::Path;

use hprof_tables::schema::{TABLES, VERSION, markdown};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Names, types, nulls and meanings, a line for each column.
fn declaration() -> String {
    let mut text = String::new();
    for table in TABLES {
        text.push_str(&format!("{}: {}\n", table.name, table.about));
        for column in table.columns {
            let null = match column.is_optional {
                true => " NULL",
                false => "",
            };
            let (name, sql, about) = (column.name, column.column_type.sql(), column.about);
            text.push_str(&format!("  {name} {sql}{null}: {about}\n"));
        }
    }
    text
}

#[test]
fn the_schema_changes_only_with_its_version() {
    let path = root().join(format!("crates/tables/schemas/{VERSION}.txt"));
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == declaration(),
        "The schema differs from crates/tables/schemas/{VERSION}.txt. If a release has that version, raise \
         VERSION in crates/tables/src/schema.rs, and write the declaration to a new file:\n{}",
        declaration()
    );
}

#[test]
fn the_page_shows_the_schema() {
    let page = fs::read_to_string(root().join("docs/fleet/schema.md")).unwrap_or_default();
    assert!(
        page == markdown(),
        "docs/fleet/schema.md must be:\n{}",
        markdown()
    );
}

#[test]
fn names_of_tables_and_columns_are_words_of_their_own() {
    for (at, table) in TABLES.iter().enumerate() {
        assert!(TABLES[..at].iter().all(|other| other.name != table.name));
        for (at, column) in table.columns.iter().enumerate() {
            let earlier = &table.columns[..at];
            assert!(earlier.iter().all(|other| other.name != column.name));
            // They are in the names of folders.
            assert!(!["service", "host", "date", "dump"].contains(&column.name));
        }
    }
}
