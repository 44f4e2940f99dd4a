//! ELF files, of which a little is read: places of functions by their names.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;

use object::LittleEndian;
use object::elf::{FileHeader64, PT_LOAD, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC, SectionType};
use object::read::elf::{FileHeader, ProgramHeader, Sym};
use object::read::{ReadCache, ReadRef, Result};

/// Bytes of a file that are read into memory, apart from single names.
const MAX_READ: u64 = 128 << 20;
/// Bytes of a name that are read.
const NAME: u64 = 4096;

/// How many bytes of a function are read.
pub const BEGINNING: usize = 32;

/// A function as a file has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its address, from where the file is loaded.
    pub address: u64,
    /// The first bytes of its code.
    pub code: [u8; BEGINNING],
}

/// The functions of these names in a file, by its table of all symbols, which is not needed to run it; `None` without one of
/// them.
///
/// # Errors
/// The file cannot be read, or is no ELF file of this kind of machine.
pub fn functions<const N: usize>(
    path: &str,
    names: [&str; N],
) -> io::Result<Option<[Function; N]>> {
    let file = Bounded::of(open(path)?);
    let found = find(&file, names).map_err(io::Error::other)?;
    Ok(found)
}

fn find<'a, const N: usize>(
    data: impl ReadRef<'a>,
    names: [&str; N],
) -> Result<Option<[Function; N]>> {
    let header = FileHeader64::<LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let symbols = sections.symbols(endian, data, SHT_SYMTAB)?;
    let names_at = sections.section(symbols.string_section())?;
    let strings = object::read::elf::SectionHeader::data(names_at, endian, data)?;
    let mut found = [Function::default(); N];
    for symbol in symbols.iter() {
        let start = usize::try_from(symbol.st_name(endian)).unwrap_or(usize::MAX);
        let Some(text) = strings.get(start..) else {
            continue;
        };
        for (function, name) in found.iter_mut().zip(names) {
            let is_it = text.strip_prefix(name.as_bytes());
            if is_it.is_some_and(|rest| rest.first() == Some(&0)) {
                function.address = symbol.st_value(endian);
            }
        }
    }
    let segments = header.program_headers(endian, data)?;
    for function in &mut found {
        let mut code = segments.iter().filter_map(|it| {
            it.data_range(endian, data, function.address, BEGINNING as u64)
                .ok()?
        });
        match code.next().map(TryFrom::try_from) {
            Some(Ok(code)) if function.address != 0 => function.code = code,
            _ => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// The functions of a file whose names are wanted, with their places in the file: by the table of all symbols, or the linker's
/// where that has been stripped.
///
/// # Errors
/// As [`functions`].
pub fn places(path: &str, is_wanted: impl Fn(&str) -> bool) -> io::Result<Vec<(String, u64)>> {
    let file = Bounded::of(open(path)?);
    let found = search(&file, SHT_SYMTAB, &is_wanted);
    let found = found.and_then(|found| match found.is_empty() {
        true => search(&file, SHT_DYNSYM, &is_wanted),
        false => Ok(found),
    });
    found.map_err(io::Error::other)
}

fn search<'a>(
    data: impl ReadRef<'a>,
    table: SectionType,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, u64)>> {
    let header = FileHeader64::<LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let symbols = sections.symbols(endian, data, table)?;
    if symbols.is_empty() {
        return Ok(Vec::new());
    }
    let names_at = sections.section(symbols.string_section())?;
    let strings = object::read::elf::SectionHeader::data(names_at, endian, data)?;
    let segments = header.program_headers(endian, data)?;
    let mut found = Vec::new();
    for symbol in symbols.iter() {
        let is_defined = !symbol.is_undefined(endian);
        if symbol.st_type() != STT_FUNC || !is_defined {
            continue;
        }
        let start = usize::try_from(symbol.st_name(endian)).unwrap_or(usize::MAX);
        let name = strings.get(start..).and_then(|rest| {
            let end = rest.iter().position(|&byte| byte == 0)?;
            std::str::from_utf8(&rest[..end]).ok()
        });
        let Some(name) = name.filter(|name| is_wanted(name)) else {
            continue;
        };
        let address = symbol.st_value(endian);
        let place = segments.iter().find_map(|segment| {
            let inside = address.checked_sub(segment.p_vaddr(endian))?;
            let is_there = segment.p_type(endian) == PT_LOAD && inside < segment.p_filesz(endian);
            is_there.then(|| segment.p_offset(endian).wrapping_add(inside))
        });
        found.extend(place.map(|place| (name.to_owned(), place)));
    }
    Ok(found)
}

/// A file of which not too much is read into memory, whatever its headers say.
pub struct Bounded {
    cache: ReadCache<File>,
    /// Bytes that may still be read.
    left: Cell<u64>,
}

impl Bounded {
    /// A file that nothing was read of.
    pub fn of(file: File) -> Self {
        Self {
            cache: ReadCache::new(file),
            left: Cell::new(MAX_READ),
        }
    }

    /// The file itself.
    pub fn into_file(self) -> File {
        self.cache.into_inner()
    }

    fn spend(&self, bytes: u64) -> std::result::Result<(), ()> {
        let left = self.left.get().checked_sub(bytes).ok_or(())?;
        self.left.set(left);
        Ok(())
    }
}

impl<'a> ReadRef<'a> for &'a Bounded {
    fn len(self) -> std::result::Result<u64, ()> {
        (&self.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> std::result::Result<&'a [u8], ()> {
        self.spend(size)?;
        self.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(
        self,
        range: Range<u64>,
        delimiter: u8,
    ) -> std::result::Result<&'a [u8], ()> {
        self.spend(NAME)?;
        self.cache.read_bytes_at_until(range, delimiter)
    }
}

/// Opens a regular file.
///
/// # Errors
/// It is none, or cannot be opened.
pub fn open(path: &str) -> io::Result<File> {
    // The owner of the folder may have put a FIFO there. To open it would have the profile thread wait for a writer.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "reads this program's file")]
    fn functions_are_found_by_their_names() {
        let path = std::env::current_exe().unwrap();
        let path = path.to_str().unwrap();
        // An executable begins where the loader enters it.
        let [found] = functions(path, ["_start"]).unwrap().unwrap();
        assert!(found.address != 0 && found.code != [0; BEGINNING]);
        assert_eq!(functions(path, ["_start", "no function"]).unwrap(), None);
        assert!(functions("/proc/self/maps", ["_start"]).is_err());
    }

    #[test]
    #[cfg_attr(miri, ignore = "makes a file")]
    fn a_huge_file_does_not_fill_memory() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 40).unwrap();
        let file = Bounded::of(file);
        assert!((&file).read_bytes_at(0, MAX_READ + 1).is_err());
        assert!((&file).read_bytes_at(0, 1 << 20).is_ok());
        assert!((&file).read_bytes_at(1, MAX_READ - (1 << 20) + 1).is_err());
        let names = (0u64..).take_while(|&at| {
            let name = (&file).read_bytes_at_until(at..at + 9, 0);
            name.is_ok()
        });
        assert_eq!(names.count() as u64, (MAX_READ - (1 << 20)) / NAME);
    }
}
