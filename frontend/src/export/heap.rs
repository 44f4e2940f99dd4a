//! A picture of a heap dump.

use anyhow::Context;
use hprof_analysis::heap::{Group, histogram};
use hprof_stacks::pictures::profile::View;
use hprof_stacks::{CallTree, MethodCost};

use crate::open::Opened;

/// What the objects of each package and class take, package within package. The last heap dump
/// counts.
///
/// # Errors
/// If there is none.
pub fn heap_view(opened: &Opened) -> anyhow::Result<View> {
    let contents = &opened.contents;
    let dump = contents
        .dumps
        .last()
        .with_context(|| format!("{} holds no binary heap dump", opened.name))?;
    let histogram = histogram(contents, dump, Group::Family);
    let paths = histogram.rows.iter().map(|row| {
        let mut path: Vec<&str> = match row.name.rsplit_once('.') {
            Some((package, _)) => package.split('.').collect(),
            None => Vec::new(),
        };
        // Frames have the whole name, so that the pointer tells it and the JDK's are known.
        path.push(&row.name);
        (path, row.shallow_bytes)
    });
    let rows = histogram.rows.iter().map(|row| MethodCost {
        name: format!("{}  ({} objects)", row.name, row.objects),
        own: row.shallow_bytes,
        total: row.shallow_bytes,
    });
    Ok(View {
        title: "Heap by package and class".to_owned(),
        unit: "bytes".to_owned(),
        ends_in_class: true,
        tree: CallTree::from_paths(paths),
        row: "class",
        rows: rows.collect(),
    })
}
