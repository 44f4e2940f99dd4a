//! A JVM's class histogram, from the text that HotSpot prints (`heapInspection.cpp`):
//!
//! ```text
//!  num     #instances         #bytes  class name (module)
//! -------------------------------------------------------
//!    1:         23416        2134984  [B (java.base@17.0.15)
//! Total         23416        2134984
//! ```
//!
//! JDK 11 to 25 print the same columns.

use hprof_analysis::names::source_form;

use crate::views::ViewError;
use crate::views::page::TableQuery;
use crate::views::records::{Of, Records};
use crate::views::table::{Cell, Table, bytes, count, text};

/// The classes that are taken; those with the fewest bytes come last.
const MAX_CLASSES: usize = 200_000;

/// A class with its objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassRow {
    /// The class as Java source has it.
    pub name: String,
    /// Its objects.
    pub objects: u64,
    /// Their bytes, without what they refer to.
    pub bytes: u64,
}

const COLUMNS: [Of<ClassRow>; 3] = [
    (text("name", "Class"), |row| Cell::from(row.name.as_str())),
    (count("objects", "Objects"), |row| row.objects.into()),
    (bytes("shallow", "Shallow bytes"), |row| row.bytes.into()),
];

/// The rows of a class histogram; lines of other forms are passed over.
pub fn class_histogram(text: &str) -> Vec<ClassRow> {
    text.lines().filter_map(row).take(MAX_CLASSES).collect()
}

fn row(line: &str) -> Option<ClassRow> {
    let (number, rest) = line.trim_start().split_once(':')?;
    number.parse::<u32>().ok()?;
    let (objects, rest) = rest.trim_start().split_once(' ')?;
    let (bytes, name) = rest.trim_start().split_once(' ')?;
    let (objects, bytes) = (objects.parse().ok()?, bytes.parse().ok()?);
    // The rest of the line, as names of hidden classes may hold anything.
    let name = name.trim();
    let name = match name.rsplit_once(" (") {
        Some((class, module)) if module.ends_with(')') => class,
        _ => name,
    };
    match name.is_empty() {
        true => None,
        false => Some(ClassRow {
            name: source_form(name),
            objects,
            bytes,
        }),
    }
}

/// A page of a histogram.
///
/// # Errors
/// If the query makes no sense.
pub fn table(rows: &[ClassRow], query: &TableQuery) -> Result<Table, ViewError> {
    Records::new(rows, &COLUMNS)
        .largest_first("shallow")
        .page(query)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = " num     #instances         #bytes  class name (module)\n\
        -------------------------------------------------------\n\
        \u{20}  1:          7777        7777  [B (java.base@17.0.15)\n\
        \u{20}  2:            12          480  [Ljava.lang.Object; (java.base@17.0.15)\n\
        \u{20}  3:             3           48  Main$$Lambda/0x00007f1c00c00a18\n\
        Total          7792          8305\n";

    #[test]
    fn classes_are_those_of_the_text() {
        let rows = class_histogram(TEXT);
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.objects, row.bytes))
            .collect();
        assert_eq!(
            found,
            [
                ("byte[]", 7777, 7777),
                ("java.lang.Object[]", 12, 480),
                ("Main$$Lambda/0x00007f1c00c00a18", 3, 48),
            ]
        );
        let query = TableQuery {
            filter: Some("object".to_owned()),
            ..TableQuery::default()
        };
        let page = table(&rows, &query).unwrap();
        assert_eq!((page.total, page.columns[2].key), (1, "shallow"));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(\\PC|\n| 1: |[0-9]){0,200}") {
            class_histogram(&text);
        }

        #[test]
        fn rows_come_back(rows in prop::collection::vec(
            ("[a-z]{1,8}(\\.[A-Za-z$]{1,8}){0,3}", any::<u32>(), any::<u32>()), 0..20,
        )) {
            let line = |(at, row): (usize, &(String, u32, u32))| {
                format!("{:>4}: {:>13} {:>14}  {} (m@1)\n", at + 1, row.1, row.2, row.0)
            };
            let text: String = rows.iter().enumerate().map(line).collect();
            let found = class_histogram(&text);
            prop_assert_eq!(found.len(), rows.len());
            for (found, row) in found.iter().zip(&rows) {
                prop_assert_eq!(found.objects, u64::from(row.1));
                prop_assert_eq!(found.bytes, u64::from(row.2));
                prop_assert_eq!(&found.name, &row.0);
            }
        }
    }
}
