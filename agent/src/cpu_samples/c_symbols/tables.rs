//! The rules for callers of all code that is mapped, made before handlers look them up.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::elf::Unwinding;
use crate::os::maps::Mapping;
use crate::report;
use crate::vm::callers::{CodeMap, MappedCode};

/// Rules of all files together at most, in 32 MB of memory. The VM's library has a quarter of a million.
const MAX_RULES: usize = 4 << 20;
/// How long files are read in one go, at least one of them: samples wait meanwhile.
const SLICE: Duration = Duration::from_millis(20);
/// The functions that the kernel maps into every process, and their bytes at most.
const VDSO: &str = "[vdso]";
const MAX_VDSO: usize = 1 << 20;

/// The rules of the files that are mapped.
#[derive(Default)]
pub(super) struct CodeTables {
    /// By path; `None` for files without rules.
    files: HashMap<String, Option<Unwinding>>,
    /// Files whose rules have yet to be made.
    waiting: Vec<Mapping>,
    /// The mappings have changed since the last map was made.
    is_changed: bool,
    /// Rules have been left out, and a line has said so.
    is_cut: bool,
}

impl CodeTables {
    /// Takes note of the current mappings.
    pub(super) fn adopt(&mut self, mappings: &[Mapping]) {
        let mapped: BTreeSet<&str> = mappings.iter().map(|it| it.path.as_str()).collect();
        self.files.retain(|path, _| mapped.contains(path.as_str()));
        let mut new = BTreeSet::new();
        let waiting = mappings
            .iter()
            .filter(|it| !self.files.contains_key(&it.path) && new.insert(it.path.as_str()));
        self.waiting = waiting.cloned().collect();
        self.is_changed = true;
    }

    /// Returns true if there is more to do.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Reads some files; returns a map once all are read and it differs from that before. `mappings` are those of the
    /// last [`adopt`](Self::adopt).
    pub(super) fn advance(&mut self, mappings: &[Mapping]) -> Option<CodeMap> {
        let begun = Instant::now();
        while let Some(mapping) = self.waiting.pop() {
            self.read(mapping);
            if begun.elapsed() >= SLICE {
                break;
            }
        }
        let is_done = self.waiting.is_empty();
        (is_done && std::mem::take(&mut self.is_changed)).then(|| self.map(mappings))
    }

    fn read(&mut self, mapping: Mapping) {
        let room = MAX_RULES.saturating_sub(self.rules());
        let read = match mapping.path.as_str() {
            VDSO => image(&mapping).and_then(|bytes| Unwinding::of_image(&bytes, room)),
            path => Unwinding::of_file(path, room),
        };
        let file = read.ok();
        if file.as_ref().is_some_and(|file| file.is_cut)
            && !std::mem::replace(&mut self.is_cut, true)
        {
            report::note(&format!(
                "cstack=y: {} has more unwinding rules than are kept: native code is followed by frame pointers there",
                mapping.file_name()
            ));
        }
        self.files.insert(mapping.path, file);
    }

    /// How many rules there are.
    fn rules(&self) -> usize {
        let files = self.files.values().flatten();
        files.map(|file| file.rules.len()).sum()
    }

    fn map(&self, mappings: &[Mapping]) -> CodeMap {
        let code = mappings.iter().filter_map(|mapping| {
            let range = mapping.range();
            let file = self.files.get(&mapping.path)?.as_ref()?;
            Some(MappedCode {
                start: range.start,
                end: range.end,
                address: file.code_address(mapping.offset_of(range.start))?,
                rules: file.rules.clone(),
            })
        });
        CodeMap::new(code.collect())
    }
}

/// The bytes of a mapping without a file.
fn image(mapping: &Mapping) -> io::Result<Vec<u8>> {
    let range = mapping.range();
    let length = range.len().min(MAX_VDSO);
    let mut bytes = vec![0; length];
    // The kernel copies, so it does not matter if the mapping is gone.
    File::open("/proc/self/mem")?.read_exact_at(&mut bytes, range.start as u64)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::os::maps::mappings;
    use crate::vm::callers::{FrameAddress, Rule};

    fn all(tables: &mut CodeTables, mappings: &[Mapping]) -> CodeMap {
        tables.adopt(mappings);
        for _ in 0..1000 {
            if let Some(map) = tables.advance(mappings) {
                assert!(!tables.is_waiting());
                return map;
            }
        }
        panic!("there is always a map in the end");
    }

    #[inline(never)]
    extern "C" fn a_function_of_this_test() -> u32 {
        std::hint::black_box(7)
    }

    #[test]
    #[cfg_attr(
        any(miri, not(target_arch = "x86_64")),
        ignore = "reads files of x86-64"
    )]
    fn functions_of_this_process_have_rules() {
        assert_eq!(a_function_of_this_test(), 7);
        let (mut tables, mappings) = (CodeTables::default(), mappings());
        let map = all(&mut tables, &mappings);
        let is_vdso = |mapping: &&Mapping| mapping.path == VDSO;
        if let Some(vdso) = mappings.iter().find(is_vdso) {
            let file = tables.files.get(VDSO).and_then(Option::as_ref);
            let rules = file.map(|file| file.rules.len());
            assert!(rules.is_some_and(|rules| rules > 1), "{rules:?} {vdso:?}");
        }
        // At its first instruction a function's return address is on top of the stack.
        for function in [
            a_function_of_this_test as *const () as usize,
            libc::malloc as *const () as usize,
        ] {
            let rule = map.rule(function).map(|rule| rule.frame);
            assert_eq!(rule, Some(FrameAddress::Sp(8)));
        }
        assert_eq!(map.rule(16), None);
        // Files are read once, and forgotten with their mapping.
        assert!(tables.advance(&mappings).is_none());
        let files = tables.files.len();
        all(&mut tables, &mappings);
        assert_eq!(tables.files.len(), files);
        let map = all(&mut tables, &[]);
        assert_eq!(map.rule(libc::malloc as *const () as usize), None);
        assert!(tables.files.is_empty());
    }

    /// The kernel's file of this process, if it has one.
    fn a_file() -> Vec<u8> {
        let mappings = mappings();
        let vdso = mappings.iter().find(|mapping| mapping.path == VDSO);
        vdso.and_then(|mapping| image(mapping).ok())
            .unwrap_or_default()
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn a_spoilt_file_has_few_rules_or_none() {
        let file = a_file();
        let spoils = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20);
        // Headers are where a byte matters most.
        let place = |index: prop::sample::Index, byte: u8, length: usize| match byte & 1 {
            0 => index.index(length),
            _ => index.index(length.min(0x400)),
        };
        proptest!(super::super::cases(300), |(spoils in spoils, length in any::<prop::sample::Index>())| {
            let mut spoilt = file.clone();
            for (index, byte) in spoils {
                if !spoilt.is_empty() {
                    let at = place(index, byte, spoilt.len());
                    spoilt[at] = byte;
                }
            }
            if length.index(4) == 0 {
                spoilt.truncate(length.index(file.len().max(1)));
            }
            if let Ok(file) = Unwinding::of_image(&spoilt, 1000) {
                prop_assert!(file.rules.len() <= 1001);
                prop_assert_eq!(file.rules.at(u32::MAX), Rule::UNKNOWN);
            }
        });
    }
}
