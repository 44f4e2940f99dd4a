//! Pictures of what has no stacks: heap dumps, and tables of `cpu=old`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Context;
use hprof_analysis::contents::Contents;
use hprof_analysis::heap::{Group, Row, histogram};
use hprof_analysis::names::source_form;
use hprof_java_names::Primitive;
use hprof_stacks::CallTree;
use hprof_stacks::pictures::profile::{Answer, Rows, View, Words};

use crate::open::Opened;

/// The objects of each package and class, package within package, in bytes and in number, of the
/// last heap dump.
///
/// # Errors
/// If there is none.
pub fn heap_views(opened: &Opened) -> anyhow::Result<[View; 2]> {
    let contents = &opened.contents;
    let dump = contents
        .dumps
        .last()
        .with_context(|| format!("{} holds no binary heap dump", opened.name))?;
    let histogram = histogram(contents, dump, Group::Family);
    let view = |unit: &str, own, value: fn(&Row) -> u64| {
        let paths = histogram.rows.iter().map(|row| {
            let mut path: Vec<&str> = match row.name.rsplit_once('.') {
                Some((package, _)) => package.split('.').collect(),
                None => Vec::new(),
            };
            // Frames have the whole name, so that the pointer tells it and the JDK's are known.
            path.push(&row.name);
            (path, value(row))
        });
        View {
            measure: None,
            title: format!("Heap by package and class, in {unit}"),
            unit: unit.to_owned(),
            ends_in_class: true,
            tree: CallTree::from_paths(paths),
            words: Words::of_classes(own),
            has_threads: false,
            answer: Answer::default(),
            idle: None,
        }
    };
    Ok([
        view("bytes", "Bytes", |row| row.shallow_bytes),
        view("objects", "Objects", |row| row.objects),
    ])
}

/// The calls of `cpu=old`: what each method called, by the number of calls. There are no longer
/// stacks in such a file, and its times are those of callees with all they call, which do not add
/// up.
pub fn old_view(contents: &Contents) -> View {
    let paths = contents.old_cpu.iter().map(|row| {
        let caller = without_signature(&row.caller);
        (vec![caller, without_signature(&row.callee)], row.count)
    });
    View {
        measure: None,
        title: "Calls by caller".to_owned(),
        unit: "calls".to_owned(),
        ends_in_class: false,
        tree: CallTree::from_paths(paths),
        words: Words {
            own: "Calls",
            total: None,
            rows: Rows::Methods,
        },
        has_threads: false,
        answer: Answer::default(),
        idle: None,
    }
}

/// A method in a table of `cpu=old`.
pub struct Callee {
    /// Its name with its descriptor.
    pub name: String,
    /// How often it was called.
    pub calls: u64,
    /// Milliseconds in it and in what it called.
    pub millis: u64,
}

/// The methods of a table of `cpu=old`, those of most time first.
pub fn old_callees(contents: &Contents) -> Vec<Callee> {
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for row in &contents.old_cpu {
        let sum = sums.entry(&row.callee).or_default();
        *sum = (sum.0 + row.count, sum.1 + row.millis);
    }
    let mut callees: Vec<Callee> = sums
        .into_iter()
        .map(|(name, (calls, millis))| Callee {
            name: name.to_owned(),
            calls,
            millis,
        })
        .collect();
    callees.sort_by_key(|callee| Reverse((callee.millis, callee.calls)));
    callees
}

/// A method with its parameters as people write them: `App.main(String[])` for
/// `App.main([Ljava/lang/String;)V`. What is no descriptor (JVM specification 4.3.3) stays as it is.
pub fn readable(method: &str) -> String {
    let Some((name, rest)) = method.split_once('(') else {
        return method.to_owned();
    };
    let Some((parameters, _)) = rest.split_once(')') else {
        return method.to_owned();
    };
    let mut words: Vec<String> = Vec::new();
    let mut left = parameters;
    while !left.is_empty() {
        let element = left.trim_start_matches('[');
        let dimensions = left.len() - element.len();
        let length = match element.as_bytes().first() {
            Some(b'L') => element.find(';').map(|end| end + 1),
            Some(_) => element.chars().next().map(char::len_utf8),
            None => None,
        };
        let Some(length) = length else {
            return method.to_owned();
        };
        let (own, next) = left.split_at(dimensions + length);
        let source = source_form(own);
        let word = source.rsplit(['.', '/']).next().unwrap_or(&source);
        words.push(match Primitive::of_signature(own) {
            Some(primitive) => primitive.name().to_owned(),
            None => word.trim_end_matches(';').to_owned(),
        });
        left = next;
    }
    format!("{name}({})", words.join(", "))
}

fn without_signature(method: &str) -> &str {
    method.find('(').map_or(method, |at| &method[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn descriptors_become_parameters() {
        for (method, shown) in [
            ("Counts.main([Ljava/lang/String;)V", "Counts.main(String[])"),
            ("a.B.c(I[[JLa/B$C;)Z", "a.B.c(int, long[][], B$C)"),
            ("a.B.<init>()V", "a.B.<init>()"),
            ("a.B.c", "a.B.c"),
            ("a.B.c(La/B", "a.B.c(La/B"),
            ("a.B.c(L)V", "a.B.c(L)V"),
        ] {
            assert_eq!(readable(method), shown);
        }
    }

    proptest! {
        #[test]
        fn any_method_can_be_shown(method in "[a-z.]{0,5}\\([\\[LIJ;/\u{e9}]{0,9}\\)?V?") {
            readable(&method);
        }
    }
}
