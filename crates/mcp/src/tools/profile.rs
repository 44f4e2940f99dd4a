//! Profiles: methods, who calls them, what they call, the tree of calls.

use hprof_server::views::profile::{
    FlameNode, FlameQuery, ProfileFile, ProfileQuery, callees, callers, flame, methods,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Question;
use super::page::Page;
use crate::answer::Answer;
use crate::call::{Call, Refusal};
use crate::session::Session;

/// Lines of a call tree.
const LINES: usize = 150;

/// The stacks that are wanted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct Stacks {
    /// The profile.
    file: String,
    /// The key of a quantity, as open lists them; the first without it.
    dimension: Option<String>,
    /// The key of a thread, as open lists them, of whose stacks alone the answer is.
    thread: Option<String>,
    /// On the wall clock, false for stacks of threads that wait for work, too: pools without a task, event loops without an event.
    /// They are left out without it, and `waits_left_out` has their cost over all threads.
    busy: Option<bool>,
}

impl Stacks {
    fn query(&self) -> ProfileQuery {
        ProfileQuery {
            dimension: self.dimension.clone(),
            thread: self.thread.clone(),
            busy: self.busy.unwrap_or(true),
            ..ProfileQuery::default()
        }
    }
}

/// Says how much of the wall clock is left out, if any.
fn without_waits(answer: Answer, left_out: u64) -> Answer {
    match left_out {
        0 => answer,
        left_out => answer.with("waits_left_out", left_out),
    }
}

/// Asks for methods.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Methods {
    #[serde(flatten)]
    stacks: Stacks,
    #[serde(flatten)]
    page: Page,
}

impl Question for Methods {
    const NAME: &'static str = "methods";
    const ABOUT: &'static str = "Lists the methods of a profile by cost: `self` is that of the method alone, \
        `total` includes all it calls. sort=-total shows where time comes from, sort=-self where it goes. `own` is the cost of \
        the stacks whose innermost method of the program it is, with all of the JDK and libraries that it calls.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let (which, query) = (self.stacks.query(), self.page.query()?);
        let view = move |profile: &ProfileFile| {
            Ok((methods(profile, &which, &query)?, profile.left_out(&which)))
        };
        let (table, left_out) = session.profile(call, &self.stacks.file, view).await?;
        let answer = without_waits(self.page.answer(&table), left_out);
        Ok(answer.next(
            "callers of the costliest method: who asks for that work; callees: where it goes",
        ))
    }
}

macro_rules! around {
    ($question:ident, $name:literal, $about:literal, $view:ident, $next:literal) => {
        #[doc = $about]
        #[derive(Debug, Deserialize, JsonSchema)]
        pub struct $question {
            #[serde(flatten)]
            stacks: Stacks,
            /// The full name of a method, as methods shows it.
            method: String,
            #[serde(flatten)]
            page: Page,
        }

        impl Question for $question {
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;

            async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
                let (which, query) = (self.stacks.query(), self.page.query()?);
                let method = self.method;
                let view = move |profile: &ProfileFile| {
                    let table = $view(profile, &which, &method, &query)?;
                    Ok((table, profile.left_out(&which)))
                };
                let (table, left_out) = session.profile(call, &self.stacks.file, view).await?;
                Ok(without_waits(self.page.answer(&table), left_out).next($next))
            }
        }
    };
}

around!(
    Callers,
    "callers",
    "Lists the methods that call a method of a profile, with the cost that each brings to it. Ask on \
     about a caller until you reach code that can be changed.",
    callers,
    "callers of a row's method, further out"
);
around!(
    Callees,
    "callees",
    "Lists the methods that a method of a profile calls, with the cost that goes to each; the rest is \
     the method's own.",
    callees,
    "callees of a row's method, further in"
);

/// Asks for the tree of calls.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CallTreeQuestion {
    #[serde(flatten)]
    stacks: Stacks,
    /// A regular expression: only stacks with a method that it matches.
    filter: Option<String>,
    /// The share of the whole below which calls are left out, 0 to 100; 2 without it.
    least_percent: Option<f64>,
    /// True for stacks from the innermost method on: who leads to the costly methods.
    #[serde(default)]
    inverted: bool,
}

impl Question for CallTreeQuestion {
    const NAME: &'static str = "call_tree";
    const ABOUT: &'static str = "Shows a profile as a tree of calls, as a flame graph does: one line for \
        each call of enough cost, with its depth. Raise least_percent for an overview, lower it with a \
        filter for a part.";

    async fn ask(self, session: &Session, call: &Call) -> Result<Answer, Refusal> {
        let percent = self.least_percent.unwrap_or(2.0);
        if !(0.0..=100.0).contains(&percent) {
            return Err(Refusal::Wrong("least_percent: 0 to 100".to_owned()));
        }
        let mut which = self.stacks.query();
        which.invert = self.inverted;
        let cut = FlameQuery {
            filter: self.filter,
            least: percent / 100.0,
            with: None,
        };
        let view = move |profile: &ProfileFile| {
            Ok((flame(profile, &which, &cut)?, profile.left_out(&which)))
        };
        let (graph, left_out) = session.profile(call, &self.stacks.file, view).await?;
        let mut lines = Vec::new();
        let mut open: Vec<(usize, &FlameNode)> = vec![(0, &graph.root)];
        while let Some((depth, node)) = open.pop() {
            if lines.len() > LINES {
                break;
            }
            let share = node.v as f64 * 100.0 / graph.total.max(1) as f64;
            lines.push(json!({
                "depth": depth,
                "method": graph.frames.get(node.f as usize),
                "total": node.v,
                "self": node.s,
                "percent": (share * 100.0).round() / 100.0,
            }));
            open.extend(node.c.iter().rev().map(|child| (depth + 1, child)));
        }
        let is_cut = lines.len() > LINES;
        lines.truncate(LINES);
        let mut answer =
            Answer::new(json!({"unit": graph.unit, "total": graph.total, "notes": graph.notes}))
                .with("lines", Value::Array(lines))
                .cut_at("lines");
        if is_cut {
            answer = answer
                .with("left_out", true)
                .next("raise least_percent, or give a filter, for the calls that are left out");
        }
        Ok(without_waits(answer, left_out).next("callers or callees of a method"))
    }
}
