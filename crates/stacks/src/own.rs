//! Which methods are the program's: the JDK and known libraries are not.
//!
//! A cost is charged to the innermost frame of the program on its stack, as people look for a line that they can change:
//! `HashMap.getNode` is where the time goes, the caller that fills the map is the answer.

mod known;

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use serde::Serialize;

use self::known::{LIBRARIES, MADE, RUNTIMES};
use crate::depth::CutBeforeOwn;
use crate::pictures::{Kind, kind_of};
use crate::table::{Frame, Stacks};
use crate::weights::{Measure, Weights};

/// Parts of a package's name that stand for it, as in `java.util.regex`.
const PACKAGE_PARTS: usize = 3;

/// Which classes are the program's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by", content = "patterns")]
pub enum Own {
    /// All but the JDK, runtimes of languages, and known libraries.
    #[default]
    Inferred,
    /// All but the JDK and runtimes of languages: in this profile nothing else is there, as when a library is profiled by itself.
    Libraries,
    /// Those that match one of these: a package or class, with `*` for any text.
    Given(Vec<String>),
}

impl Own {
    /// The narrowest rule by which the program has a part of what all but the runtimes cost. A server in the table of libraries may
    /// be the program itself.
    pub fn infer(stacks: &Stacks, weights: &Weights) -> Self {
        /// The part from which methods that are in no table are the program.
        const PART: u64 = 20;
        let sum = |own: &Self| -> u64 {
            let rows = by_own(stacks, weights, own);
            rows.iter().map(|row| row.cost).sum()
        };
        let all = sum(&Self::Libraries);
        match sum(&Self::Inferred) {
            0 => Self::Libraries,
            own if own < all / PART => Self::Libraries,
            _ => Self::Inferred,
        }
    }

    /// The rule of these patterns; none of no pattern.
    pub fn given(patterns: &[String]) -> Option<Self> {
        (!patterns.is_empty()).then(|| Self::Given(patterns.to_vec()))
    }

    /// Returns true if a frame is the program's.
    pub fn is_own(&self, frame: &Frame) -> bool {
        self.has(&frame.class_name, &frame.name())
    }

    /// Returns true if a method is the program's, by its class and name as [`Frame::name`] gives them.
    pub fn is_own_name(&self, name: &str) -> bool {
        let class = name.rsplit_once('.').map_or("", |(class, _)| class);
        self.has(class, name)
    }

    fn has(&self, class: &str, name: &str) -> bool {
        if class.is_empty() || kind_of(name) != Kind::Program && !matches!(self, Self::Given(_)) {
            return false;
        }
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| class.starts_with(prefix));
        if is_made(class) {
            return false;
        }
        match self {
            Self::Inferred => !begins(&RUNTIMES) && !begins(&LIBRARIES),
            Self::Libraries => !begins(&RUNTIMES),
            Self::Given(patterns) => patterns.iter().any(|pattern| matches(pattern, class)),
        }
    }
}

/// Returns true of a class that was made at run time.
fn is_made(class: &str) -> bool {
    class.starts_with("$Proxy") || MADE.iter().any(|part| class.contains(part))
}

/// Returns true if `class` is named by `pattern`, or is in the package or class that it names. A `*` stands for any text.
fn matches(pattern: &str, class: &str) -> bool {
    let pattern = pattern.strip_suffix(".*").unwrap_or(pattern);
    let pattern = pattern.strip_suffix('.').unwrap_or(pattern);
    let begins = |rest: &str| rest.is_empty() || rest.starts_with(['.', '$', '/']);
    match pattern.split_once('*') {
        None => class.strip_prefix(pattern).is_some_and(begins),
        Some((first, pattern)) => class.strip_prefix(first).is_some_and(|rest| {
            pattern.is_empty()
                || rest
                    .char_indices()
                    .any(|(at, _)| matches(pattern, &rest[at..]))
        }),
    }
}

/// What a method of the program costs, with all of the JDK and of libraries that it calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnCost {
    /// Class and method.
    pub name: String,
    /// File and line of the method that cost most.
    pub place: String,
    /// The cost of the stacks whose innermost frame of the program is of this method.
    pub cost: u64,
    /// Of that, the cost of the method's own code.
    #[serde(rename = "self")]
    pub own: u64,
    /// The package or class of what it calls that costs most, and how much; none if it calls nothing.
    pub called: Option<(String, u64)>,
}

/// The part of the program in a profile: which methods are its own, and what they cost.
#[derive(Debug, Clone, Default)]
pub struct OwnCosts {
    /// The rule.
    pub own: Own,
    /// Its methods, that with the highest cost first.
    pub rows: Vec<OwnCost>,
    /// The answer in a sentence; see [`headline`]. It begins with `at least` where stacks are cut.
    pub headline: Option<String>,
    /// The costs that its methods may lack.
    pub cut: Option<CutBeforeOwn>,
}

impl OwnCosts {
    /// Costs by a given rule, or else by the one that is inferred. Stacks have at most `limit` frames, if that is known.
    pub fn of(
        stacks: &Stacks,
        weights: &Weights,
        given: Option<&Own>,
        limit: Option<usize>,
    ) -> Self {
        let own = given
            .cloned()
            .unwrap_or_else(|| Own::infer(stacks, weights));
        let rows = by_own(stacks, weights, &own);
        let cut = match weights.measure {
            Measure::Calls => None,
            _ => CutBeforeOwn::of(stacks, weights, &own, limit),
        };
        let headline = headline(&rows, weights);
        let headline = headline.map(|sentence| match cut {
            Some(_) => format!("At least {sentence}"),
            None => sentence,
        });
        Self {
            own,
            rows,
            headline,
            cut,
        }
    }

    /// The packages of these methods, that with the highest cost first; a class without a package stands for itself.
    pub fn packages(&self) -> Vec<String> {
        let mut costs: FxHashMap<String, u64> = FxHashMap::default();
        for row in &self.rows {
            let class = row.name.rsplit_once('.').map_or("", |(class, _)| class);
            let class = class.split('$').next().unwrap_or(class);
            let package = class.rsplit_once('.').map_or(class, |(package, _)| package);
            *costs.entry(short(package)).or_default() += row.cost;
        }
        let mut all: Vec<(String, u64)> = costs.into_iter().collect();
        all.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
        all.into_iter().map(|(package, _)| package).collect()
    }
}

/// The first parts of a package's name.
fn short(package: &str) -> String {
    let parts: Vec<&str> = package.split('.').take(PACKAGE_PARTS).collect();
    parts.join(".")
}

/// Costs by the innermost method of the program, highest first.
pub fn by_own(stacks: &Stacks, weights: &Weights, own: &Own) -> Vec<OwnCost> {
    #[derive(Default)]
    struct Sums {
        cost: u64,
        own: u64,
        places: FxHashMap<String, u64>,
        called: FxHashMap<String, u64>,
    }
    let mut known = FxHashMap::default();
    let mut methods: FxHashMap<String, Sums> = FxHashMap::default();
    for row in weights.rows.iter().filter(|row| row.value > 0) {
        let frames = stacks.frames_of(row.trace);
        let mut is_own = |frame| {
            *known
                .entry(frame)
                .or_insert_with(|| own.is_own(stacks.frame(frame)))
        };
        let Some(depth) = frames.iter().position(|&frame| is_own(frame)) else {
            continue;
        };
        let frame = stacks.frame(frames[depth]);
        let sums = methods.entry(frame.name()).or_default();
        sums.cost += row.value;
        *sums.places.entry(frame.place()).or_default() += row.value;
        let mut called = frames[..depth]
            .iter()
            .rev()
            .map(|&frame| stacks.frame(frame));
        match called.find(|frame| !is_made(&frame.class_name)) {
            None => sums.own += row.value,
            Some(callee) => *sums.called.entry(part_of(callee)).or_default() += row.value,
        }
    }
    let most =
        |all: FxHashMap<String, u64>| all.into_iter().max_by(|a, b| (a.1, &b.0).cmp(&(b.1, &a.0)));
    let mut rows: Vec<OwnCost> = methods
        .into_iter()
        .map(|(name, sums)| OwnCost {
            name,
            place: most(sums.places).map_or_else(String::new, |(place, _)| place),
            cost: sums.cost,
            own: sums.own,
            called: most(sums.called),
        })
        .collect();
    rows.sort_by(|a, b| (Reverse(a.cost), &a.name).cmp(&(Reverse(b.cost), &b.name)));
    rows
}

/// The package of a called method, in few parts, or its class if that has no package.
fn part_of(frame: &Frame) -> String {
    let class = &*frame.class_name;
    match class.rsplit_once('.') {
        _ if kind_of(&frame.name()) == Kind::Kernel => "the kernel".to_owned(),
        Some((package, _)) if kind_of(&frame.name()) != Kind::Native => short(package),
        _ if class.is_empty() => "native code".to_owned(),
        _ => class.to_owned(),
    }
}

/// The sentence that answers where the cost goes, such as `79 % in acme.PriceParser.parse (PriceParser.java:41), of it 31 % in
/// java.util.regex`; none if the profile has no method of the program, and for calls, of which the shortest method has most.
pub fn headline(rows: &[OwnCost], weights: &Weights) -> Option<String> {
    let first = rows.first().filter(|_| weights.measure != Measure::Calls)?;
    let percent = |part: u64, all: u64| (part as f64 * 100.0 / all.max(1) as f64).round();
    let share = percent(first.cost, weights.total);
    let of_it = first.called.as_ref().and_then(|(name, cost)| {
        let share = percent(*cost, first.cost);
        (share >= 10.0).then(|| format!(", of it {share} % in {name}"))
    });
    Some(format!(
        "{share} % in {} ({}){}",
        first.name,
        first.place,
        of_it.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Trace, Weight};
    use hprof_format::ids::TraceSerial;
    use hprof_format::model::Line;

    fn frame(text: &str) -> Frame {
        let (name, line) = text.split_once(':').unwrap_or((text, ""));
        let (class_name, method) = match name.starts_with('[') {
            true => ("", name),
            false => name.rsplit_once('.').unwrap_or(("", name)),
        };
        Frame {
            class_name: class_name.into(),
            method: method.into(),
            source_file: (!line.is_empty()).then(|| "F.java".into()),
            line: line.parse().map_or(Line::Unknown, Line::Number),
        }
    }

    /// Stacks as lists of methods, innermost first.
    fn profile(traces: &[(&[&str], u64)]) -> (Stacks, Weights) {
        let mut stacks = Stacks::default();
        let mut rows = Vec::new();
        for (serial, (frames, value)) in (1..).map(TraceSerial::new).zip(traces) {
            let frames = frames
                .iter()
                .map(|text| stacks.intern(frame(text)))
                .collect();
            stacks.add(
                serial,
                Trace {
                    thread: None,
                    frames,
                },
            );
            rows.push(Weight {
                trace: serial,
                value: *value,
                class: None,
            });
        }
        let total = rows.iter().map(|row| row.value).sum();
        let measure = Measure::Samples;
        (
            stacks,
            Weights {
                measure,
                total,
                rows,
            },
        )
    }

    #[test]
    fn classes_of_programs_are_told_from_those_of_runtimes_and_libraries() {
        for (method, is_own) in [
            ("Burn.main", true),
            ("acme.OrderCache.remember", true),
            ("com.acme.web.OrderController$$SpringCGLIB$$0.list", false),
            ("com.acme.App$$Lambda.run", false),
            ("com.acme.App$$Lambda$14/0x0000000800c03000.run", false),
            ("com.acme.MainKt.main", true),
            ("javafoo.A.m", true),
            ("java.util.HashMap.getNode", false),
            ("jdk.proxy2.$Proxy31.find", false),
            ("com.sun.proxy.$Proxy7.find", false),
            ("kotlin.collections.CollectionsKt.map", false),
            ("scala.collection.immutable.List.map", false),
            (
                "org.springframework.web.servlet.DispatcherServlet.doDispatch",
                false,
            ),
            (
                "org.apache.catalina.core.StandardWrapperValve.invoke",
                false,
            ),
            ("io.netty.channel.nio.NioEventLoop.run", false),
            ("androidx.recyclerview.widget.RecyclerView.onLayout", false),
            ("acme.$Proxy12.find", false),
            ("$Proxy3.find", false),
            ("software.amazon.awssdk.core.Client.call", false),
            ("[native] malloc", false),
            ("<empty trace>", false),
        ] {
            assert_eq!(Own::Inferred.is_own(&frame(method)), is_own, "{method}");
        }
    }

    #[test]
    fn the_innermost_method_of_the_program_pays_for_what_it_calls() {
        let (stacks, weights) = profile(&[
            (
                &[
                    "java.util.regex.Pattern.match:7",
                    "java.util.regex.Matcher.find:1",
                    "acme.Price.parse:41",
                    "acme.Main.main:3",
                ],
                31,
            ),
            (&["acme.Price.parse:41", "acme.Main.main:3"], 48),
            (&["acme.Price.parse:44", "acme.Main.main:3"], 2),
            (
                &[
                    "[native] memcpy",
                    "java.lang.System.arraycopy",
                    "acme.Main.main:4",
                ],
                10,
            ),
            (&["java.lang.ref.Reference.waitForReferencePendingList"], 9),
        ]);
        let own = Own::infer(&stacks, &weights);
        assert_eq!(own, Own::Inferred);
        let rows = by_own(&stacks, &weights, &own);
        let sums: Vec<_> = rows
            .iter()
            .map(|row| (&*row.name, &*row.place, row.cost, row.own))
            .collect();
        let expected = [
            ("acme.Price.parse", "F.java:41", 81, 50),
            ("acme.Main.main", "F.java:4", 10, 0),
        ];
        assert_eq!(sums, expected);
        let sentence = "81 % in acme.Price.parse (F.java:41), of it 38 % in java.util.regex";
        assert_eq!(headline(&rows, &weights).as_deref(), Some(sentence));
        let costs = OwnCosts::of(&stacks, &weights, None, None);
        assert_eq!(
            (&costs.rows, costs.packages()),
            (&rows, vec!["acme".to_owned()])
        );
        assert!(own.is_own_name("acme.Price.parse") && !own.is_own_name("java.lang.String.trim"));
    }

    #[test]
    fn classes_made_at_run_time_pass_calls_on() {
        let (stacks, weights) = profile(&[(
            &[
                "java.util.HashMap.get",
                "acme.Shop$$Lambda$14/0x0800.apply",
                "acme.Shop.list:9",
            ],
            5,
        )]);
        let rows = by_own(&stacks, &weights, &Own::Inferred);
        assert_eq!(rows[0].name, "acme.Shop.list");
        assert_eq!(rows[0].called, Some(("java.util".to_owned(), 5)));
    }

    #[test]
    fn a_library_by_itself_is_the_program() {
        let (stacks, weights) = profile(&[(
            &[
                "java.util.HashMap.put",
                "org.apache.maven.cli.MavenCli.main",
            ],
            5,
        )]);
        let own = Own::infer(&stacks, &weights);
        assert_eq!(own, Own::Libraries);
        assert_eq!(
            by_own(&stacks, &weights, &own)[0].name,
            "org.apache.maven.cli.MavenCli.main"
        );
        // So is a server that is in the table, though a library in no table has a sample.
        let kafka: &[&str] = &[
            "org.apache.kafka.common.record.Records.read",
            "kafka.Kafka.main",
        ];
        let (stacks, weights) = profile(&[
            (&["org.apache.kafka.common.record.Records.read"], 99),
            (&["com.yammer.metrics.Meter.mark"], 1),
        ]);
        assert_eq!(Own::infer(&stacks, &weights), Own::Libraries);
        let (stacks, weights) = profile(&[(kafka, 99)]);
        assert_eq!(Own::infer(&stacks, &weights), Own::Inferred);
        // The JDK by itself is nothing of the program's.
        let (stacks, weights) = profile(&[(&["java.lang.Thread.run"], 5)]);
        let own = Own::infer(&stacks, &weights);
        assert_eq!(headline(&by_own(&stacks, &weights, &own), &weights), None);
    }

    #[test]
    fn patterns_name_packages_classes_and_parts() {
        for (pattern, class, is) in [
            ("com.acme", "com.acme.web.A", true),
            ("com.acme.", "com.acme.A", true),
            ("com.acme.*", "com.acme.A", true),
            ("com.acme", "com.acmeother.A", false),
            ("com.acme.*Dao", "com.acme.db.OrderDao", true),
            ("com.acme.*Dao", "com.acme.db.OrderDao$Row", true),
            ("com.acme.*Dao", "com.acme.db.OrderService", false),
            ("com.acme.*Dao", "com.acme.DaoX.OrderDao", true),
            ("com.acme.*", "com.acmeother.A", false),
            ("com.acme*", "com.acmeother.A", true),
            ("java.util.regex", "java.util.regex.Pattern", true),
            ("Burn", "Burn", true),
            ("*", "anything.At", true),
        ] {
            assert_eq!(matches(pattern, class), is, "{pattern} {class}");
        }
        assert!(
            Own::Given(vec!["java.util.regex".to_owned()])
                .is_own(&frame("java.util.regex.Pattern.match"))
        );
    }
}
