//! The import tables of the objects that are loaded: where their calls of other libraries' functions lead.
//!
//! The dynamic linker writes the addresses of imported functions into a table of each object (`JUMP_SLOT` and `GLOB_DAT`
//! relocations). An entry that is exchanged there leads all calls of that object elsewhere; no code is changed.
//!
//! # Objects that are being loaded
//!
//! The list of objects also has one that another thread loads at this moment, whose table the linker still writes. Such
//! an object is left for the next time: its entries are not yet what they will be ([`Import::original`]), or its
//! read-only part can still be written.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{Elf64_Phdr, Elf64_Rela, Elf64_Sym, dl_phdr_info};

/// A function whose calls are to lead elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Import {
    /// Its name.
    pub name: &'static CStr,
    /// The address of the function as the linker finds it.
    pub original: usize,
    /// The address of the function that stands for it.
    pub hook: usize,
    /// Objects that have the function at this address keep their own entry; 0 for no object.
    pub not_in: usize,
    /// Only the object that has code at this address is changed; 0 for all.
    pub only_in: usize,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// Calls lead to the hooks.
    ToHooks,
    /// Calls lead to the originals again.
    Back,
}

/// The result of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Entries that were exchanged.
    pub entries: usize,
    /// Entries that the kernel did not let be written.
    pub refused: usize,
    /// Entries of objects that are being loaded.
    pub waiting: usize,
}

/// The address of a function as the linker finds it for most objects; 0 if there is none.
pub fn address_of(name: &CStr) -> usize {
    // SAFETY: the name is a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize }
}

/// A number that changes whenever an object is loaded.
pub fn loads() -> u64 {
    unsafe extern "C" fn first(info: *mut dl_phdr_info, size: usize, data: *mut c_void) -> c_int {
        if size >= std::mem::offset_of!(dl_phdr_info, dlpi_adds) + size_of::<u64>() {
            // SAFETY: the linker has filled in that many bytes; `data` is the caller's number.
            unsafe { *data.cast::<u64>() = (*info).dlpi_adds };
        }
        1
    }
    let mut number = 0u64;
    // SAFETY: the callback takes the number.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut number).cast()) };
    number
}

/// Exchanges the entries of all loaded objects but the agent's own and the linker.
pub fn change(imports: &[Import], lead: Lead) -> Changed {
    // Before the list of objects: what is read-only now stays so.
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else {
        return Changed::default();
    };
    let mut change = Change {
        imports,
        lead,
        writable: maps.lines().filter_map(Mapped::parse).collect(),
        // SAFETY: both are questions without arguments that matter.
        linker: unsafe { libc::getauxval(libc::AT_BASE) } as usize,
        // SAFETY: as above.
        page: usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096),
        changed: Changed::default(),
    };
    // SAFETY: the callback takes the change.
    unsafe { libc::dl_iterate_phdr(Some(each_object), (&raw mut change).cast()) };
    change.changed
}

/// A mapping of the process.
struct Mapped {
    start: usize,
    end: usize,
    is_writable: bool,
}

impl Mapped {
    fn parse(line: &str) -> Option<Self> {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        Some(Self {
            start: usize::from_str_radix(start, 16).ok()?,
            end: usize::from_str_radix(end, 16).ok()?,
            is_writable: rest.as_bytes().get(1) == Some(&b'w'),
        })
    }
}

struct Change<'a> {
    imports: &'a [Import],
    lead: Lead,
    writable: Vec<Mapped>,
    linker: usize,
    page: usize,
    changed: Changed,
}

unsafe extern "C" fn each_object(info: *mut dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the linker passes a description that is valid during the call, and `change` its data.
    let (change, info) = unsafe { (&mut *data.cast::<Change<'_>>(), &*info) };
    // SAFETY: the linker keeps its list locked meanwhile, so the object stays mapped.
    if let Some(object) = unsafe { Object::of(info, change.page) } {
        change.object(&object);
    }
    0
}

/// A loaded object and its tables.
struct Object {
    base: usize,
    /// From its first to its last loaded byte.
    range: std::ops::Range<usize>,
    /// Pages that are read-only once the object is loaded.
    read_only: std::ops::Range<usize>,
    symbols: usize,
    names: usize,
    /// Address and bytes of the tables of relocations.
    relocations: [(usize, usize); 2],
}

#[cfg(target_arch = "x86_64")]
const SLOT_TYPES: [u64; 2] = [6, 7];
#[cfg(target_arch = "aarch64")]
const SLOT_TYPES: [u64; 2] = [1025, 1026];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const SLOT_TYPES: [u64; 2] = [u64::MAX; 2];

const DT_NULL: usize = 0;
const DT_PLTRELSZ: usize = 2;
const DT_STRTAB: usize = 5;
const DT_SYMTAB: usize = 6;
const DT_RELA: usize = 7;
const DT_RELASZ: usize = 8;
const DT_JMPREL: usize = 23;
/// Entries of a dynamic section that are looked at.
const MAX_DYNAMIC: usize = 1 << 10;

impl Object {
    /// # Safety
    /// The description is of an object that stays mapped.
    unsafe fn of(info: &dl_phdr_info, page: usize) -> Option<Self> {
        let base = info.dlpi_addr as usize;
        if info.dlpi_phdr.is_null() {
            return None;
        }
        // SAFETY: the number of headers is the linker's.
        let headers: &[Elf64_Phdr] =
            unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let span = |header: &Elf64_Phdr| {
            let start = base.wrapping_add(header.p_vaddr as usize);
            start..start.wrapping_add(header.p_memsz as usize)
        };
        let of = |kind| headers.iter().filter(move |it| it.p_type == kind);
        let start = of(libc::PT_LOAD).map(|it| span(it).start).min()?;
        let end = of(libc::PT_LOAD).map(|it| span(it).end).max()?;
        let relro = of(libc::PT_GNU_RELRO).map(span).next().unwrap_or(0..0);
        let dynamic = span(of(libc::PT_DYNAMIC).next()?);
        let mut object = Self {
            base,
            range: start..end,
            read_only: relro.start & !(page - 1)..relro.end & !(page - 1),
            symbols: 0,
            names: 0,
            relocations: [(0, 0); 2],
        };
        for index in 0..MAX_DYNAMIC.min(dynamic.len() / (2 * size_of::<usize>())) {
            let entry = (dynamic.start as *const [usize; 2]).wrapping_add(index);
            // SAFETY: an entry of the object's dynamic section, which is loaded.
            let [tag, value] = unsafe { *entry };
            // Some linkers leave addresses as the file has them.
            let address = match object.range.contains(&value) {
                true => value,
                false => base.wrapping_add(value),
            };
            match tag {
                DT_NULL => break,
                DT_STRTAB => object.names = address,
                DT_SYMTAB => object.symbols = address,
                DT_JMPREL => object.relocations[0].0 = address,
                DT_PLTRELSZ => object.relocations[0].1 = value,
                DT_RELA => object.relocations[1].0 = address,
                DT_RELASZ => object.relocations[1].1 = value,
                _ => {}
            }
        }
        (object.symbols != 0 && object.names != 0).then_some(object)
    }

    fn has(&self, address: usize) -> bool {
        self.range.contains(&address)
    }

    /// The place of an entry, the name of what it imports, and whether the object defines that itself.
    fn entries(&self) -> impl Iterator<Item = (usize, &CStr, bool)> {
        self.relocations.iter().flat_map(move |&(start, bytes)| {
            let count = match self.has(start) {
                true => bytes.min(self.range.end - start) / size_of::<Elf64_Rela>(),
                false => 0,
            };
            (0..count).filter_map(move |index| {
                let place = (start as *const Elf64_Rela).wrapping_add(index);
                // SAFETY: a relocation of the object, which is loaded.
                let relocation = unsafe { place.read_unaligned() };
                let (symbol, kind) = (relocation.r_info >> 32, relocation.r_info & 0xffff_ffff);
                if !SLOT_TYPES.contains(&kind) || symbol == 0 {
                    return None;
                }
                let place = (self.symbols as *const Elf64_Sym).wrapping_add(symbol as usize);
                // SAFETY: relocations name symbols of the object's table, which is loaded.
                let symbol = unsafe { place.read_unaligned() };
                let name = self.names.wrapping_add(symbol.st_name as usize) as *const c_char;
                // SAFETY: symbols have names in the object's table of names, which ends with a zero.
                let name = unsafe { CStr::from_ptr(name) };
                let slot = self.base.wrapping_add(relocation.r_offset as usize);
                let is_inside = self.has(slot) && slot.is_multiple_of(size_of::<usize>());
                is_inside.then_some((slot, name, symbol.st_shndx != 0))
            })
        })
    }
}

impl Change<'_> {
    fn object(&mut self, object: &Object) {
        let own = change as *const () as usize;
        if object.has(own) || object.base == self.linker && self.linker != 0 {
            return;
        }
        for (slot, name, is_defined) in object.entries() {
            let Some(import) = self.imports.iter().find(|import| import.name == name) else {
                continue;
            };
            let is_left = import.original == 0
                || import.not_in != 0 && object.has(import.not_in)
                || import.only_in != 0 && !object.has(import.only_in);
            if is_left {
                continue;
            }
            // SAFETY: an aligned word of the object, which the linker and others write as a whole.
            let place = unsafe { &*(slot as *const AtomicUsize) };
            let value = place.load(Ordering::Acquire);
            // An entry that is not bound yet leads into the object's own code.
            let is_unbound = !is_defined && object.has(value);
            let new = match self.lead {
                Lead::ToHooks if value == import.original || is_unbound => import.hook,
                Lead::Back if value == import.hook => import.original,
                _ => continue,
            };
            self.write(object, place, slot, new);
        }
    }

    fn write(&mut self, object: &Object, place: &AtomicUsize, slot: usize, new: usize) {
        let is_read_only = object.read_only.contains(&slot);
        let mapped = self
            .writable
            .iter()
            .find(|it| (it.start..it.end).contains(&slot));
        match mapped.map(|it| it.is_writable) {
            Some(true) if !is_read_only => place.store(new, Ordering::Release),
            Some(false) if is_read_only => {
                let page = (slot & !(self.page - 1)) as *mut c_void;
                let both = libc::PROT_READ | libc::PROT_WRITE;
                // SAFETY: the page is a part of the object's table that its loading has made read-only, and is so again.
                let done = unsafe {
                    let opened = libc::mprotect(page, self.page, both) == 0;
                    if opened {
                        place.store(new, Ordering::Release);
                        libc::mprotect(page, self.page, libc::PROT_READ);
                    }
                    opened
                };
                if !done {
                    self.changed.refused += 1;
                    return;
                }
            }
            _ => {
                self.changed.waiting += 1;
                return;
            }
        }
        self.changed.entries += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_parsed() {
        let line = "7f00-8000 rw-p 00000000 00:00 0 [heap]";
        let mapped = Mapped::parse(line).unwrap();
        assert_eq!((mapped.start, mapped.end), (0x7f00, 0x8000));
        assert!(mapped.is_writable);
        assert!(!Mapped::parse("1-2 r-xp 0 0 0").unwrap().is_writable);
        assert!(Mapped::parse("x").is_none());
    }

    #[test]
    #[cfg_attr(miri, ignore = "asks the linker")]
    fn functions_have_addresses() {
        assert_ne!(address_of(c"malloc"), 0);
        assert_eq!(address_of(c"no_such_function_anywhere"), 0);
    }
}
