//! The tables of a recording.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::events::Recording;
use crate::query::recorded::{View, views};
use crate::render::screen::{Style, count, printable};
use crate::render::table;

/// The tables of types with events, those with the most in front, and the number of the others.
fn with_events(recording: &Recording) -> (Vec<View<'_>>, usize) {
    let mut views = views(&recording.types);
    let all = views.len();
    views.retain(|view| view.of.count > 0);
    views.sort_by_key(|view| std::cmp::Reverse(view.of.count));
    let none = all - views.len();
    (views, none)
}

/// The tables with their columns, for programs.
pub(super) fn schema(recording: &Recording) -> Value {
    let (views, _) = with_events(recording);
    let tables = views.iter().map(|view| {
        let columns = view.columns.iter();
        let columns =
            columns.map(|it| json!({"name": it.name, "type": it.kind, "about": it.about}));
        json!({
            "name": view.name,
            "short_name": view.short,
            "about": view.of.label,
            "rows": view.of.count,
            "columns": columns.collect::<Vec<_>>(),
        })
    });
    json!({
        "file": recording.name(),
        "tables": tables.collect::<Vec<_>>(),
        "functions": [],
    })
}

/// The tables with their columns.
pub(super) fn tables(recording: &Recording, style: Style) -> String {
    let (views, none) = with_events(recording);
    let mut text = String::new();
    for view in &views {
        let _ = writeln!(
            text,
            "{}: {} rows{}",
            style.bold(&printable(view.name)),
            count(view.of.count),
            match view.of.label.as_str() {
                "" => String::new(),
                label => format!(", {}", printable(label)),
            }
        );
        let rows = view.columns.iter();
        let rows = rows.map(|it| [printable(&it.name), printable(&it.about)]);
        text.push_str(&table::list(rows, None));
        text.push('\n');
    }
    if none > 0 {
        let _ = writeln!(text, "{none} more tables are of types that have no event.");
    }
    let _ = writeln!(
        text,
        "A name without its package, such as SocketRead, does if it is the only one. For example:\n  \
         hprof-rs query {} \"SELECT * FROM {} LIMIT 10\"",
        printable(recording.name()),
        views.first().map_or("jdk.SocketRead", |view| view.name)
    );
    text
}
