//! The methods that are counted, by number, and those that are not.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::plan::ChosenClasses;
use super::state::CallClock;
use hprof_instrument::{
    ClassSkip, Hooks, Member, MethodHook, MethodInfo, MethodNumber, NewField, Rewriter, Shape,
    add_fields, call_for_writes, source_file,
};
use hprof_java_names::mutf8;

/// The class with the hooks, in `agent/hooks/`.
pub(super) const HOOK_CLASS: &std::ffi::CStr = c"java/lang/HprofHooks";

fn hooks(timing: CallClock) -> Hooks<'static> {
    let [enter, exit, repair]: [&[u8]; 3] = match timing {
        CallClock::Sampled => [b"enter", b"exit", b"repair"],
        CallClock::Clocked => [b"enterClocked", b"exitClocked", b"repairClocked"],
        CallClock::ClockedInclusive => [b"enterCall", b"exitCall", b"repairCall"],
    };
    Hooks {
        class: HOOK_CLASS.to_bytes(),
        enter,
        exit,
        repair,
        count: b"count",
    }
}

const THREAD: &[u8] = b"java/lang/Thread";
const ACC_TRANSIENT: u16 = 0x0080;
const ACC_SYNTHETIC: u16 = 0x1000;
/// The fields of `HprofHooks` in each thread object.
const THREAD_FIELDS: [NewField<'static>; 2] = [
    NewField {
        name: b"hprofState",
        descriptor: b"J",
        access_flags: ACC_TRANSIENT | ACC_SYNTHETIC,
    },
    NewField {
        name: b"hprofNode",
        descriptor: b"J",
        access_flags: ACC_TRANSIENT | ACC_SYNTHETIC,
    },
];

/// The field that the constructor of `Thread` sets; a thread's state takes its place.
const STACK_SIZE: Member<'static> = Member {
    class: THREAD,
    name: b"stackSize",
    descriptor: b"J",
};
const SET_STACK_SIZE: Member<'static> = Member {
    class: b"java/lang/HprofThreads",
    name: b"setStackSize",
    descriptor: b"(Ljava/lang/Thread;J)V",
};

/// Classes without hooks, by the start of their names. Methods that change which
/// thread is the current one must not call hooks that ask for it. The VM looks
/// at the innermost frames of threads that access memory segments.
const LEFT_ALONE: &[&[u8]] = &[
    b"java/lang/VirtualThread",
    b"java/lang/BaseVirtualThread",
    b"java/lang/ThreadBuilders",
    b"java/lang/HprofContexts",
    b"java/lang/HprofLock",
    b"java/lang/HprofSlow",
    b"java/lang/HprofSpan",
    b"java/lang/HprofThreads",
    b"jdk/internal/vm/",
    b"jdk/internal/misc/ScopedMemoryAccess",
    b"sun/misc/Unsafe",
];

/// A counted method.
#[derive(Clone, Debug)]
pub(super) struct CountedMethod {
    /// The internal name of its class, `java/lang/Thread`.
    pub(super) class: Arc<str>,
    pub(super) name: String,
    pub(super) descriptor: String,
    pub(super) source_file: Option<Arc<str>>,
    /// The line its code begins with.
    pub(super) line: Option<u16>,
}

/// How many of what got no hooks.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOut {
    pub(super) classes: u64,
    pub(super) methods: u64,
    pub(super) natives: u64,
    pub(super) intrinsics: u64,
    pub(super) no_longer_compiled: u64,
    pub(super) count_only: u64,
    pub(super) excluded_classes: u64,
    pub(super) skipped_methods: BTreeMap<String, u64>,
    pub(super) skipped_classes: BTreeMap<String, u64>,
    /// Skipped classes and methods with something that this agent does not know.
    pub(super) unknown: BTreeMap<String, u64>,
}

impl LeftOut {
    /// A sentence on what the profile lacks as it is unknown, with the remedy. `None` where all is known.
    pub(super) fn why_unknown(&self) -> Option<String> {
        let reasons = self.unknown.iter();
        let reasons: Vec<String> = reasons.map(|(it, count)| format!("{it}={count}")).collect();
        let count: u64 = self.unknown.values().sum();
        (count > 0).then(|| {
            format!(
                "{count} classes or methods, whose class files have what this hprof-rs does not know ({}); a newer hprof-rs \
                 may know it, and cpu=samples needs no hooks",
                reasons.join(" ")
            )
        })
    }

    /// Why no call was counted, and what to do. The VM has refused this many classes with hooks.
    pub(super) fn why_nothing(&self, refused: u64) -> String {
        if self.classes > refused {
            return format!(
                "the program called none of the {} methods that include= and exclude= choose",
                self.methods
            );
        }
        if refused > 0 {
            return format!(
                "the VM refused all {refused} classes with the agent's hooks; cpu=samples needs no hooks"
            );
        }
        let skipped = self.skipped_classes.iter().chain(&self.skipped_methods);
        match skipped.max_by_key(|&(_, count)| *count) {
            Some((reason, count)) => format!(
                "no class could get the agent's hooks ({reason}={count}); a newer hprof-rs may know this JDK, and \
                 cpu=samples needs no hooks"
            ),
            None => "the program loaded no class that include= and exclude= choose".to_owned(),
        }
    }
}

/// Rewrites classes and numbers their methods.
pub(super) struct Methods {
    rewriter: Rewriter,
    counted: Vec<CountedMethod>,
    /// The numbers of a class's methods, in the order of its class file. Classes of one name have those of all.
    numbers: HashMap<Arc<str>, Vec<u32>>,
    left_out: LeftOut,
    /// Without paths, all methods have the number 0.
    numbered: bool,
    timing: CallClock,
    classes: ChosenClasses,
    /// `Thread` has [`THREAD_FIELDS`].
    adds_fields: bool,
    /// See [`Plan::has_fast_accessors`](super::plan::Plan::has_fast_accessors).
    has_fast_accessors: bool,
    /// The constructor of `Thread` is to leave the state of a thread that is being attached.
    pub(super) keeps_states: bool,
    /// It did so once.
    pub(super) has_kept_states: bool,
}

impl Methods {
    pub(super) fn new(
        numbered: bool,
        timing: CallClock,
        classes: ChosenClasses,
        adds_fields: bool,
        has_fast_accessors: bool,
    ) -> Self {
        Self {
            rewriter: Rewriter::new(),
            counted: Vec::new(),
            numbers: HashMap::new(),
            left_out: LeftOut::default(),
            numbered,
            timing,
            classes,
            adds_fields,
            has_fast_accessors,
            keeps_states: false,
            has_kept_states: false,
        }
    }

    /// For another run: methods keep their numbers, everything else is reset.
    pub(super) fn begin_again(&mut self, classes: ChosenClasses) {
        self.classes = classes;
        self.forget_left_out();
    }

    /// All classes are about to be rewritten again.
    pub(super) fn forget_left_out(&mut self) {
        self.left_out = LeftOut::default();
    }

    pub(super) fn get(&self, number: u32) -> Option<&CountedMethod> {
        self.counted.get(number as usize)
    }

    /// Returns true if the user wants the class `name` to be counted.
    pub(super) fn chooses(&self, name: &[u8]) -> bool {
        self.classes.choose(&mutf8::decode(name))
    }

    pub(super) fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// `class` as it is without hooks, where that is not as it was.
    pub(super) fn unhooked(&mut self, name: &[u8], class: &[u8]) -> Option<Vec<u8>> {
        if name != THREAD {
            return None;
        }
        if self.adds_fields {
            return add_fields(class, &THREAD_FIELDS).ok();
        }
        if !self.keeps_states {
            return None;
        }
        let changed = call_for_writes(class, &STACK_SIZE, &SET_STACK_SIZE).ok();
        self.has_kept_states |= changed.is_some();
        changed
    }

    /// `class` with hooks, `None` to leave it as it is. `again` when the class was
    /// counted before.
    pub(super) fn rewrite(&mut self, name: &[u8], class: &[u8], again: bool) -> Option<Vec<u8>> {
        let changed = self.unhooked(name, class);
        let class = changed.as_deref().unwrap_or(class);
        if LEFT_ALONE.iter().any(|start| name.starts_with(start)) {
            if !again {
                self.skip_class("reserved");
            }
            return changed;
        }
        if !self.chooses(name) {
            if !again {
                self.left_out.excluded_classes += 1;
            }
            return changed;
        }
        let file: Option<Arc<str>> = source_file(class).map(Arc::from);
        let mut own: Option<(Arc<str>, Vec<u32>)> = None;
        let mut nth = 0;
        let mut known_before = 0;
        let mut others: Option<HashMap<(String, String), u32>> = None;
        let mut intrinsics = 0;
        let Self {
            rewriter,
            counted,
            numbers,
            numbered,
            timing,
            has_fast_accessors,
            ..
        } = self;
        let mut read_fields = 0;
        let mut select = |method: &MethodInfo<'_>| {
            if *has_fast_accessors && is_read_without_code(method) {
                read_fields += 1;
                return None;
            }
            let (class, known) = own.get_or_insert_with(|| {
                let class = method.class.to_string();
                let known = numbers.remove_entry(class.as_str());
                let known = known.unwrap_or_else(|| (class.into(), Vec::new()));
                known_before = known.1.len();
                known
            });
            intrinsics += u64::from(method.is_intrinsic_candidate());
            let (name, descriptor) = (method.name.to_string(), method.descriptor.to_string());
            let names = |number: u32| {
                let method = &counted[number as usize];
                (method.name.clone(), method.descriptor.clone())
            };
            // A class has them in the order it had them in before; another one of its name may not.
            let is_it = |number: &u32| {
                let method = &counted[*number as usize];
                method.name == name && method.descriptor == descriptor
            };
            let found = match known.get(nth).copied().filter(is_it) {
                None if known_before > 0 => {
                    let others = others.get_or_insert_with(|| {
                        known
                            .iter()
                            .map(|&number| (names(number), number))
                            .collect()
                    });
                    others.get(&(name.clone(), descriptor.clone())).copied()
                }
                found => found,
            };
            nth += 1;
            let number = found.unwrap_or_else(|| {
                counted.push(CountedMethod {
                    class: Arc::clone(class),
                    name,
                    descriptor,
                    source_file: file.clone(),
                    line: method.first_line,
                });
                let number = counted.len() as u32 - 1;
                known.push(number);
                number
            });
            let number = MethodNumber(if *numbered { number } else { 0 });
            // Two clock readings would take several times as long as such a method.
            let shape = match timing {
                CallClock::Clocked | CallClock::ClockedInclusive if method.is_leaf() => {
                    Shape::CountOnly
                }
                _ => Shape::Full,
            };
            Some(MethodHook { number, shape })
        };
        let rewritten = match rewriter.rewrite(class, &hooks(*timing), &mut select) {
            Ok(done) => Ok(done.bytes.to_vec()),
            Err(reason) => Err(reason),
        };
        if let Some((class, known)) = own {
            numbers.insert(class, known);
        }
        let tally = self.rewriter.tally();
        let left_out = &mut self.left_out;
        if !again {
            left_out.natives += u64::from(tally.natives);
            if read_fields > 0 {
                let skipped = &mut left_out.skipped_methods;
                *skipped.entry("read-by-the-interpreter".into()).or_default() += read_fields;
            }
            for skipped in &tally.skipped {
                let reason = label(&skipped.reason.to_string());
                if skipped.reason.is_unknown() {
                    *left_out.unknown.entry(reason.clone()).or_default() += 1;
                }
                *left_out.skipped_methods.entry(reason).or_default() += 1;
            }
        }
        match rewritten {
            Ok(bytes) => {
                if !again {
                    left_out.classes += 1;
                    left_out.methods += u64::from(tally.hooked);
                    left_out.no_longer_compiled += u64::from(tally.no_longer_compiled);
                    left_out.intrinsics += intrinsics;
                    left_out.count_only += u64::from(tally.count_only);
                }
                Some(bytes)
            }
            Err(ClassSkip::NothingHooked) => changed,
            Err(reason) => {
                if !again {
                    self.skip_class(&reason.to_string());
                    if reason.is_unknown() {
                        let label = label(&reason.to_string());
                        *self.left_out.unknown.entry(label).or_default() += 1;
                    }
                }
                changed
            }
        }
    }

    fn skip_class(&mut self, reason: &str) {
        *self
            .left_out
            .skipped_classes
            .entry(label(reason))
            .or_default() += 1;
    }
}

/// True for the method that the interpreter of JDK 8 takes for one that returns a field, by its name and not by its code: with
/// other code it would read the field of another class, and crash.
fn is_read_without_code(method: &MethodInfo<'_>) -> bool {
    method.class == "java/lang/ref/Reference" && method.name == "get"
}

/// A reason as one word.
fn label(reason: &str) -> String {
    reason
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("-")
}

#[cfg(test)]
mod tests {
    use super::{LeftOut, label};

    #[test]
    fn nothing_has_a_reason() {
        let hooked = LeftOut {
            classes: 3,
            methods: 20,
            ..LeftOut::default()
        };
        let mut unknown = LeftOut::default();
        unknown.skipped_classes.insert("unknown-tag-21".into(), 2);
        let instruction = "unknown-instruction-0xcb";
        unknown.skipped_methods.insert(instruction.into(), 9);
        for (left_out, refused, why) in [
            (LeftOut::default(), 0, "the program loaded no class"),
            (
                hooked.clone(),
                0,
                "the program called none of the 20 methods",
            ),
            (hooked, 3, "the VM refused all 3 classes"),
            (unknown, 0, "(unknown-instruction-0xcb=9); a newer hprof-rs"),
        ] {
            let said = left_out.why_nothing(refused);
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn what_is_unknown_has_a_reason() {
        let mut left_out = LeftOut::default();
        assert_eq!(left_out.why_unknown(), None);
        left_out.unknown.insert("unknown-frame-9".into(), 2);
        left_out.unknown.insert("unknown-tag-21".into(), 1);
        let said = left_out.why_unknown().unwrap();
        assert!(said.starts_with("3 classes or methods, "), "{said}");
        assert!(
            said.contains("(unknown-frame-9=2 unknown-tag-21=1); "),
            "{said}"
        );
    }

    #[test]
    fn reasons_become_words() {
        assert_eq!(
            label("code would exceed 65,535 bytes"),
            "code-would-exceed-65-535-bytes"
        );
    }
}
