//! Faults that tests of whole JVMs ask for: what a VM may lack that does not exist yet, and a release number that none has.
//!
//! The variable `HPROF_RS_TEST_FAULTS` names them, with commas between. Without it nothing of this is reached. A fault only
//! takes something away: the code after it is the one that runs where the VM itself refuses.

use std::sync::OnceLock;

/// The variable that names the faults.
const VARIABLE: &str = "HPROF_RS_TEST_FAULTS";

/// Something that the VM or the kernel is to lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The VM reports a release that no table knows.
    UnknownRelease,
    /// The VM exports no tables of its data.
    NoExports,
    /// The VM exports no `AsyncGetCallTrace`.
    NoCallTrace,
    /// The walk of a known stack finds other frames than the VM.
    OtherWalk,
    /// The frames of stacks are not where keys of stacks expect them.
    NoStackKeys,
    /// The VM takes no class of the agent.
    NoHookClass,
    /// The VM takes no class with hooks.
    NoHooks,
    /// The VM grants no events of allocations and of monitors.
    NoEvents,
    /// The VM sends no event of an allocation.
    NoAllocations,
    /// The kernel gives threads no timers.
    NoTimers,
    /// Timers send no signal.
    NoSignals,
    /// The VM gives no stack.
    NoStacks,
    /// The VM does not tell where its threads are.
    NoThreads,
    /// The agent's thread gets no time to read samples, so that there is room for none.
    NoRoom,
    /// Something takes the agent's signal for itself.
    NoHandler,
    /// No library imports the functions that allocate memory.
    NoImports,
}

impl Fault {
    const ALL: [(&'static str, Self); 16] = [
        ("release", Self::UnknownRelease),
        ("exports", Self::NoExports),
        ("calltrace", Self::NoCallTrace),
        ("walk", Self::OtherWalk),
        ("keys", Self::NoStackKeys),
        ("class", Self::NoHookClass),
        ("hooks", Self::NoHooks),
        ("events", Self::NoEvents),
        ("allocations", Self::NoAllocations),
        ("timers", Self::NoTimers),
        ("signals", Self::NoSignals),
        ("stacks", Self::NoStacks),
        ("threads", Self::NoThreads),
        ("room", Self::NoRoom),
        ("handler", Self::NoHandler),
        ("imports", Self::NoImports),
    ];

    /// Returns true if a test has asked for this fault. The first call reads the variable, so it must not come from a
    /// signal handler.
    pub fn is_wanted(self) -> bool {
        static WANTED: OnceLock<Vec<Fault>> = OnceLock::new();
        let wanted = WANTED.get_or_init(|| {
            let text = std::env::var(VARIABLE).unwrap_or_default();
            named(&text)
        });
        wanted.contains(&self)
    }
}

fn named(text: &str) -> Vec<Fault> {
    let words = text.split(',');
    let known = |word| Fault::ALL.iter().find(|(name, _)| *name == word);
    words.filter_map(known).map(|&(_, fault)| fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_faults_are_wanted() {
        assert_eq!(
            named("walk,release"),
            [Fault::OtherWalk, Fault::UnknownRelease]
        );
        assert!(named("").is_empty() && named("walks").is_empty());
        assert!(!Fault::OtherWalk.is_wanted());
    }
}
