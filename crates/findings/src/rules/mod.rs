//! The rules, one type each, which holds the figures.

mod allocation;
mod boxing;
mod classes;
mod code_cache;
mod collections;
mod cpu;
mod deoptimization;
mod errors;
mod exceptions;
mod explicit;
mod finalizers;
mod hashes;
mod heap_full;
mod io;
mod large_arrays;
mod locks;
mod logging;
mod pinned;
mod pools;
mod preparations;
mod safepoints;
mod threads;

use std::cmp::Reverse;

use serde::Serialize;

use crate::recorded::Recorded;
use crate::{Finding, Findings, Level, NotJudged};

pub use allocation::Allocation;
pub use boxing::Boxing;
pub use classes::ClassLoading;
pub use code_cache::CodeCache;
pub use collections::CollectionPauses;
pub use cpu::HighCpu;
pub use deoptimization::Deoptimizations;
pub use errors::Errors;
pub use exceptions::Exceptions;
pub use explicit::ExplicitCollections;
pub use finalizers::Finalizers;
pub use hashes::Hashes;
pub use heap_full::HeapFull;
pub use io::SlowIo;
pub use large_arrays::LargeArrays;
pub use locks::Locks;
pub use logging::Logging;
pub use pinned::PinnedCarriers;
pub use pools::StarvedPool;
pub use preparations::{Preparations, Prepared};
pub use safepoints::Safepoints;
pub use threads::NewThreads;

/// The figures of a rule.
trait Figures: Sized {
    /// The name of the rule.
    const RULE: &'static str;
    /// Types of events of which a recording must have one to be judged.
    const NEEDS: &'static [&'static str];

    /// The figures of a recording that has events for them.
    fn of(recorded: &Recorded) -> Self;

    /// How bad that is.
    fn level(&self) -> Level;

    /// The figures and the line of the program, in one sentence.
    fn headline(&self) -> String;

    /// Why that costs, in one or two sentences.
    fn cause(&self) -> String;

    /// The next step, in one or two sentences.
    fn next(&self) -> String;
}

/// The rules, declared once. Among findings of one level, those of a rule come before those of a later one: causes before
/// what they lead to, such as exceptions before the allocation that they are.
macro_rules! rules {
    ($($rule:ident),+ $(,)?) => {
        /// The figures of any rule.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "rule", content = "figures", rename_all = "kebab-case")]
        pub enum Fact {
            $(
                #[doc = concat!("The figures of [`", stringify!($rule), "`].")]
                $rule($rule),
            )+
        }

        impl Fact {
            /// The names of all rules, in their order.
            pub const RULES: &'static [&'static str] = &[$(<$rule as Figures>::RULE),+];

            /// The name of the rule.
            pub fn rule(&self) -> &'static str {
                match self {
                    $(Self::$rule(_) => <$rule as Figures>::RULE,)+
                }
            }
        }

        /// Judges a recording by all rules.
        pub fn judge(recorded: &Recorded) -> Findings {
            let mut findings = Vec::new();
            let mut not_judged = Vec::new();
            $(
                match recorded.span.is_some() && recorded.has_any_on($rule::NEEDS) {
                    true => {
                        let figures = $rule::of(recorded);
                        findings.push(finding(&figures, Fact::$rule(figures.clone())));
                    }
                    false => not_judged.push(NotJudged {
                        rule: $rule::RULE,
                        needs: $rule::NEEDS,
                    }),
                }
            )+
            // Sorting keeps the order of rules.
            findings.sort_by_key(|finding| Reverse(finding.level));
            Findings {
                seconds: recorded.covered_seconds(),
                start_millis: recorded.span.map(|span| span.from / 1_000_000),
                change: recorded.change(),
                own: recorded.own().clone(),
                findings,
                not_judged,
            }
        }
    };
}

rules![
    Deoptimizations,
    PinnedCarriers,
    Hashes,
    CodeCache,
    Errors,
    Exceptions,
    ClassLoading,
    Finalizers,
    ExplicitCollections,
    NewThreads,
    Logging,
    Preparations,
    StarvedPool,
    Locks,
    SlowIo,
    Safepoints,
    LargeArrays,
    CollectionPauses,
    HeapFull,
    Boxing,
    Allocation,
    HighCpu,
];

fn finding(figures: &impl Figures, fact: Fact) -> Finding {
    let level = figures.level();
    let is_alarm = level > Level::Ok;
    Finding {
        level,
        headline: figures.headline(),
        cause: is_alarm.then(|| figures.cause()),
        next: is_alarm.then(|| figures.next()),
        fact,
    }
}

/// Adds up costs by a key; gives the key that costs most and its share.
fn most<K: Eq + std::hash::Hash + Ord + Clone>(
    costs: impl Iterator<Item = (K, f64)>,
) -> Option<(K, f64)> {
    let mut sums: rustc_hash::FxHashMap<K, f64> = rustc_hash::FxHashMap::default();
    let mut total = 0.0;
    for (key, cost) in costs {
        *sums.entry(key).or_default() += cost;
        total += cost;
    }
    let best = sums
        .into_iter()
        .max_by(|(a, a_sum), (b, b_sum)| a_sum.total_cmp(b_sum).then_with(|| b.cmp(a)));
    best.map(|(key, sum)| (key, sum / f64::max(total, f64::MIN_POSITIVE)))
}
