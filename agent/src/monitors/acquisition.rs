//! Finds out whether a successful acquisition of a synchronizer excludes other threads.
//!
//! Classes built on `AbstractQueuedSynchronizer` say in `tryAcquire` and `tryAcquireShared` whether a
//! thread may continue. A lock or a semaphore changes its state there: what one thread gets, another
//! cannot have. A latch only looks at the state, which another thread changes once and for all: its
//! threads wait for something to happen. The code of these methods tells which it is.

use std::collections::{HashMap, HashSet};

use hprof_format::model::MethodName;
use hprof_instrument::{Call, Constants, Use};

use crate::vm::{Class, Jni, Jvmti, LocalRef, Ref, Result};

/// How threads ask for a synchronizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquireMode {
    Exclusive,
    Shared,
}

impl AcquireMode {
    /// The mode that the framework's methods among the innermost frames tell.
    pub fn of(frames: &[MethodName<'_>]) -> Option<Self> {
        let mut methods = frames
            .iter()
            .filter(|frame| is_framework(&frame.class_name.replace('.', "/")))
            .map(|frame| frame.method)
            .peekable();
        methods.peek()?;
        // Since JDK 14, the same method waits for both.
        match methods.any(|method| method.contains("Shared")) {
            true => Some(Self::Shared),
            false => Some(Self::Exclusive),
        }
    }
}

/// The effect of a successful attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// It looks at the state.
    Looks,
    /// It calls something that was not looked at.
    Unknown,
    /// It changes the state.
    Takes,
}

/// The effect of a class's attempts; `None` if it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acquisition {
    exclusive: Option<Effect>,
    shared: Option<Effect>,
}

impl Acquisition {
    /// Returns true if threads that wait in this mode, if it is known, wait for something to happen.
    pub fn is_event(self, mode: Option<AcquireMode>) -> bool {
        let looks = Some(Effect::Looks);
        match mode {
            Some(AcquireMode::Exclusive) => self.exclusive == looks,
            Some(AcquireMode::Shared) => self.shared == looks,
            None => self.exclusive.max(self.shared) == looks,
        }
    }
}

/// A class from itself to the last one below the framework.
type Lineage = Vec<Declared>;

/// The methods of a class by name and descriptor; `None` without code.
struct Declared {
    class: String,
    methods: HashMap<(String, String), Option<Vec<Use>>>,
}

const FRAMEWORK: [&str; 2] = [
    "java/util/concurrent/locks/AbstractQueuedSynchronizer",
    "java/util/concurrent/locks/AbstractQueuedLongSynchronizer",
];
/// The descriptors of `tryAcquire` and `tryAcquireShared` in each.
const ATTEMPTS: [[&str; 2]; 2] = [["(I)Z", "(I)I"], ["(J)Z", "(J)J"]];
/// How many classes and methods are looked at.
const MAX_CLASSES: usize = 16;
const MAX_METHODS: usize = 64;

fn is_framework(class: &str) -> bool {
    FRAMEWORK.contains(&class)
}

impl Acquisition {
    /// The effect of this class's attempts.
    pub fn of(jvmti: &Jvmti, jni: &Jni, class: LocalRef<'_, Class>) -> Self {
        let lineage = lineage(jvmti, jni, class);
        lineage.map_or_else(Self::default, |(lineage, framework)| {
            let [exclusive, shared] = ATTEMPTS.get(framework).copied().unwrap_or_default();
            Self {
                exclusive: effect(&lineage, "tryAcquire", exclusive),
                shared: effect(&lineage, "tryAcquireShared", shared),
            }
        })
    }
}

/// A class's lineage and the place of its framework; `None` if it is built on neither.
fn lineage(jvmti: &Jvmti, jni: &Jni, class: LocalRef<'_, Class>) -> Option<(Lineage, usize)> {
    let mut lineage = Lineage::new();
    let mut class = class;
    while lineage.len() < MAX_CLASSES {
        let signature = jvmti.class_signature(class.get()).ok()?;
        let name = signature.strip_prefix('L')?.strip_suffix(';')?;
        if let Some(framework) = FRAMEWORK.iter().position(|it| *it == name) {
            return Some((lineage, framework));
        }
        lineage.push(declared(jvmti, class.get(), name).ok()?);
        class = jni.superclass(class.get())?;
    }
    None
}

fn declared(jvmti: &Jvmti, class: Ref<'_, Class>, name: &str) -> Result<Declared> {
    let (count, entries) = jvmti.constants(class)?;
    let constants = Constants::new(count, &entries);
    let mut methods = HashMap::new();
    for &method in jvmti.declared_methods(class)?.iter() {
        let name = jvmti.method_name(method)?;
        let code = jvmti.bytecodes(method).ok().filter(|code| !code.is_empty());
        let uses = code.and_then(|code| constants.uses(&code).ok());
        methods.insert((name.name, name.descriptor), uses);
    }
    let class = name.to_owned();
    Ok(Declared { class, methods })
}

/// The effect of a method and of its callees; `None` if the class does not have it.
fn effect(lineage: &[Declared], name: &str, descriptor: &str) -> Option<Effect> {
    let key = (name.to_owned(), descriptor.to_owned());
    let has = |class: &Declared| class.methods.contains_key(&key);
    let start = lineage.iter().position(has)?;
    let mut seen = HashSet::new();
    let mut open = vec![(start, key)];
    let mut effect = Effect::Looks;
    while let Some((at, key)) = open.pop() {
        if !seen.insert((at, key.clone())) {
            continue;
        }
        let uses = lineage.get(at).and_then(|class| class.methods.get(&key));
        let Some(uses) = uses
            .and_then(Option::as_ref)
            .filter(|_| seen.len() <= MAX_METHODS)
        else {
            effect = effect.max(Effect::Unknown);
            continue;
        };
        for used in uses {
            let one = match used {
                Use::Write => Effect::Takes,
                Use::Dynamic => Effect::Unknown,
                Use::Call(call) => match place(lineage, call) {
                    Some(place) => {
                        open.push((place, (call.name.clone(), call.descriptor.clone())));
                        Effect::Looks
                    }
                    None => effect_of_call(lineage, call),
                },
            };
            effect = effect.max(one);
        }
    }
    Some(effect)
}

/// The class of the lineage whose method is called, if it is one of them.
fn place(lineage: &[Declared], call: &Call) -> Option<usize> {
    let named = lineage.iter().position(|class| class.class == call.class)?;
    let key = (call.name.clone(), call.descriptor.clone());
    let first = if call.is_special { named } else { 0 };
    let mut classes = lineage.iter().enumerate().skip(first);
    classes.find_map(|(at, class)| class.methods.contains_key(&key).then_some(at))
}

/// The effect of a call that leaves the lineage.
fn effect_of_call(lineage: &[Declared], call: &Call) -> Effect {
    let class = call.class.as_str();
    let name = call.name.as_str();
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    if is_framework(class) || lineage.iter().any(|own| own.class == class) {
        // What is not declared here is the framework's.
        return if begins(&["get", "has", "is", "apparently"]) {
            Effect::Looks
        } else {
            Effect::Takes
        };
    }
    let package = class.rsplit_once('/').map_or("", |(package, _)| package);
    match package {
        "java/util/concurrent/atomic" | "java/lang/invoke" | "sun/misc" | "jdk/internal/misc" => {
            let changes = begins(&["getAnd"]) || !begins(&["get", "is", "<init>"]);
            if changes {
                Effect::Takes
            } else {
                Effect::Looks
            }
        }
        "java/lang" | "java/util" | "scala/runtime" | "kotlin/jvm/internal" => Effect::Looks,
        _ if name == "<init>" => Effect::Looks,
        _ => Effect::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str, is_special: bool) -> Use {
        let (class, rest) = text.split_once('.').unwrap();
        let (name, descriptor) = rest.split_at(rest.find('(').unwrap());
        Use::Call(Call {
            class: class.to_owned(),
            name: name.to_owned(),
            descriptor: descriptor.to_owned(),
            is_special,
        })
    }

    fn class(name: &str, methods: &[(&str, &[Use])]) -> Declared {
        let method = |(text, uses): &(&str, &[Use])| {
            let (name, descriptor) = text.split_at(text.find('(').unwrap());
            let key = (name.to_owned(), descriptor.to_owned());
            (key, Some(uses.to_vec()))
        };
        Declared {
            class: name.to_owned(),
            methods: methods.iter().map(method).collect(),
        }
    }

    fn shared(lineage: &[Declared]) -> Option<Effect> {
        effect(lineage, "tryAcquireShared", "(I)I")
    }

    #[test]
    fn a_latch_looks_and_a_semaphore_takes() {
        let attempt = "tryAcquireShared(I)I";
        let latch = [class(
            "Latch",
            &[(attempt, &[call("Latch.getState()I", false)])],
        )];
        assert_eq!(shared(&latch), Some(Effect::Looks));
        assert_eq!(effect(&latch, "tryAcquire", "(I)Z"), None);
        // The method of the subclass calls that of its superclass, which changes the state.
        let swap = call("Sync.compareAndSetState(II)Z", false);
        let semaphore = [
            class("Fair", &[(attempt, &[call("Fair.take(I)I", false)])]),
            class(
                "Sync",
                &[("take(I)I", &[call("Fair.getState()I", false), swap])],
            ),
        ];
        assert_eq!(shared(&semaphore), Some(Effect::Takes));
    }

    #[test]
    fn what_is_not_known_is_no_event() {
        let attempt = "tryAcquireShared(I)I";
        let outer = [class(
            "Sync",
            &[(attempt, &[call("Outer.isDone()Z", false)])],
        )];
        assert_eq!(shared(&outer), Some(Effect::Unknown));
        let own = [class("Sync", &[(attempt, &[Use::Write])])];
        assert_eq!(shared(&own), Some(Effect::Takes));
        let atomic = "java/util/concurrent/atomic/AtomicInteger";
        for (method, effect) in [
            ("get()I", Effect::Looks),
            ("getAndDecrement()I", Effect::Takes),
            ("compareAndSet(II)Z", Effect::Takes),
        ] {
            let uses = [call(&format!("{atomic}.{method}"), false)];
            assert_eq!(shared(&[class("Sync", &[(attempt, &uses)])]), Some(effect));
        }
        let recursive = [class(
            "Sync",
            &[(attempt, &[call("Sync.tryAcquireShared(I)I", false)])],
        )];
        assert_eq!(shared(&recursive), Some(Effect::Looks));
    }

    #[test]
    fn the_mode_decides_which_attempt_counts() {
        let both = Acquisition {
            exclusive: Some(Effect::Takes),
            shared: Some(Effect::Looks),
        };
        assert!(both.is_event(Some(AcquireMode::Shared)));
        assert!(!both.is_event(Some(AcquireMode::Exclusive)));
        assert!(!both.is_event(None));
        assert!(!Acquisition::default().is_event(None));
    }
}
