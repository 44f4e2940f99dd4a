//! Tables as comma-separated values, after RFC 4180.

use super::ViewError;
use super::table::{Cell, Table, hex};

/// A page of a table with the columns' keys as its head, and the identifier of each row's object
/// in a last column.
///
/// # Errors
/// None but those of the writer, which writes to memory.
pub fn csv(table: &Table) -> Result<Vec<u8>, ViewError> {
    let mut out = csv::Writer::from_writer(Vec::new());
    let has_objects = table.rows.iter().any(|row| row.links.object.is_some())
        && table.columns.iter().all(|column| column.key != "object");
    let mut head: Vec<&str> = table.columns.iter().map(|column| column.key).collect();
    head.extend(has_objects.then_some("object"));
    out.write_record(&head).map_err(ViewError::failed)?;
    for row in &table.rows {
        let mut cells: Vec<String> = row.cells.iter().map(cell).collect();
        if has_objects {
            cells.push(row.links.object.map_or_else(String::new, hex));
        }
        out.write_record(&cells).map_err(ViewError::failed)?;
    }
    out.into_inner().map_err(ViewError::failed)
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Text(text) => guarded(text),
        Cell::Count(number) => number.to_string(),
        Cell::Delta(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Bool(value) => value.to_string(),
        Cell::Id(id) => hex(*id),
        Cell::Series(numbers) => {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            numbers.join(" ")
        }
    }
}

/// Text of others as a cell. Spreadsheets take some beginnings for a formula, which could fetch or
/// send what it likes: an apostrophe before them makes them text again. Characters that terminals
/// or editors obey are escaped.
pub(super) fn guarded(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_obeyed(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    let full_width = ['\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];
    let is_formula = |c: char| matches!(c, '=' | '+' | '-' | '@') || full_width.contains(&c);
    match shown.starts_with(is_formula) {
        true => format!("'{shown}"),
        false => shown,
    }
}

/// Control characters, and marks that turn the direction of writing (Unicode TR 9).
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::table::{Links, Row, count, text};

    #[test]
    fn no_text_of_a_dump_is_a_formula_or_breaks_a_line() {
        let row = |name: &str, number| Row {
            keys: vec!["name", "count"],
            cells: vec![Cell::from(name), Cell::Delta(number)],
            links: Links::object(0x10),
        };
        let rows = vec![
            row("=1+1", -2),
            row("a,\"b\"\n\u{1b}[31m", 3),
            row("\u{202e}x", 4),
        ];
        let table = Table {
            columns: vec![text("name", "Name"), count("count", "Count")],
            total: 3,
            rows,
            next: None,
            notes: Vec::new(),
            pending: false,
        };
        let csv = String::from_utf8(csv(&table).unwrap()).unwrap();
        assert_eq!(
            csv,
            "name,count,object\n'=1+1,-2,0x10\n\"a,\"\"b\"\"\\n\\u{1b}[31m\",3,0x10\n\
             \\u{202e}x,4,0x10\n"
        );
    }
}
