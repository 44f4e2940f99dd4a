//! Which contents a copy is without: the rules as data, and the policy that they make. `strip`, `capture`, `serve` and
//! their workers share it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::{Args, ValueEnum};
use hprof_analysis::strip::ThreadNames as Names;
use hprof_analysis::strip::{Detectors, FieldRule, Form, StripPlan, StripPolicy, Stripped};
use hprof_options::glob;
use hprof_server::intake::{StripFigures, StripRules, ThreadNamesRule};

use crate::render::out::tell;
use crate::render::screen::{bytes, plural};

/// The rule for fields of `names`, with a place of its own.
type Boxed = Box<dyn Fn(&str, &str) -> bool + Sync + Send>;

/// Rules that were checked, ready to make a policy.
pub struct StripWork {
    rules: StripRules,
    detectors: Option<Detectors>,
    keeps: Option<Boxed>,
    drops: Option<Boxed>,
    /// For each rule of `keep`, then of `drop`, whether a class or field of the dump has matched it.
    used: Arc<[AtomicBool]>,
}

impl std::fmt::Debug for StripWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.rules.fmt(f)
    }
}

impl StripWork {
    /// Checks rules.
    ///
    /// # Errors
    /// If a pattern is no regular expression.
    pub fn new(rules: StripRules) -> anyhow::Result<Self> {
        let detectors = rules.redact.then(|| Detectors::new(&rules.redact_pattern));
        let detectors = detectors
            .transpose()
            .context("a pattern of secrets must be a regular expression")?;
        let rule_count = rules.keep.len() + rules.drop.len();
        let used: Arc<[AtomicBool]> = (0..rule_count).map(|_| AtomicBool::new(false)).collect();
        let keeps = (!rules.keep.is_empty()).then(|| {
            let (keep, used) = (rules.keep.clone(), Arc::clone(&used));
            let keeps = move |class: &str, field: &str| {
                let whole = format!("{class}.{field}");
                any_marked(&keep, &used, |rule| matches(rule, &whole))
            };
            Box::new(keeps) as Boxed
        });
        let drops = (!rules.drop.is_empty()).then(|| {
            let (drop, used, first) = (rules.drop.clone(), Arc::clone(&used), rules.keep.len());
            let drops = move |class: &str, field: &str| {
                let whole = format!("{class}.{field}");
                let used = used.get(first..).unwrap_or_default();
                any_marked(&drop, used, |rule| {
                    matches(rule, class) || matches(rule, &whole)
                })
            };
            Box::new(drops) as Boxed
        });
        Ok(Self {
            rules,
            detectors,
            keeps,
            drops,
            used,
        })
    }

    /// Says which rules have matched no class and field of the dump: a name that is written wrong would
    /// let out what it is to keep.
    pub fn say_unused(&self) {
        let rules = self.rules.keep.iter().chain(&self.rules.drop);
        for (rule, used) in rules.zip(self.used.iter()) {
            if !used.load(Ordering::Relaxed) {
                tell!(
                    "hprof-rs: the rule `{rule}` matched no field of an object in the dump: check its spelling"
                );
            }
        }
    }

    /// The rules.
    pub fn rules(&self) -> &StripRules {
        &self.rules
    }

    /// The policy for a copy that a reader takes.
    pub fn policy(&self, form: Form) -> StripPolicy<'_> {
        let StripRules {
            fields,
            keep_strings,
            redact,
            bitmaps,
            thread_names,
            ..
        } = self.rules;
        fn rule(boxed: &Boxed) -> FieldRule<'_> {
            &**boxed
        }
        StripPolicy {
            empties_fields: fields,
            keeps_strings: keep_strings,
            keeps_all: redact && !keep_strings && self.keeps.is_none(),
            keeps: self.keeps.as_ref().map(rule),
            drops: self.drops.as_ref().map(rule),
            detectors: self.detectors.as_ref(),
            form,
            shares_bitmaps: bitmaps,
            threads: match thread_names {
                None => Names::AsField,
                Some(ThreadNamesRule::Keep) => Names::Keep,
                Some(ThreadNamesRule::Number) => Names::Number,
                Some(ThreadNamesRule::Remove) => Names::Remove,
            },
        }
    }
}

/// Returns true if a rule matches, with a mark for each that does.
fn any_marked(rules: &[String], used: &[AtomicBool], is_meant: impl Fn(&str) -> bool) -> bool {
    let mut found = false;
    for (rule, used) in rules.iter().zip(used) {
        if is_meant(rule) {
            used.store(true, Ordering::Relaxed);
            found = true;
        }
    }
    found
}

/// Returns true if a rule names a class or field.
fn matches(rule: &str, name: &str) -> bool {
    glob(rule.as_bytes(), name.as_bytes())
}

/// Returns the figures of the contents that went from a copy.
pub fn figures(plan: &StripPlan<'_>, stripped: &Stripped) -> StripFigures {
    StripFigures {
        emptied: stripped.emptied,
        texts: stripped.texts,
        threads: stripped.numbered,
        secrets: plan.secrets().map_or(0, |it| it.found().len() as u64),
        redacted: stripped.redacted,
    }
}

/// Says what else than values went from a copy: bitmaps.
pub fn say_bitmaps(plan: &StripPlan<'_>) {
    if let Some(bitmaps) = plan.bitmaps() {
        tell!(
            "{} left out, {}, as equal ones are there",
            plural(
                bitmaps.count(),
                "buffer of a bitmap is",
                "buffers of bitmaps are"
            ),
            bytes(bitmaps.saved()),
        );
    }
}

/// How bitmaps share pixels.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Share {
    /// Equal ones have one buffer.
    Dedupe,
}

/// The treatment of the names of threads and their groups.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ThreadNames {
    /// They stay.
    Keep,
    /// `thread-1` stands for the first one, and so on.
    Number,
    /// They go.
    Remove,
}

impl From<ThreadNames> for ThreadNamesRule {
    fn from(names: ThreadNames) -> Self {
        match names {
            ThreadNames::Keep => Self::Keep,
            ThreadNames::Number => Self::Number,
            ThreadNames::Remove => Self::Remove,
        }
    }
}

/// How `capture` and `serve` strip. Each option means what that of `hprof-rs strip` without `strip-` means.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "What is stripped")]
pub struct StripArguments {
    /// Blank the values of strings and arrays of heap dumps, as `hprof-rs strip` does, before anything is sent
    /// (`capture`) or kept (`serve`). Each option below says what else goes or what stays, and implies it.
    #[arg(long)]
    strip: bool,

    /// Empty the fields of primitive types too.
    #[arg(long)]
    strip_fields: bool,

    /// Let the texts of all strings stay.
    #[arg(long)]
    strip_keep_strings: bool,

    /// A field whose value stays; may be repeated, `*` matches any characters.
    #[arg(long, value_name = "CLASS.FIELD")]
    strip_keep: Vec<String>,

    /// A class or field whose values go, also with `--strip-keep-strings`; may be repeated.
    #[arg(long, value_name = "CLASS[.FIELD]")]
    strip_drop: Vec<String>,

    /// Let all contents stay, unless `--strip-keep-strings` or `--strip-keep` say which, and overwrite secrets in them.
    #[arg(long)]
    strip_redact: bool,

    /// A regular expression for further secrets; may be repeated, implies `--strip-redact`.
    #[arg(long, value_name = "REGEX")]
    strip_redact_pattern: Vec<String>,

    /// Have Android bitmaps with equal pixels refer to one buffer.
    #[arg(long, value_name = "HOW")]
    strip_bitmaps: Option<Share>,

    /// Keep, number or remove the names of threads and their groups [default: `number`, and `keep` where the texts of
    /// strings stay].
    #[arg(long, value_name = "HOW")]
    strip_thread_names: Option<ThreadNames>,
}

impl StripArguments {
    /// The rules, checked; none if nothing is to be stripped.
    ///
    /// # Errors
    /// If a pattern is no regular expression.
    pub fn work(&self) -> anyhow::Result<Option<StripWork>> {
        let rules = StripRules {
            fields: self.strip_fields,
            keep_strings: self.strip_keep_strings,
            keep: self.strip_keep.clone(),
            drop: self.strip_drop.clone(),
            redact: self.strip_redact || !self.strip_redact_pattern.is_empty(),
            redact_pattern: self.strip_redact_pattern.clone(),
            bitmaps: self.strip_bitmaps.is_some(),
            thread_names: self.strip_thread_names.map(ThreadNamesRule::from),
        };
        let is_asked_for = self.strip || rules != StripRules::default();
        is_asked_for.then(|| StripWork::new(rules)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        strip: StripArguments,
    }

    fn work(arguments: &[&str]) -> anyhow::Result<Option<StripWork>> {
        Command::parse_from([&["x"], arguments].concat())
            .strip
            .work()
    }

    #[test]
    fn each_option_implies_that_something_is_stripped() {
        assert!(work(&[]).unwrap().is_none());
        let plain = work(&["--strip"]).unwrap().unwrap();
        assert_eq!(*plain.rules(), StripRules::default());
        for option in [
            &["--strip-fields"][..],
            &["--strip-keep-strings"],
            &["--strip-keep", "A.b"],
            &["--strip-drop", "A"],
            &["--strip-redact"],
            &["--strip-redact-pattern", "x"],
            &["--strip-bitmaps", "dedupe"],
            &["--strip-thread-names", "keep"],
        ] {
            let work = work(option).unwrap().unwrap();
            assert_ne!(*work.rules(), StripRules::default(), "{option:?}");
        }
        assert!(work(&["--strip-redact-pattern", "("]).is_err());
    }

    #[test]
    fn rules_make_the_policy_that_they_say() {
        let options = ["--strip-keep", "A.*", "--strip-drop", "B", "--strip-redact"];
        let work = work(&options).unwrap().unwrap();
        let policy = work.policy(Form::Same);
        let (keeps, drops) = (policy.keeps.unwrap(), policy.drops.unwrap());
        assert!(keeps("A", "b") && !keeps("B", "a"));
        assert!(drops("B", "a") && !drops("A", "b"));
        assert!(policy.detectors.is_some() && !policy.keeps_all);
    }
}
