//! Functions of native code by their names, in the files that this process runs.

use std::ffi::CString;
use std::fmt;

use super::elf;
use super::maps::{self, Mapping};

/// Names that an error lists at most.
const MAX_LISTED: usize = 5;

/// The place of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The address in this process.
    pub address: usize,
    /// The file that has it.
    pub file: String,
    /// The place in the file.
    pub offset: u64,
}

/// Why a name has no place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// No file that is loaded has it.
    Nowhere,
    /// Overloaded functions have it, in one file. Their names for the linker.
    Several(Vec<String>),
}

/// Finds a function by its name for the linker, or by that of C++ with its class, as `G1CollectedHeap::humongous_obj_allocate`. The
/// linker's choice wins; then libraries are searched in the order of their addresses.
///
/// # Errors
/// [`NotFound`].
pub fn find(name: &str) -> Result<Function, NotFound> {
    let mappings = maps::mappings();
    if let Some(found) = exported(name, &mappings) {
        return Ok(found);
    }
    let wanted = Wanted::of(name);
    let mut searched: Vec<&str> = Vec::new();
    for mapping in &mappings {
        if searched.contains(&mapping.path.as_str()) || !mapping.path.starts_with('/') {
            continue;
        }
        searched.push(&mapping.path);
        let mut found = elf::places(&mapping.path, |symbol| wanted.is(symbol)).unwrap_or_default();
        found.sort();
        found.dedup_by_key(|(_, offset)| *offset);
        match found.as_slice() {
            [] => {}
            [(_, offset)] => {
                let place = mappings.iter().find_map(|it| {
                    let address = it.address_of(*offset)?;
                    (it.path == mapping.path).then_some(address)
                });
                if let Some(address) = place {
                    return Ok(Function {
                        address,
                        file: mapping.path.clone(),
                        offset: *offset,
                    });
                }
            }
            several => {
                let names = several.iter().map(|(name, _)| name.clone());
                return Err(NotFound::Several(names.collect()));
            }
        }
    }
    Err(NotFound::Nowhere)
}

/// A function that the linker finds for the program.
fn exported(name: &str, mappings: &[Mapping]) -> Option<Function> {
    let text = CString::new(name).ok()?;
    // SAFETY: the linker reads the name, which ends with a zero.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, text.as_ptr()) } as usize;
    let mapping = Mapping::of(mappings, address)?;
    mapping.path.starts_with('/').then(|| Function {
        address,
        file: mapping.path.clone(),
        offset: mapping.offset_of(address),
    })
}

/// Names for the linker that a name may have.
struct Wanted {
    plain: String,
    /// Their beginnings, up to the parameters (Itanium C++ ABI, 5.1.3), without and with `const`.
    mangled: Option<[String; 2]>,
}

impl Wanted {
    fn of(name: &str) -> Self {
        let mangled = name.contains("::").then(|| {
            let parts = name.split("::").map(|it| format!("{}{it}", it.len()));
            let parts: String = parts.collect();
            [format!("_ZN{parts}E"), format!("_ZNK{parts}E")]
        });
        Self {
            plain: name.to_owned(),
            mangled,
        }
    }

    fn is(&self, symbol: &str) -> bool {
        match &self.mangled {
            // Parts that the compiler has split off have a point in their names.
            Some(starts) => starts.iter().any(|it| symbol.starts_with(it)) && !symbol.contains('.'),
            None => symbol == self.plain,
        }
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere => f.write_str(
                "no library that is loaded has a function of this name in its table of symbols; a JVM without symbols has few, and \
                 a library that is loaded later is found by attaching then",
            ),
            Self::Several(names) => {
                let listed = names.iter().take(MAX_LISTED).map(String::as_str);
                let listed: Vec<&str> = listed.collect();
                write!(
                    f,
                    "{} functions have this name; give one by its name for the linker: {}",
                    names.len(),
                    listed.join(", ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "reads this program's files")]
    fn functions_are_found_where_they_are() {
        let found = find("pthread_create").unwrap();
        assert_eq!(found.address, libc::pthread_create as *const () as usize);
        assert!(found.file.contains("libc"), "{}", found.file);
        assert_eq!(find("no_function_of_this_name"), Err(NotFound::Nowhere));
        // Only in the table that no linker needs.
        let own = find("_start").unwrap();
        assert!(own.offset != 0 && own.address != 0);
    }

    #[test]
    fn names_of_classes_match_all_that_they_may_be_for_the_linker() {
        let wanted = Wanted::of("G1CollectedHeap::humongous_obj_allocate");
        assert!(wanted.is("_ZN15G1CollectedHeap22humongous_obj_allocateEm"));
        assert!(wanted.is("_ZNK15G1CollectedHeap22humongous_obj_allocateEm"));
        for other in [
            "_ZN15G1CollectedHeap22humongous_obj_allocateEm.part.0",
            "_ZN15G1CollectedHeap41humongous_obj_allocate_initialize_regionsEP10HeapRegionjm",
            "humongous_obj_allocate",
        ] {
            assert!(!wanted.is(other), "{other}");
        }
        assert!(Wanted::of("malloc").is("malloc") && !Wanted::of("malloc").is("malloc_trim"));
    }
}
