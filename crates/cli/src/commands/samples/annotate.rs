//! `samples --annotate`: the source of a method with the cost of each line.

use std::cmp::Reverse;
use std::process::ExitCode;

use anyhow::bail;
use hprof_analysis::stacks::{LineCost, MethodLines, Weights, by_line};
use serde_json::{Value, json};

use crate::open::Opened;
use crate::render::screen::{
    Align, Style, count, percent, plural, print, print_json, printable, whole_columns,
};
use crate::sources::{Source, SourcesArgument, has_code};

/// Methods that a message names.
const NAMED: usize = 5;

/// A method that is shown.
struct Annotated<'a> {
    name: String,
    method: MethodLines,
    /// Others that the pattern names, by cost.
    others: Vec<String>,
    source: Option<Source>,
    weights: &'a Weights,
}

/// Prints a method that `pattern` names: all of its name, or the end of it from a dot on.
pub fn annotate(
    opened: &Opened,
    weights: &Weights,
    pattern: &str,
    sources: &SourcesArgument,
    is_json: bool,
) -> anyhow::Result<ExitCode> {
    let mut all: Vec<(String, MethodLines)> = by_line(&opened.contents.stacks, weights)
        .into_iter()
        .collect();
    all.sort_by(|a, b| (Reverse(a.1.total), &a.0).cmp(&(Reverse(b.1.total), &b.0)));
    let (mut found, rest): (Vec<_>, Vec<_>) =
        (all.into_iter()).partition(|(name, _)| is_named(name, pattern));
    // All of a name is one method, though others end like it.
    if let Some(exact) = found.iter().position(|(name, _)| name == pattern) {
        found.swap(0, exact);
        found.truncate(1);
    }
    if found.is_empty() {
        let similar = rest.iter().filter(|(name, _)| name.contains(pattern));
        let mut names: Vec<&str> = similar.take(NAMED).map(|(name, _)| &**name).collect();
        let what = match names.is_empty() {
            true => "most time is in",
            false => "there is",
        };
        if names.is_empty() {
            names = rest.iter().take(NAMED).map(|(name, _)| &**name).collect();
        }
        bail!(
            "no stack has a method {pattern}; {what} {}",
            names.join(", ")
        );
    }
    let mut found = found.into_iter();
    let Some((name, mut method)) = found.next() else {
        return Ok(ExitCode::FAILURE);
    };
    method.lines.sort_by_key(|cost| cost.line);
    let source = match &method.file {
        Some(file) => sources.find(&method.class, file)?,
        None => None,
    };
    let annotated = Annotated {
        others: found.map(|(name, _)| name).collect(),
        name,
        method,
        source,
        weights,
    };
    let missing = annotated.missing(sources);
    if is_json {
        print_json(&annotated.json(&opened.name, missing.as_deref()))?;
    } else {
        print(&annotated.text(missing.as_deref(), Style::of_stdout()))?;
    }
    // Folders were given, and have no such file.
    let is_wanting = missing.is_some() && !sources.sources.is_empty();
    Ok(ExitCode::from(u8::from(is_wanting)))
}

/// Returns true if a pattern is a name or the end of one.
fn is_named(name: &str, pattern: &str) -> bool {
    let rest = name.strip_suffix(pattern);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', '$', '/']))
}

impl Annotated<'_> {
    /// The method without its class.
    fn simple(&self) -> &str {
        let class = self.name.strip_prefix(&self.method.class);
        class.map_or(&*self.name, |rest| rest.trim_start_matches('.'))
    }

    /// The reason that a part is not shown, and the remedy.
    fn missing(&self, sources: &SourcesArgument) -> Option<String> {
        let Self { name, method, .. } = self;
        let (Some(first), Some(last)) = (method.lines.first(), method.lines.last()) else {
            return Some(format!(
                "{name} has no line numbers: it is native, was compiled without them, or was recorded with lineno=n"
            ));
        };
        let Some(file) = &method.file else {
            return Some(format!(
                "the profile does not name the source file of {name}"
            ));
        };
        let Some(source) = &self.source else {
            return Some(format!(
                "no source: {file} of {} is not in {}; name the folder with --sources DIR",
                method.class,
                sources.places()
            ));
        };
        let path = source.path.display();
        let lines = source.lines.len() as u32;
        if last.line > lines {
            return Some(format!(
                "{path} has {}, and the profile names lines {} to {}: it is of another version",
                plural(u64::from(lines), "line", "lines"),
                first.line,
                last.line
            ));
        }
        let text_of = |cost: &&LineCost| source.lines.get(cost.line.checked_sub(1)? as usize);
        let lines = method.lines.iter();
        let free = lines.filter(|cost| text_of(cost).is_some_and(|text| !has_code(text)));
        let free = free.map(|cost| cost.line).next()?;
        Some(format!(
            "line {free} of {path} has no code, and the profile has costs there: it is of another version"
        ))
    }

    /// Each line that is shown, with its cost and its text.
    fn rows(&self) -> Vec<(LineCost, &str)> {
        let lines = &self.method.lines;
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
            return Vec::new();
        };
        let text_of = |line: u32| {
            let source = self.source.as_ref()?;
            source
                .lines
                .get(line.checked_sub(1)? as usize)
                .map(String::as_str)
        };
        let mut rows: Vec<LineCost> = lines.clone();
        if let Some(source) = &self.source {
            let (start, end) =
                source.method(&self.method.class, self.simple(), first.line, last.line);
            let free = |line: &u32| lines.binary_search_by_key(line, |cost| cost.line).is_err();
            rows.extend((start..=end).filter(free).map(|line| LineCost {
                line,
                ..LineCost::default()
            }));
            rows.sort_by_key(|cost| cost.line);
        }
        let rows = rows.into_iter().filter(|cost| cost.line > 0);
        rows.map(|cost| (cost, text_of(cost.line).unwrap_or_default()))
            .collect()
    }

    fn text(&self, missing: Option<&str>, style: Style) -> String {
        let Self {
            name,
            method,
            weights,
            ..
        } = self;
        let total = weights.total;
        let mut text = format!(
            "{}: {} {}\n{}: {} with calls, {} self\n",
            style.bold(weights.measure.title()),
            count(total),
            weights.measure.unit(),
            style.bold(&printable(name)),
            percent(method.total, total),
            percent(method.own, total),
        );
        if let Some(source) = &self.source {
            let path = source.path.strip_prefix(".").unwrap_or(&source.path);
            text.push_str(&format!("{}\n", printable(&path.display().to_string())));
        }
        let share = |cost: u64| match cost {
            0 => String::new(),
            cost => percent(cost, total),
        };
        let rows: Vec<[String; 4]> = (self.rows().into_iter())
            .map(|(cost, line)| {
                let number = cost.line.to_string();
                [share(cost.own), share(cost.total), number, printable(line)]
            })
            .collect();
        if !rows.is_empty() {
            let head = [
                ("self", Align::Right),
                ("with calls", Align::Right),
                ("line", Align::Right),
                ("", Align::Left),
            ];
            text.push_str(&whole_columns(style, head, &rows));
        }
        if let Some(missing) = missing {
            text.push_str(&format!("{}\n", printable(missing)));
        }
        if !self.others.is_empty() {
            let shown = self.others.len().min(NAMED);
            let more = match self.others.len() - shown {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let names = printable(&self.others[..shown].join(", "));
            text.push_str(&format!("The name fits other methods too: {names}{more}\n"));
        }
        text
    }

    fn json(&self, file: &str, missing: Option<&str>) -> Value {
        let has_source = self.source.is_some();
        let lines = self.rows().into_iter().map(|(cost, text)| {
            json!({
                "line": cost.line, "self": cost.own, "total": cost.total,
                "text": has_source.then_some(text),
            })
        });
        json!({
            "file": file,
            "measure": self.weights.measure,
            "unit": self.weights.measure.unit(),
            "total": self.weights.total,
            "method": self.name,
            "method_self": self.method.own,
            "method_total": self.method.total,
            "source_file": self.method.file,
            "source": self.source.as_ref().map(|source| source.path.display().to_string()),
            "missing": missing,
            "others": self.others,
            "lines": lines.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn the_end_of_a_name_names_a_method() {
        for (pattern, is) in [
            ("acme.shop.Price.parse", true),
            ("Price.parse", true),
            ("parse", true),
            ("rice.parse", false),
            ("acme.shop.Price", false),
        ] {
            assert_eq!(is_named("acme.shop.Price.parse", pattern), is, "{pattern}");
        }
    }
}
