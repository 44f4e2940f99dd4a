//! The names of native code and the rules for its callers, for `cstack=y`, looked up by the profile thread.
//!
//! ```text
//! address ─► mapping of a file (os::maps) ─► function of its symbol table (elf) ─► [native] name
//! address of the kernel ─► its list of functions (kernel) ─► [kernel] name
//! mappings ─► files (elf) ─► rules of their functions (eh_frame) ─► map of all code (tables) ─► signal handlers
//! ```

mod eh_frame;
mod elf;
mod kernel;
mod tables;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use cpp_demangle::{DemangleOptions, Symbol};

use crate::names::{FrameId, Names};
use crate::os::kernel_stacks::is_of_kernel;
use crate::os::maps::{Mapping, mappings};
use crate::vm::callers::CodeMap;
use elf::Functions;
use kernel::KernelFunctions;
use tables::CodeTables;

/// The beginning of the names of frames of native code.
const PREFIX: &str = "[native] ";
/// The beginning of the names of frames of the kernel.
const KERNEL_PREFIX: &str = "[kernel] ";
/// How long mappings are trusted: libraries come and go.
const FRESH: Duration = Duration::from_secs(30);
/// Pages without a file, such as those of another compiler's code, that have the mappings read again until they are
/// fresh.
const MAX_UNKNOWN: usize = 1 << 8;
const PAGE: usize = 4096;
/// How many addresses, and files, are remembered at most.
const MAX_ADDRESSES: usize = 1 << 16;
const MAX_FILES: usize = 1 << 10;

/// Looks names of native code up, and remembers them while they are fresh.
#[derive(Default)]
pub struct CSymbols {
    mappings: Vec<Mapping>,
    read: Option<Instant>,
    /// By path; `None` for what is no file of functions.
    files: HashMap<String, Option<Functions>>,
    frames: HashMap<usize, FrameId>,
    /// The functions of the kernel, once a frame is one of them.
    kernel: Option<KernelFunctions>,
    /// Pages that no mapping had when they were last read.
    unknown: HashSet<usize>,
    /// The rules for callers.
    tables: CodeTables,
    /// The rules are those of older mappings.
    is_outdated: bool,
}

impl CSymbols {
    /// The frame for an address.
    pub fn frame(&mut self, names: &mut Names, address: usize) -> FrameId {
        self.refresh();
        if let Some(&frame) = self.frames.get(&address) {
            return frame;
        }
        if self.frames.len() >= MAX_ADDRESSES {
            self.frames.clear();
        }
        let frame = match is_of_kernel(address) {
            true => names.label(&format!("{KERNEL_PREFIX}{}", self.kernel_name(address))),
            false => names.label(&format!("{PREFIX}{}", self.name(address))),
        };
        self.frames.insert(address, frame);
        frame
    }

    /// Returns true if there were frames of the kernel, whose names the kernel hides.
    pub fn has_nameless_kernel(&self) -> bool {
        self.kernel.as_ref().is_some_and(KernelFunctions::is_empty)
    }

    /// The kernel's function at an address.
    fn kernel_name(&mut self, address: usize) -> String {
        let functions = self
            .kernel
            .get_or_insert_with(KernelFunctions::of_this_kernel);
        let name = functions.name(address as u64);
        name.map_or_else(|| "unknown".to_owned(), |name| shown(name.as_bytes()))
    }

    /// Makes some of the rules for callers of the code that is mapped now. Returns all of them when they are complete
    /// and have changed, and whether more remain to be made.
    pub fn advance_rules(&mut self) -> (Option<CodeMap>, bool) {
        self.refresh();
        if std::mem::take(&mut self.is_outdated) {
            self.tables.adopt(&self.mappings);
        }
        let map = self.tables.advance(&self.mappings);
        (map, self.tables.is_waiting())
    }

    /// The function at an address, or the file that has it.
    fn name(&mut self, address: usize) -> String {
        // A library may have been loaded a moment ago.
        if Mapping::of(&self.mappings, address).is_none()
            && self.unknown.len() < MAX_UNKNOWN
            && self.unknown.insert(address / PAGE)
        {
            self.read_mappings();
        }
        let Some(mapping) = Mapping::of(&self.mappings, address) else {
            return "unknown".to_owned();
        };
        if !self.files.contains_key(&mapping.path) {
            if self.files.len() >= MAX_FILES {
                self.files.clear();
            }
            let functions = Functions::of_file(&mapping.path).ok();
            self.files.insert(mapping.path.clone(), functions);
        }
        let offset = mapping.offset_of(address);
        let functions = self.files.get(&mapping.path).and_then(Option::as_ref);
        functions
            .and_then(|functions| functions.name(offset))
            .map_or_else(|| mapping.file_name().to_owned(), |name| shown(&name))
    }

    /// Reads the mappings again if they are old.
    fn refresh(&mut self) {
        if self.read.is_none_or(|read| read.elapsed() >= FRESH) {
            self.read = Some(Instant::now());
            self.unknown.clear();
            self.read_mappings();
        }
    }

    fn read_mappings(&mut self) {
        let now = mappings();
        if now != self.mappings {
            self.mappings = now;
            self.frames.clear();
            self.is_outdated = true;
        }
    }
}

/// A symbol as people read it: C++ names without parameters, and without what the compiler has added to copies.
fn shown(symbol: &[u8]) -> String {
    let options = DemangleOptions::new().no_params().no_return_type();
    let name = Symbol::new(symbol)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .map(|name| match name.split_once(" [clone") {
            Some((name, _)) => name.to_owned(),
            None => name,
        })
        .unwrap_or_else(|| {
            let symbol = String::from_utf8_lossy(symbol);
            let end = symbol.get(1..).and_then(|rest| rest.find('.'));
            end.map_or(&*symbol, |end| &symbol[..=end]).to_owned()
        });
    // Readers of profiles take brackets for the place of a frame, and semicolons for its end. Files may be of anybody.
    let bracketed = name.replace("(anonymous namespace)", "{anonymous}");
    let plain = |char: char| match char {
        '(' => '{',
        ')' => '}',
        ';' => '_',
        char if char.is_control() => '_',
        char => char,
    };
    bracketed.chars().map(plain).collect()
}

/// The cases in which a property is tried: `PROPTEST_CASES`, which is set where a tool makes the tests slow, or this number.
#[cfg(test)]
fn cases(number: u32) -> proptest::test_runner::Config {
    use proptest::test_runner::Config;
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => Config::default(),
        None => Config::with_cases(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::HiddenNames;

    #[test]
    fn names_are_as_people_read_them() {
        let cases = [
            ("memcpy", "memcpy"),
            ("do_lookup.part.0", "do_lookup"),
            (".plt", ".plt"),
            ("é", "é"),
            ("a;b\nc", "a_b_c"),
            ("_ZN2os5sleepEl", "os::sleep"),
            ("_ZN7G1Young4workEj.constprop.0", "G1Young::work"),
            ("_Z3minIiET_S0_S0_", "min<int>"),
            ("_ZN12_GLOBAL__N_14openEi", "{anonymous}::open"),
            ("_ZN1AclEv", "A::operator{}"),
            ("", ""),
        ];
        for (symbol, name) in cases {
            assert_eq!(shown(symbol.as_bytes()), name, "{symbol}");
        }
    }

    #[inline(never)]
    extern "C" fn a_function_of_this_test() -> u32 {
        std::hint::black_box(7)
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn functions_of_this_process_have_names() {
        assert_eq!(a_function_of_this_test(), 7);
        let mut symbols = CSymbols::default();
        symbols.refresh();
        let own = symbols.name(a_function_of_this_test as *const () as usize);
        assert!(own.contains("a_function_of_this_test"), "{own}");
        let malloc = symbols.name(libc::malloc as *const () as usize);
        assert!(malloc.contains("malloc"), "{malloc}");
        assert_eq!(symbols.name(16), "unknown");
        assert_eq!(symbols.unknown.len(), 1);
        let mut names = Names::new(HiddenNames::Whole, true, 1 << 20);
        let address = libc::malloc as *const () as usize;
        let frame = symbols.frame(&mut names, address);
        assert_eq!(symbols.frame(&mut names, address), frame);
        assert_eq!(
            names.methods.name(frame).method,
            format!("[native] {malloc}")
        );
    }
}
