//! The methods that are timed: found by patterns, rewritten, numbered.

use std::collections::{BTreeMap, HashMap};

use hprof_instrument::{
    ClassSkip, Hooks, MethodHook, MethodInfo, MethodNumber, Rewriter, Shape, SkippedMethod,
};
use hprof_java_names::mutf8;
use hprof_stacks::slow::{SlowPattern, Threshold};

use super::memory::{Block, MAX_METHODS, Memory};
use super::slowest::Slowest;
use super::spans::Spans;
use super::totals::Totals;
use crate::options::{SPANS, SlowMethods, SlowThreshold};

/// The class with the hooks, in `agent/hooks/`.
pub(super) const HOOK_CLASS: &std::ffi::CStr = c"java/lang/HprofSlow";

const HOOKS: Hooks<'static> = Hooks {
    class: HOOK_CLASS.to_bytes(),
    enter: b"enter",
    exit: b"exit",
    repair: b"repair",
    count: b"count",
};

/// Classes without hooks, by the start of their names: what the hooks call, and methods that change which thread is the current
/// one.
const LEFT_ALONE: &[&[u8]] = &[
    b"java/lang/Hprof",
    b"java/lang/Long",
    b"java/lang/VirtualThread",
    b"java/lang/BaseVirtualThread",
    b"java/lang/ThreadBuilders",
    b"jdk/internal/vm/",
    b"jdk/internal/misc/ScopedMemoryAccess",
    b"sun/misc/Unsafe",
];

/// The names of a method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MethodKey {
    /// The class, with dots.
    pub(super) class: String,
    pub(super) name: String,
    pub(super) descriptor: String,
}

/// A method that is timed in this run, or was in an earlier one.
pub(super) struct Timed {
    pub(super) key: MethodKey,
    pub(super) block: Block,
    /// The pattern that it was found by, in this run.
    pub(super) pattern: Option<usize>,
    pub(super) asked: Threshold,
    pub(super) slowest: Slowest,
    /// Slow calls that no dump has yet.
    pub(super) spans: Spans,
    /// Where not all calls are timed.
    pub(super) totals: Totals,
    /// The calls at the last look.
    pub(super) looked_at: u64,
}

impl Timed {
    /// No call has taken longer, in nanoseconds.
    pub(super) fn longest(&self) -> u64 {
        self.slowest.longest()
    }
}

/// All methods, and why others have no hooks.
#[derive(Default)]
pub(super) struct Methods {
    rewriter: Rewriter,
    wanted: SlowMethods,
    all: Vec<Timed>,
    numbers: Numbers,
    /// Methods that were found and cannot have hooks, by pattern: one of them, and the reason.
    refused: BTreeMap<usize, String>,
    /// The number of the run.
    run: u32,
}

/// Which method has which number, in all runs of a process.
#[derive(Default)]
struct Numbers {
    by_key: HashMap<MethodKey, u32>,
    /// Methods beyond the most that are timed.
    too_many: u64,
}

impl Numbers {
    /// The number of a method among `all`, possibly since now; `None` if there are too many.
    fn of(&mut self, all: &mut Vec<Timed>, key: MethodKey) -> Option<u32> {
        if let Some(&number) = self.by_key.get(&key) {
            return Some(number);
        }
        let number = u32::try_from(all.len()).ok()?;
        let block = match all.len() < MAX_METHODS {
            true => Block::new(number, key.class == SPANS),
            false => None,
        };
        let Some(block) = block else {
            self.too_many += 1;
            return None;
        };
        all.push(Timed {
            key: key.clone(),
            block,
            pattern: None,
            asked: Threshold::None,
            slowest: Slowest::default(),
            spans: Spans::default(),
            totals: Totals::default(),
            looked_at: 0,
        });
        self.by_key.insert(key, number);
        Some(number)
    }
}

fn asked(threshold: SlowThreshold) -> Threshold {
    match threshold {
        SlowThreshold::None => Threshold::None,
        SlowThreshold::Time(time) => {
            Threshold::Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
        }
        SlowThreshold::Share(share) => Threshold::Share(share),
    }
}

impl Methods {
    /// For a run that times these. `again` if a run before had hooks in classes.
    pub(super) fn begin(&mut self, wanted: SlowMethods, again: bool) {
        self.wanted = wanted;
        self.run += 1;
        self.refused.clear();
        self.numbers.too_many = 0;
        self.rewriter = match again {
            // Classes keep the names of the hooks that they had.
            true => Rewriter::new().accepting_names(),
            false => Rewriter::new(),
        };
        for timed in &mut self.all {
            timed.pattern = None;
        }
    }

    /// Spans of known names are timed from now on, the program's other names asked for, and requests taken.
    pub(super) fn begin_spans(&mut self, memory: &Memory) {
        let spans = self.all.iter().map(|timed| &timed.key);
        let names = spans.filter(|key| key.class == SPANS);
        let names: Vec<String> = names.map(|key| key.name.clone()).collect();
        for name in names {
            let _ = self.span(memory, name);
        }
        memory.set_run(self.run);
    }

    /// The number of spans of a name, which are timed from now on; `None` if they are not wanted, or of too many names.
    pub(super) fn span(&mut self, memory: &Memory, name: String) -> Option<u32> {
        let (at, asked) = self.pattern_of(SPANS, &name)?;
        let key = MethodKey {
            class: SPANS.to_owned(),
            name,
            descriptor: String::new(),
        };
        let number = self.numbers.of(&mut self.all, key)?;
        let timed = self.all.get_mut(number as usize)?;
        if timed.pattern.is_none() {
            timed.asked = asked;
            timed.pattern = Some(at);
            timed.start(memory, number);
        }
        Some(number)
    }

    /// The first pattern of spans, or of methods, that matches, and which calls are slow by it.
    fn pattern_of(&self, class: &str, name: &str) -> Option<(usize, Threshold)> {
        let mut patterns = self.wanted.patterns().iter().enumerate();
        let matches = |it: &crate::options::SlowPattern| {
            it.is_of_spans() == (class == SPANS) && it.matches(class, name)
        };
        let (at, pattern) = patterns.find(|(_, it)| matches(it))?;
        Some((at, asked(pattern.threshold)))
    }

    /// The methods of this run.
    pub(super) fn timed(&self) -> impl Iterator<Item = &Timed> {
        self.all.iter().filter(|timed| timed.pattern.is_some())
    }

    /// The methods of this run.
    pub(super) fn timed_mut(&mut self) -> impl Iterator<Item = &mut Timed> {
        self.all.iter_mut().filter(|timed| timed.pattern.is_some())
    }

    /// The method of a number.
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Timed> {
        self.all.get_mut(number as usize)
    }

    /// No method is timed any more.
    pub(super) fn end(&mut self, memory: &Memory) {
        memory.set_run(0);
        for number in 0..self.all.len() {
            memory.set_block(number as u32, None);
        }
    }

    /// The methods of this run are timed again.
    pub(super) fn resume(&self, memory: &Memory) {
        memory.set_run(self.run);
        for (number, timed) in self.all.iter().enumerate() {
            if timed.pattern.is_some() {
                memory.set_block(number as u32, Some(timed.block));
            }
        }
    }

    /// Methods of this run, and names of spans, beyond the most that are timed.
    pub(super) fn too_many(&self) -> u64 {
        self.numbers.too_many
    }

    /// The patterns.
    pub(super) fn wanted(&self) -> &SlowMethods {
        &self.wanted
    }

    /// Returns whether a class may have a method that is timed, by its name with slashes.
    pub(super) fn may_match(&self, class: &[u8]) -> bool {
        if LEFT_ALONE.iter().any(|start| class.starts_with(start)) {
            return false;
        }
        let class = dotted(class);
        let mut patterns = self.wanted.patterns().iter();
        patterns.any(|pattern| !pattern.is_of_spans() && pattern.may_match(&class))
    }

    /// `class` with hooks in methods that are wanted, `None` if it has none.
    pub(super) fn rewrite(
        &mut self,
        memory: &Memory,
        name: &[u8],
        class: &[u8],
    ) -> Option<Vec<u8>> {
        if !self.may_match(name) {
            return None;
        }
        let Self {
            rewriter,
            wanted,
            all,
            numbers,
            refused,
            ..
        } = self;
        let class_name = dotted(name);
        let mut chosen: Vec<(u32, usize)> = Vec::new();
        let mut select = |method: &MethodInfo<'_>| {
            let name = method.name.to_string();
            let mut patterns = wanted.patterns().iter().enumerate();
            let (at, pattern) =
                patterns.find(|(_, it)| !it.is_of_spans() && it.matches(&class_name, &name))?;
            if name.starts_with('<') {
                return None;
            }
            let key = MethodKey {
                class: class_name.clone(),
                name,
                descriptor: method.descriptor.to_string(),
            };
            let number = numbers.of(all, key)?;
            let timed = all.get_mut(number as usize)?;
            if timed.pattern.is_none() {
                timed.asked = asked(pattern.threshold);
                timed.start(memory, number);
            }
            chosen.push((number, at));
            Some(MethodHook {
                number: MethodNumber(number),
                shape: Shape::Around,
            })
        };
        let rewritten = rewriter.rewrite(class, &HOOKS, &mut select);
        let bytes = match rewritten {
            Ok(done) => Ok(done.bytes.to_vec()),
            Err(reason) => Err(reason),
        };
        let skipped = |number: u32| {
            let mut skipped = rewriter.tally().skipped.iter();
            skipped.find(|it: &&SkippedMethod| it.number.0 == number)
        };
        for &(number, at) in &chosen {
            let Some(timed) = all.get_mut(number as usize) else {
                continue;
            };
            let why = match (skipped(number), &bytes) {
                (Some(skipped), _) => Some(skipped.reason.to_string()),
                (None, Err(reason)) if !matches!(reason, ClassSkip::NothingHooked) => {
                    Some(reason.to_string())
                }
                _ => None,
            };
            match why {
                Some(why) => {
                    let method = format!("{}.{}", timed.key.class, timed.key.name);
                    refused.insert(at, format!("{method} can have no hooks ({why})"));
                }
                None => timed.pattern = Some(at),
            }
        }
        bytes.ok()
    }

    /// The patterns, and how many methods each has found. `why` says what is there instead of the methods of a pattern.
    pub(super) fn patterns(&self, why: &dyn Fn(usize) -> String) -> Vec<SlowPattern> {
        let patterns = self.wanted.patterns().iter().enumerate();
        let row = |(at, pattern): (usize, &crate::options::SlowPattern)| {
            let methods = self.timed().filter(|it| it.pattern == Some(at)).count() as u64;
            let reason = || self.refused.get(&at).cloned().unwrap_or_else(|| why(at));
            SlowPattern {
                pattern: pattern.text.clone(),
                methods,
                why: (methods == 0).then(reason),
            }
        };
        patterns.map(row).collect()
    }
}

impl Timed {
    /// Its calls are timed from now on, from zero.
    fn start(&mut self, memory: &Memory, number: u32) {
        self.reset();
        memory.set_block(number, Some(self.block));
    }

    /// Sets its counts to zero.
    pub(super) fn reset(&mut self) {
        self.block.reset();
        self.slowest = Slowest::default();
        self.spans = Spans::default();
        self.totals = Totals::default();
        self.looked_at = 0;
        self.block.skip(0);
        self.block.set_threshold(match self.asked {
            Threshold::Nanos(nanos) => nanos,
            // Known once there are calls.
            Threshold::Share(_) | Threshold::None => super::memory::NO_THRESHOLD,
        });
    }
}

fn dotted(class: &[u8]) -> String {
    mutf8::decode(class).replace('/', ".")
}
