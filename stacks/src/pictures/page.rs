//! One HTML page with flame graphs and tables, which needs nothing else.

use std::io;

use super::colours;
use super::flame_graph::{self, Drawing};
use super::numbers::{count, percent};
use super::profile::View;
use crate::methods::MethodCost;

/// The rows of a table.
const TABLE_ROWS: usize = 40;

/// One picture of a page.
pub struct Panel {
    /// What stands on its tab.
    pub label: String,
    /// A line below the tabs.
    pub summary: String,
    /// The SVG document.
    pub svg: String,
    /// A table, as HTML.
    pub table: String,
}

impl Panel {
    /// The picture and the table of a view.
    ///
    /// # Errors
    /// If nothing was counted.
    pub fn of(view: &View, drawing: &Drawing) -> io::Result<Self> {
        Ok(Self {
            label: view.title.clone(),
            summary: format!("{} {}", count(view.tree.total), view.unit),
            svg: flame_graph::svg(view, drawing)?,
            table: table(view),
        })
    }
}

/// The page.
pub fn html(title: &str, panels: &[Panel], remarks: &[String], legend: Legend) -> String {
    let title = escape(title);
    let mut tabs = String::new();
    let mut bodies = String::new();
    let mut rules = String::new();
    for (number, panel) in panels.iter().enumerate() {
        let checked = if number == 0 { " checked" } else { "" };
        let label = escape(&panel.label);
        tabs.push_str(&format!(
            "<input type=\"radio\" name=\"tab\" id=\"t{number}\"{checked}>\
             <label for=\"t{number}\">{label}</label>\n"
        ));
        rules.push_str(&format!(
            "#t{number}:checked ~ #p{number} {{ display: block; }}\n"
        ));
        bodies.push_str(&format!(
            "<section id=\"p{number}\">\n<p class=\"sum\"><b>{label}</b>: {}</p>\n\
             <iframe title=\"{label}: flame graph\" style=\"height:{}px\" srcdoc=\"{}\"></iframe>\n\
             {}</section>\n",
            escape(&panel.summary),
            height(&panel.svg),
            escape(&document(&panel.svg)),
            panel.table
        ));
    }
    let legend = legend.html();
    if panels.is_empty() {
        bodies.push_str("<p>Nothing was counted.</p>\n");
    }
    let remarks = match remarks {
        [] => String::new(),
        remarks => format!(
            "<details><summary>The profiler's remarks</summary><pre>{}</pre></details>\n",
            escape(&remarks.join("\n"))
        ),
    };
    let tabs_class = if panels.len() > 1 { "tabs" } else { "tabs one" };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"hprof-rs {}\">\n<title>{title}</title>\n\
         <style>\n{STYLE}{rules}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
         <div class=\"{tabs_class}\">\n{tabs}{bodies}</div>\n{legend}{remarks}</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// What the colours mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legend {
    /// Kinds of methods.
    Kinds,
    /// Growth and shrinkage.
    Differences,
}

impl Legend {
    fn html(self) -> String {
        let colours: Vec<(&str, String)> = match self {
            Self::Kinds => colours::LEGEND
                .iter()
                .map(|(name, c)| (*name, format!("rgb({},{},{})", c.r, c.g, c.b)))
                .collect(),
            Self::Differences => vec![
                ("costs more than before", "rgb(255,120,120)".to_owned()),
                ("costs less", "rgb(120,120,255)".to_owned()),
            ],
        };
        let colours: String = colours
            .iter()
            .map(|(name, colour)| {
                format!("<span><i style=\"background:{colour}\"></i>{name}</span> ")
            })
            .collect();
        format!(
            "<p class=\"legend\">{colours}<span>Width is cost; callees stand on their callers. Click to \
             zoom, Ctrl-F or Search to mark.</span></p>\n"
        )
    }
}

/// The inner page of a picture, without the margins that browsers add.
fn document(svg: &str) -> String {
    // A document type and processing instruction may stand in front of the picture.
    let picture = svg.find("<svg").map_or(svg, |start| &svg[start..]);
    format!(
        "<!DOCTYPE html><meta name=\"color-scheme\" content=\"light dark\">\
         <style>body{{margin:0}}body>svg{{display:block;width:100%}}</style>{picture}"
    )
}

/// The height that the picture states.
fn height(svg: &str) -> u32 {
    let stated = svg.split(" height=\"").nth(1);
    let stated = stated.and_then(|rest| rest.split('"').next()?.parse().ok());
    stated.unwrap_or(600)
}

fn table(view: &View) -> String {
    if view.rows.is_empty() {
        return String::new();
    }
    let total = view.tree.total;
    let row = |cost: &MethodCost| {
        let share = 100.0 * cost.own as f64 / total.max(1) as f64;
        format!(
            "<tr><td>{}</td><td class=\"bar\"><i style=\"width:{share:.1}%\"></i></td><td>{}</td>\
             <td>{}</td><td class=\"name\">{}</td></tr>\n",
            percent(cost.own, total),
            count(cost.own),
            percent(cost.total, total),
            escape(&cost.name)
        )
    };
    let rows: String = view.rows.iter().take(TABLE_ROWS).map(row).collect();
    let more = view.rows.len().saturating_sub(TABLE_ROWS);
    let more = match more {
        0 => String::new(),
        more => format!("<p class=\"sum\">{} more</p>\n", count(more as u64)),
    };
    format!(
        "<div class=\"scroll\"><table>\n<tr><th>self</th><th></th><th>{}</th><th>with calls</th>\
         <th class=\"name\">{}</th></tr>\n{rows}</table></div>\n{more}",
        escape(&view.unit),
        view.row
    )
}

const STYLE: &str = "\
:root { --text: #222; --back: #fff; --soft: #666; --line: #ddd; --bar: #f0a35e; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e3e3e6; --back: #1b1c1f; --soft: #9a9aa2; --line: #3a3b40; --bar: #b8763c; }
}
body { margin: 0; font: 15px/1.45 system-ui, sans-serif; color: var(--text); background: var(--back); }
main { max-width: 1600px; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.25rem; margin: 0 0 .75rem; overflow-wrap: anywhere; }
.tabs > input { position: absolute; opacity: 0; }
.tabs > label { display: inline-block; padding: .3rem .7rem; margin: 0 .3rem .3rem 0; cursor: pointer;
  border: 1px solid var(--line); border-radius: 6px; }
.tabs > input:checked + label { border-color: var(--text); font-weight: 600; }
.tabs > input:focus-visible + label { outline: 2px solid var(--bar); }
.one > input, .one > label { display: none; }
section { display: none; }
.sum { margin: .5rem 0; }
iframe { width: 100%; border: 1px solid var(--line); border-radius: 6px; box-sizing: content-box; }
.scroll { overflow-x: auto; margin-top: 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .12rem .6rem; text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
.name { text-align: left; font-family: ui-monospace, monospace; }
.bar { width: 8rem; min-width: 8rem; padding: 0; }
.bar i { display: block; height: .7em; background: var(--bar); border-radius: 2px; min-width: 1px; }
.legend, details { color: var(--soft); font-size: 13px; margin: 1rem 0; }
.legend i { display: inline-block; width: .9em; height: .9em; margin-right: .3em; border-radius: 2px; }
.legend span { margin-right: .9em; }
pre { overflow-x: auto; }
@media (max-width: 640px) {
  main { padding: .6rem; }
  .bar { display: none; }
  th, td { padding: .12rem .35rem; }
  .name { white-space: normal; overflow-wrap: anywhere; }
}
";

/// Text as it stands in HTML, also in an attribute.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CallTree;

    #[test]
    fn a_page_holds_its_pictures_and_nothing_from_elsewhere() {
        let view = View {
            title: "CPU samples".to_owned(),
            unit: "samples".to_owned(),
            ends_in_class: false,
            tree: CallTree::from_paths([(vec!["A.<init>"], 5)]),
            row: "method",
            rows: vec![MethodCost {
                name: "A.<init>".to_owned(),
                own: 5,
                total: 5,
            }],
        };
        let panels = [(); 2].map(|()| Panel::of(&view, &Drawing::default()).unwrap());
        let remarks = ["lost = 1 < 2".to_owned()];
        let page = html("a & b", &panels, &remarks, Legend::Kinds);
        assert!(page.contains("<title>a &amp; b</title>"));
        assert!(page.contains("A.&amp;lt;init&amp;gt; (5 samples"), "{page}");
        assert!(page.contains("<td class=\"name\">A.&lt;init&gt;</td>"));
        assert!(page.contains("lost = 1 &lt; 2"));
        assert_eq!(page.matches("<iframe").count(), 2);
        assert!(!page.contains("src=") && !page.contains("<?xml"), "{page}");
        assert!(height(&panels[0].svg) > 50);
    }
}
