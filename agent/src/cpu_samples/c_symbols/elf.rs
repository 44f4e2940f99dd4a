//! ELF files: their functions, by the symbol tables, and their rules for callers.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use object::LittleEndian;
use object::elf::{FileHeader64, PF_X, PT_LOAD, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC, STT_GNU_IFUNC};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::read::{ReadRef, Result};

use super::eh_frame::{self, Section};
use crate::os::elf::{Bounded, open};
use crate::vm::callers::Rules;

/// Functions of a file. Names stay in the file: there are tens of megabytes of them in the VM's library.
pub(super) struct Functions {
    file: File,
    segments: Segments,
    /// In the order of their addresses.
    functions: Vec<Function>,
}

/// The rules for callers of a file.
pub(super) struct Unwinding {
    segments: Segments,
    pub(super) rules: Arc<Rules>,
    /// There was no room for all.
    pub(super) is_cut: bool,
}

/// The parts of a file that are mapped.
struct Segments(Vec<Segment>);

struct Segment {
    offset: u64,
    size: u64,
    address: u64,
    is_code: bool,
}

struct Function {
    address: u64,
    size: u64,
    /// Where in the file the name is.
    name: u64,
}

/// How many functions of a file are known at most.
const MAX_FUNCTIONS: usize = 1 << 21;
/// Bytes of a name that are read.
const NAME: usize = 4096;
/// Bytes that are read of a section of rules. The section of the VM's library has two megabytes.
const MAX_RULES_READ: u64 = 32 << 20;
const PAGE: u64 = 4096;

impl Functions {
    /// The functions of a file.
    ///
    /// # Errors
    /// It cannot be read, or is no ELF file of this kind of machine.
    pub(super) fn of_file(path: &str) -> io::Result<Self> {
        let file = Bounded::of(open(path)?);
        let (segments, functions) = read(&file).map_err(io::Error::other)?;
        Ok(Self {
            file: file.into_file(),
            segments,
            functions,
        })
    }

    /// The symbol of the function that has the byte at this place of the file.
    pub(super) fn name(&self, offset: u64) -> Option<Vec<u8>> {
        let address = self.segments.address(offset)?;
        let function = Function::of(&self.functions, address)?;
        let mut name = vec![0; NAME];
        let read = self.file.read_at(&mut name, function.name).ok()?;
        name.truncate(read);
        let end = name.iter().position(|&byte| byte == 0)?;
        name.truncate(end);
        (!name.is_empty()).then_some(name)
    }
}

impl Unwinding {
    /// The rules of a file, `most` at most.
    ///
    /// # Errors
    /// It cannot be read, or is no ELF file of this kind of machine with a section of them.
    pub(super) fn of_file(path: &str, most: usize) -> io::Result<Self> {
        Self::read(&Bounded::of(open(path)?), most)
    }

    /// The rules of a file in memory.
    ///
    /// # Errors
    /// As for [`Self::of_file`].
    pub(super) fn of_image(bytes: &[u8], most: usize) -> io::Result<Self> {
        Self::read(bytes, most)
    }

    fn read<'a>(data: impl ReadRef<'a>, most: usize) -> io::Result<Self> {
        let (segments, bytes, address) = rule_section(data).map_err(io::Error::other)?;
        let code: Vec<Range<u64>> = segments.code().collect();
        let section = Section {
            bytes: bytes.ok_or(io::ErrorKind::InvalidData)?,
            address,
            code: &code,
        };
        let (rules, is_cut) = eh_frame::rules(&section, most);
        Ok(Self {
            segments,
            rules: Arc::new(rules),
            is_cut,
        })
    }

    /// The address that the file gives the first byte of a mapping with code, by the place of that byte in the file.
    pub(super) fn code_address(&self, offset: u64) -> Option<u64> {
        self.segments.code_address(offset)
    }
}

impl Segments {
    fn read<'a>(header: &FileHeader64<LittleEndian>, data: impl ReadRef<'a>) -> Result<Self> {
        let endian = header.endian()?;
        let all = header.program_headers(endian, data)?.iter();
        let mapped = all.filter(|segment| segment.p_type(endian) == PT_LOAD);
        let segments = mapped.map(|segment| Segment {
            offset: segment.p_offset(endian),
            size: segment.p_filesz(endian),
            address: segment.p_vaddr(endian),
            is_code: segment.p_flags(endian).contains(PF_X),
        });
        Ok(Self(segments.collect()))
    }

    fn address(&self, offset: u64) -> Option<u64> {
        self.0.iter().find_map(|segment| {
            let inside = offset.checked_sub(segment.offset)?;
            (inside < segment.size).then(|| segment.address.checked_add(inside))?
        })
    }

    /// Mappings begin with a page, of which the first bytes may be another segment's.
    fn code_address(&self, offset: u64) -> Option<u64> {
        let mut code = self.0.iter().filter(|segment| segment.is_code);
        code.find_map(|segment| {
            let page = segment.offset - segment.offset % PAGE;
            let end = segment.offset.checked_add(segment.size)?;
            let before = segment.offset.checked_sub(offset);
            match before.filter(|_| offset >= page) {
                Some(before) => segment.address.checked_sub(before),
                None => {
                    let inside = offset.checked_sub(segment.offset)?;
                    (offset < end).then(|| segment.address.checked_add(inside))?
                }
            }
        })
    }

    fn code(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let code = self.0.iter().filter(|segment| segment.is_code);
        code.map(|segment| segment.address..segment.address.saturating_add(segment.size))
    }
}

/// The section of a file's rules and its address; no bytes where there is none of a size that can be read.
fn rule_section<'a>(data: impl ReadRef<'a>) -> Result<(Segments, Option<&'a [u8]>, u64)> {
    let header = FileHeader64::<LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let segments = Segments::read(header, data)?;
    let sections = header.sections(endian, data)?;
    let section = sections.section_by_name(endian, b".eh_frame");
    let section = section.filter(|(_, section)| section.sh_size(endian) <= MAX_RULES_READ);
    let bytes = section.map(|(_, section)| section.data(endian, data));
    let address = section.map_or(0, |(_, section)| section.sh_addr(endian));
    Ok((segments, bytes.transpose()?, address))
}

impl Function {
    /// The function that has an address, in a list in order.
    fn of(functions: &[Self], address: u64) -> Option<&Self> {
        let after = functions.partition_point(|function| function.address <= address);
        let function = functions.get(after.checked_sub(1)?)?;
        // Without a size the end of the function is unknown.
        (address - function.address < function.size).then_some(function)
    }
}

fn read<'a>(data: impl ReadRef<'a>) -> Result<(Segments, Vec<Function>)> {
    let header = FileHeader64::<LittleEndian>::parse(data)?;
    let endian = header.endian()?;
    let segments = Segments::read(header, data)?;
    let sections = header.sections(endian, data)?;
    let mut functions = Vec::new();
    // A file that has the first has all functions there.
    for kind in [SHT_SYMTAB, SHT_DYNSYM] {
        let symbols = sections.symbols(endian, data, kind)?;
        if symbols.is_empty() {
            continue;
        }
        let names = sections.section(symbols.string_section())?;
        let names = names.sh_offset(endian);
        let all = symbols.iter().filter(|symbol| {
            matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC) && symbol.st_size(endian) > 0
        });
        functions = all
            .take(MAX_FUNCTIONS)
            .map(|symbol| Function {
                address: symbol.st_value(endian),
                size: symbol.st_size(endian),
                name: names.saturating_add(u64::from(symbol.st_name(endian))),
            })
            .collect();
        break;
    }
    functions.sort_by_key(|function| function.address);
    functions.dedup_by_key(|function| function.address);
    Ok((segments, functions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_between_functions_has_none() {
        let function = |address, size| Function {
            address,
            size,
            name: 0,
        };
        let functions = [function(0x10, 0x10), function(0x40, 8)];
        let at = |address| Function::of(&functions, address).map(|it| it.address);
        for address in [0, 0xf, 0x20, 0x3f, 0x48, u64::MAX] {
            assert_eq!(at(address), None, "{address:x}");
        }
        assert_eq!((at(0x10), at(0x1f)), (Some(0x10), Some(0x10)));
        assert_eq!(at(0x47), Some(0x40));
    }

    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn what_is_no_file_of_functions_is_refused() {
        for path in ["/proc/self/maps", "/", "/nowhere", "[vdso]"] {
            assert!(Functions::of_file(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_mapping_begins_with_a_page_of_its_segment() {
        let segment = |offset, size, address, is_code| Segment {
            offset,
            size,
            address,
            is_code,
        };
        let segments = Segments(vec![
            segment(0, 0x1540, 0, false),
            segment(0x1540, 0x2000, 0x2540, true),
            segment(0x3540, 0x100, 0x5540, false),
        ]);
        let cases = [
            (0, None),
            (0x1000, Some(0x2000)),
            (0x1540, Some(0x2540)),
            (0x2000, Some(0x3000)),
            (0x353f, Some(0x453f)),
            (0x3540, None),
            (u64::MAX, None),
        ];
        for (offset, address) in cases {
            assert_eq!(segments.code_address(offset), address, "{offset:x}");
        }
        assert_eq!(segments.address(0x1540), Some(0x2540));
        assert_eq!(segments.address(0x153f), Some(0x153f));
    }

    #[test]
    #[cfg_attr(miri, ignore = "makes a FIFO")]
    fn a_fifo_has_nobody_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libmade.so");
        let path = path.to_str().unwrap();
        let name = std::ffi::CString::new(path).unwrap();
        // SAFETY: the name ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        // Without a writer this would never return.
        let refused = Functions::of_file(path).err().map(|error| error.kind());
        assert_eq!(refused, Some(io::ErrorKind::InvalidInput));
    }
}
