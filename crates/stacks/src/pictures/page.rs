//! One HTML page with flame graphs and tables, which needs nothing else.
//!
//! Its script is put together by the build script from the files in `page/`. It makes the picture
//! from the numbers in the page, and puts names in as text only.

use std::collections::BTreeMap;

use hprof_format::ids::TraceSerial;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::about::About;
use super::kinds::{self, Kind};
use super::numbers::count;
use super::places::Places;
use super::profile::{Rows, View};
use super::sources::{MethodSource, Sources};
use super::times::{Clock, Packed, Packer, Times};
use crate::call_tree::{CallTree, Node};
use crate::idle::waits_for_work;
use crate::own::Own;
use crate::slow_table::SlowTable;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/page.js"));
const POLICY: &str = include_str!(concat!(env!("OUT_DIR"), "/policy.txt"));

/// How a page looks when it is opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start {
    /// The outermost method is on top.
    pub is_icicle: bool,
    /// Stacks start at the innermost method.
    pub shows_callers: bool,
}

/// The data that the script reads.
#[derive(Default, Serialize)]
struct Data<'a> {
    about: Option<&'a About>,
    icicle: bool,
    reverse: bool,
    /// All names, each once.
    names: Vec<&'a str>,
    /// A digit for each name: its place in the script's list of kinds.
    kinds: String,
    /// A 1 for each name that is the program's, or a 0.
    own: String,
    #[serde(skip)]
    rule: Own,
    trees: Vec<Tree>,
    views: Vec<Tab<'a>>,
    /// The source of methods by their place in `names`.
    sources: BTreeMap<u32, &'a MethodSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Clock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slow: Option<&'a SlowTable>,
    #[serde(skip)]
    index: FxHashMap<&'a str, u32>,
}

/// A tree in the order of a walk from its roots.
#[derive(Default, Serialize)]
struct Tree {
    name: Vec<u32>,
    /// How many levels the node's parent lies above the node before.
    up: Vec<usize>,
    own: Vec<u64>,
    /// The costs in the profile that this one is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Vec<u64>>,
    classes: bool,
    packages: bool,
    threads: bool,
    table: &'static str,
}

/// File and hottest lines of a method: line, self cost, and cost with calls.
type Hottest<'a> = (&'a str, Vec<(u32, u64, u64)>);

/// One way to look at a tree.
#[derive(Serialize)]
struct Tab<'a> {
    title: &'a str,
    unit: &'a str,
    own: &'static str,
    total: Option<&'static str>,
    tree: usize,
    /// The tree with threads that wait for work, if `tree` lacks them.
    whole: Option<usize>,
    /// Their cost.
    idle: u64,
    /// The column of the tree: 1 is `before`.
    side: usize,
    /// Where the cost goes, in a sentence.
    headline: Option<&'a str>,
    /// The part of the cost that the program's methods may lack, in a sentence.
    cut: Option<String>,
    /// The packages that were taken for the program's.
    packages: Vec<String>,
    /// The hottest lines by a method's place in `names`.
    lines: BTreeMap<u32, Hottest<'a>>,
    /// When the costs arose.
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<Packed>,
    /// When those of the whole tree arose.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_events: Option<Packed>,
}

/// The page of one profile. With `times` it shows any part of the time.
pub fn html(about: &About, views: &[View], start: Start, times: Option<&Times<'_>>) -> String {
    let beside = Beside {
        times,
        ..Beside::default()
    };
    html_with(about, views, start, &beside)
}

/// Parts of a page beside its views.
#[derive(Default)]
pub struct Beside<'a> {
    /// When costs arose.
    pub times: Option<&'a Times<'a>>,
    /// The source of methods.
    pub sources: Sources,
    /// Slow calls.
    pub slow: Option<SlowTable>,
}

/// The page of one profile with more than its views.
pub fn html_with(about: &About, views: &[View], start: Start, beside: &Beside<'_>) -> String {
    let Beside {
        times,
        sources,
        slow,
    } = beside;
    let times = *times;
    let mut data = Data {
        about: Some(about),
        slow: slow.as_ref(),
        icicle: start.is_icicle,
        reverse: start.shows_callers,
        ..Data::default()
    };
    data.rule = rule_of(views);
    let packer = times.map(Packer::new);
    for view in views {
        data.add(view, &view.tree, None);
        data.sources(sources);
        data.tab(view, &view.title, 0);
        if let (Some(times), Some(packer)) = (times, &packer) {
            let is_shown = |trace| {
                view.idle.is_none() || !waits_for_work(times.stacks, times.stacks.frames_of(trace))
            };
            data.events(view, times, packer, &is_shown);
        }
        if let Some(idle) = &view.idle {
            data.add(view, &idle.whole, None);
            data.has_whole(idle.cost);
            if let (Some(times), Some(packer)) = (times, &packer) {
                data.whole_events(view, times, packer);
            }
        }
    }
    let is_timed = |tab: &Tab<'_>| tab.events.is_some() || tab.whole_events.is_some();
    let is_timed = data.views.iter().any(is_timed);
    data.times = packer.map(|it| it.clock).filter(|_| is_timed);
    page(&data)
}

/// The page of two profiles: what has grown is red, what has shrunk blue.
pub fn differential(about: &About, before: &View, after: &View, start: Start) -> String {
    let mut data = Data {
        about: Some(about),
        icicle: start.is_icicle,
        rule: rule_of(std::slice::from_ref(after)),
        ..Data::default()
    };
    data.add(after, &after.tree, Some(&before.tree));
    let titles = ["After", "Before"].map(|side| format!("{side}: {}", after.title));
    for (side, title) in titles.iter().enumerate() {
        data.tab(after, title, side);
    }
    page(&data)
}

/// The rule of the first measure of which methods are known.
fn rule_of(views: &[View]) -> Own {
    let known = views.iter().find(|view| !view.answer.own.rows.is_empty());
    known.map_or_else(Own::default, |view| view.answer.own.own.clone())
}

/// Lines of a method whose source the page lacks.
const LINES: usize = 5;

impl<'a> Data<'a> {
    /// Adds the source of the methods that trees have by now.
    fn sources(&mut self, sources: &'a Sources) {
        for (name, source) in sources {
            if let Some(&place) = self.index.get(name.as_str()) {
                self.sources.insert(place, source);
            }
        }
    }

    fn tab(&mut self, view: &'a View, title: &'a str, side: usize) {
        let answer = &view.answer;
        let methods = answer.lines.iter().filter_map(|(name, method)| {
            let place = *self.index.get(name.as_str())?;
            let shown = match self.sources.contains_key(&place) {
                true => method.lines.len(),
                false => LINES,
            };
            let lines = method.lines.iter().take(shown);
            let lines = lines.map(|it| (it.line, it.own, it.total)).collect();
            Some((place, (method.file.as_deref().unwrap_or_default(), lines)))
        });
        self.views.push(Tab {
            headline: answer.own.headline.as_deref(),
            cut: answer.own.cut.map(|cut| cut.to_string()),
            packages: answer.own.packages(),
            lines: methods.collect(),
            title,
            unit: &view.unit,
            own: view.words.own,
            total: view.words.total,
            tree: self.trees.len() - 1,
            whole: None,
            idle: 0,
            side,
            events: None,
            whole_events: None,
        });
    }

    /// The last tree is that of the last tab with the threads that wait for work.
    fn has_whole(&mut self, idle: u64) {
        if let Some(tab) = self.views.last_mut() {
            (tab.whole, tab.idle) = (Some(self.trees.len() - 1), idle);
        }
    }

    /// Adds the times of the last tab's measure.
    fn events(
        &mut self,
        view: &View,
        times: &Times<'_>,
        packer: &Packer<'_>,
        is_shown: &dyn Fn(TraceSerial) -> bool,
    ) {
        let events = self.pack(view, times, packer, is_shown);
        if let Some(tab) = self.views.last_mut() {
            tab.events = events;
        }
    }

    /// Adds the times of the last tab's measure with the threads that wait for work.
    fn whole_events(&mut self, view: &View, times: &Times<'_>, packer: &Packer<'_>) {
        let events = self.pack(view, times, packer, &|_| true);
        if let Some(tab) = self.views.last_mut() {
            tab.whole_events = events;
        }
    }

    /// The times of a measure, with the places of their stacks in the tree that was added last.
    fn pack(
        &self,
        view: &View,
        times: &Times<'_>,
        packer: &Packer<'_>,
        is_shown: &dyn Fn(TraceSerial) -> bool,
    ) -> Option<Packed> {
        let (measure, tree) = (view.measure?, self.trees.last()?);
        let mut places = Places::new(
            (&tree.name, &tree.up),
            tree.threads,
            &self.index,
            times.stacks,
            times.thread_name,
        );
        packer.pack(measure, &mut |trace| {
            is_shown(trace).then(|| places.of(trace)).flatten()
        })
    }

    fn name(&mut self, name: &'a str) -> u32 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let next = self.names.len() as u32;
        self.names.push(name);
        self.kinds.push(match kinds::kind_of(name) {
            Kind::Program if !self.rule.is_own_name(name) && name.contains('.') => '5',
            Kind::Program => '0',
            Kind::Jdk => '1',
            Kind::Class => '2',
            Kind::Other => '3',
            Kind::Native => '4',
            Kind::Kernel => '6',
        });
        self.own.push(match self.rule.is_own_name(name) {
            true => '1',
            false => '0',
        });
        self.index.insert(name, next);
        next
    }

    fn add(&mut self, view: &View, tree: &'a CallTree, before: Option<&'a CallTree>) {
        let mut flat = Tree {
            classes: view.ends_in_class,
            packages: view.words.rows == Rows::Classes,
            threads: view.has_threads,
            table: match view.words.rows {
                Rows::Methods => "method",
                Rows::Classes => "class",
            },
            before: before.map(|_| Vec::new()),
            ..Tree::default()
        };
        let mut open: Vec<(Pair<'a>, usize)> = Vec::new();
        let roots = before.map_or(&[][..], |before| &before.roots);
        open.extend(
            pairs(&tree.roots, roots)
                .into_iter()
                .rev()
                .map(|it| (it, 0)),
        );
        // The depth of the node before, counted from 1.
        let mut last = 0;
        while let Some(((node, other), depth)) = open.pop() {
            let Some(named) = node.or(other) else {
                continue;
            };
            let name = self.name(&named.name);
            flat.name.push(name);
            flat.up.push(last - depth);
            flat.own.push(node.map_or(0, |node| node.own));
            if let Some(column) = &mut flat.before {
                column.push(other.map_or(0, |node| node.own));
            }
            last = depth + 1;
            let children = |node: Option<&'a Node>| node.map_or(&[][..], |node| &node.children);
            let inner = pairs(children(node), children(other));
            open.extend(inner.into_iter().rev().map(|pair| (pair, last)));
        }
        self.trees.push(flat);
    }
}

/// Rows of the table for browsers without JavaScript.
const LARGEST: usize = 10;

impl Data<'_> {
    /// The methods or classes of the first view with the largest costs of their own, as lines of text.
    fn largest(&self) -> String {
        let (Some(view), Some(tree)) = (self.views.first(), self.trees.first()) else {
            return "nothing was counted\n".to_owned();
        };
        let mut costs: FxHashMap<u32, u64> = FxHashMap::default();
        for (&name, &own) in tree.name.iter().zip(&tree.own) {
            *costs.entry(name).or_default() += own;
        }
        let total: u64 = tree.own.iter().sum();
        let mut rows: Vec<(u64, &str)> = (costs.into_iter())
            .filter_map(|(name, cost)| Some((cost, *self.names.get(name as usize)?)))
            .filter(|(cost, _)| *cost > 0)
            .collect();
        rows.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let mut text = format!("{}: {} {}\n", view.title, count(total), view.unit);
        for sentence in view.headline.into_iter().chain(view.cut.as_deref()) {
            text.push_str(&format!("{}\n", plain(sentence)));
        }
        for (cost, name) in rows.into_iter().take(LARGEST) {
            let share = cost as f64 * 100.0 / total as f64;
            let cost = count(cost);
            text.push_str(&format!("{share:6.1} % {cost:>15}  {}\n", plain(name)));
        }
        text
    }
}

/// A name without characters that change how others are shown: a terminal may show the lines, too.
fn plain(name: &str) -> String {
    let replaced = |c: char| match c {
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => true,
        c => c.is_control(),
    };
    name.replace(replaced, "\u{fffd}")
}

/// A node of the profile, of the one it is compared with, or of both.
type Pair<'a> = (Option<&'a Node>, Option<&'a Node>);

/// Puts the nodes of equal names together.
fn pairs<'a>(nodes: &'a [Node], others: &'a [Node]) -> Vec<Pair<'a>> {
    let mut left: FxHashMap<&str, &'a Node> =
        others.iter().map(|node| (&*node.name, node)).collect();
    let mut pairs: Vec<Pair<'a>> = nodes
        .iter()
        .map(|node| (Some(node), left.remove(&*node.name)))
        .collect();
    let gone = others.iter().filter(|node| left.contains_key(&*node.name));
    pairs.extend(gone.map(|node| (None, Some(node))));
    pairs
}

fn page(data: &Data<'_>) -> String {
    // A `<` could end the script element. No key or value fails to become JSON.
    let json = serde_json::to_string(data).unwrap_or_default();
    let json = json.replace('<', "\\u003c");
    let title = data.about.map_or("", |about| &about.title);
    let values = [
        ("{{POLICY}}", POLICY),
        ("{{VERSION}}", env!("CARGO_PKG_VERSION")),
        ("{{TITLE}}", &escape(title)),
        ("{{STYLE}}", STYLE),
        ("{{LARGEST}}", &escape(&data.largest())),
        ("{{DATA}}", &json),
        ("{{SCRIPT}}", SCRIPT),
    ];
    // From one mark to the next: what a value holds is no mark.
    let mut text = String::with_capacity(PAGE.len() + STYLE.len() + SCRIPT.len() + json.len());
    let mut rest = PAGE;
    for (mark, value) in values {
        if let Some((head, tail)) = rest.split_once(mark) {
            text.push_str(head);
            text.push_str(value);
            rest = tail;
        }
    }
    text.push_str(rest);
    text
}

/// Text escaped for HTML, also in an attribute.
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
    use crate::Measure;
    use crate::pictures::profile::Words;
    use serde_json::Value;

    #[test]
    fn a_browser_without_scripts_shows_the_largest_costs() {
        let view = view(&[
            (&["a", "b"], 30),
            (&["b"], 60),
            (&["c<\u{1b}\u{202e}>"], 9),
            (&["a"], 1),
        ]);
        let page = html(&About::default(), &[view], Start::default(), None);
        let (_, table) = page.split_once("<pre id=\"largest\">").unwrap();
        let (table, _) = table.split_once("</pre>").unwrap();
        let lines: Vec<String> = (table.lines())
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            lines,
            [
                "CPU samples: 100 samples",
                "90.0 % 90 b",
                "9.0 % 9 c&lt;\u{fffd}\u{fffd}&gt;",
                "1.0 % 1 a",
            ]
        );
    }

    fn view(paths: &[(&[&str], u64)]) -> View {
        View {
            measure: None,
            title: "CPU samples".to_owned(),
            unit: "samples".to_owned(),
            ends_in_class: false,
            tree: CallTree::from_paths(paths.iter().map(|(path, n)| (path.to_vec(), *n))),
            words: Words::of(Measure::Samples),
            has_threads: false,
            answer: Default::default(),
            idle: None,
        }
    }

    fn data(page: &str) -> Value {
        let (_, rest) = page.split_once("id=\"data\">").expect("data");
        let (json, _) = rest.split_once("</script>").expect("its end");
        serde_json::from_str(json).expect("JSON")
    }

    #[test]
    fn a_page_holds_the_tree_and_nothing_from_elsewhere() {
        let paths: [(&[&str], u64); 3] = [
            (&["A.main", "B.b", "C.<init>"], 5),
            (&["A.main", "D.d"], 2),
            (&["E.e</script>{{SCRIPT}}"], 1),
        ];
        let about = About {
            title: "a & {{STYLE}} </title>".to_owned(),
            ..About::default()
        };
        let page = html(&about, &[view(&paths)], Start::default(), None);
        assert!(page.contains("<title>a &amp; {{STYLE}} &lt;/title&gt;</title>"));
        let data = data(&page);
        let names = &data["names"];
        assert_eq!(names[4], "E.e</script>{{SCRIPT}}");
        let tree = &data["trees"][0];
        assert_eq!(tree["name"], serde_json::json!([0, 1, 2, 3, 4]));
        assert_eq!(tree["up"], serde_json::json!([0, 0, 0, 2, 2]));
        assert_eq!(tree["own"], serde_json::json!([0, 0, 5, 2, 1]));
        assert_eq!(page.matches("<script").count(), 2);
        for part in [
            " src=",
            "<iframe",
            "onclick=\"",
            "style=\"",
            "http:",
            "https:",
        ] {
            assert!(!page.contains(part), "{part}");
        }
        assert!(page.contains("default-src 'none'; style-src 'sha256-"));
    }

    #[test]
    fn two_profiles_become_one_tree_with_both_costs() {
        let before = view(&[(&["A.a", "B.b"], 10), (&["A.a", "C.c"], 4)]);
        let after = view(&[(&["A.a", "B.b"], 15), (&["D.d"], 1)]);
        let page = differential(&About::default(), &before, &after, Start::default());
        let data = data(&page);
        assert_eq!(
            data["names"],
            serde_json::json!(["A.a", "B.b", "C.c", "D.d"])
        );
        let tree = &data["trees"][0];
        assert_eq!(tree["own"], serde_json::json!([0, 15, 0, 1]));
        assert_eq!(tree["before"], serde_json::json!([0, 10, 4, 0]));
        assert_eq!(data["views"][1]["side"], 1);
    }
}
