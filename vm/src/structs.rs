//! HotSpot's description of its own data: the tables that `libjvm` exports for
//! the Serviceability Agent (`vmStructs.hpp`). Offsets found here hold for the
//! very VM that runs, whatever its version or build.

use std::ffi::{CStr, c_char, c_void};

use super::VmLibrary;

/// Where a field of a VM type is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldLocation {
    /// Bytes from the start of the object.
    Offset(usize),
    /// The address of a static field.
    Static(usize),
}

/// The tables of field locations and type sizes.
#[derive(Clone, Copy)]
pub struct VmStructs {
    library: VmLibrary,
}

impl VmStructs {
    /// The tables of the VM in `library`; `None` when it is not HotSpot.
    pub fn of(library: VmLibrary) -> Option<Self> {
        library.symbol(c"gHotSpotVMStructs")?;
        library.symbol(c"gHotSpotVMTypes")?;
        Some(Self { library })
    }

    /// Finds a field by the first of several `(type, field)` names that this
    /// version of the VM uses.
    pub fn field(self, names: &[(&CStr, &CStr)]) -> Option<FieldLocation> {
        let entries = self.word(c"gHotSpotVMStructs")?;
        let stride = self.word(c"gHotSpotVMStructEntryArrayStride")?;
        let type_name_at = self.word(c"gHotSpotVMStructEntryTypeNameOffset")?;
        let field_name_at = self.word(c"gHotSpotVMStructEntryFieldNameOffset")?;
        let is_static_at = self.word(c"gHotSpotVMStructEntryIsStaticOffset")?;
        let offset_at = self.word(c"gHotSpotVMStructEntryOffsetOffset")?;
        let address_at = self.word(c"gHotSpotVMStructEntryAddressOffset")?;
        let mut entry = entries;
        loop {
            // SAFETY: the table is an array with this stride, ended by an entry
            // whose type name is null (vmStructs.hpp).
            let type_name = unsafe { read_name(entry + type_name_at) }?;
            // SAFETY: as above; every entry but the last has a field name.
            let field_name = unsafe { read_name(entry + field_name_at) };
            if names
                .iter()
                .any(|(t, f)| *t == type_name && Some(*f) == field_name)
            {
                // SAFETY: as above; the entry's members lie where the VM says.
                return Some(unsafe {
                    if *((entry + is_static_at) as *const i32) != 0 {
                        FieldLocation::Static(*((entry + address_at) as *const usize))
                    } else {
                        FieldLocation::Offset(*((entry + offset_at) as *const u64) as usize)
                    }
                });
            }
            entry += stride;
        }
    }

    /// The offset of a field in its object.
    pub fn offset(self, names: &[(&CStr, &CStr)]) -> Option<usize> {
        match self.field(names)? {
            FieldLocation::Offset(offset) => Some(offset),
            FieldLocation::Static(_) => None,
        }
    }

    /// The address of a static field.
    pub fn address(self, type_name: &CStr, field: &CStr) -> Option<usize> {
        match self.field(&[(type_name, field)])? {
            FieldLocation::Static(address) => Some(address),
            FieldLocation::Offset(_) => None,
        }
    }

    /// The size of a VM type in bytes.
    pub fn type_size(self, name: &CStr) -> Option<usize> {
        let size_at = self.word(c"gHotSpotVMTypeEntrySizeOffset")?;
        let entry = self.named_entry(
            c"gHotSpotVMTypes",
            c"gHotSpotVMTypeEntryArrayStride",
            c"gHotSpotVMTypeEntryTypeNameOffset",
            name,
        )?;
        // SAFETY: the size member lies where the VM says.
        Some(unsafe { *((entry + size_at) as *const u64) } as usize)
    }

    /// The value of a constant of the VM.
    pub fn int_constant(self, name: &CStr) -> Option<i32> {
        let value_at = self.word(c"gHotSpotVMIntConstantEntryValueOffset")?;
        let entry = self.named_entry(
            c"gHotSpotVMIntConstants",
            c"gHotSpotVMIntConstantEntryArrayStride",
            c"gHotSpotVMIntConstantEntryNameOffset",
            name,
        )?;
        // SAFETY: the value lies where the VM says.
        Some(unsafe { *((entry + value_at) as *const i32) })
    }

    /// The address of the entry `name` in one of the VM's tables, which the symbols `table`, `stride` and
    /// `name_at` describe.
    fn named_entry(
        self,
        table: &CStr,
        stride: &CStr,
        name_at: &CStr,
        name: &CStr,
    ) -> Option<usize> {
        let (stride, name_at) = (self.word(stride)?, self.word(name_at)?);
        let mut entry = self.word(table)?;
        loop {
            // SAFETY: the tables are arrays with their strides, ended by an entry whose name is null.
            if unsafe { read_name(entry + name_at) }? == name {
                return Some(entry);
            }
            entry += stride;
        }
    }

    /// The address of the VM flag `name`, when it still has its default value;
    /// `None` when the user has set it or there is no such flag.
    pub fn default_flag(self, name: &CStr) -> Option<usize> {
        let (address, origin) = self.flag(name)?;
        (origin == 0).then_some(address)
    }

    /// Whether the VM has a flag `name`, and not with its default value.
    pub fn is_flag_set(self, name: &CStr) -> bool {
        self.flag(name).is_some_and(|(_, origin)| origin != 0)
    }

    /// The value of the VM flag `name`.
    ///
    /// # Safety
    /// The flag is of type `bool`, if there is one.
    unsafe fn bool_flag(self, name: &CStr) -> Option<bool> {
        let (address, _) = self.flag(name)?;
        // SAFETY: the VM's own table says that the flag lies there; it is of type bool, a byte, by the
        // caller's promise.
        Some(unsafe { *(address as *const u8) } != 0)
    }

    /// Whether threads have allocation buffers of their own; `None` when the VM does not tell.
    pub fn has_allocation_buffers(self) -> Option<bool> {
        // SAFETY: a bool in globals.hpp.
        unsafe { self.bool_flag(c"UseTLAB") }
    }

    /// Whether the collector moves objects while the program runs: ZGC and Shenandoah.
    pub fn moves_objects_concurrently(self) -> bool {
        [c"UseZGC", c"UseShenandoahGC"].iter().any(|flag| {
            // SAFETY: bools in gc_globals.hpp.
            unsafe { self.bool_flag(flag) == Some(true) }
        })
    }

    /// Whether the VM records or makes an AOT cache in this run (JEP 483, JEP 514).
    pub fn makes_aot_cache(self) -> bool {
        // SAFETY: a ccstr in cds_globals.hpp.
        let mode = unsafe { self.text_flag(c"AOTMode") };
        self.is_flag_set(c"AOTCacheOutput")
            || mode.is_some_and(|mode| mode == c"record" || mode == c"create")
    }

    /// The value of the VM flag `name`, if it has one.
    ///
    /// # Safety
    /// The flag is of type `ccstr`, if there is one.
    unsafe fn text_flag(self, name: &CStr) -> Option<&'static CStr> {
        let (address, _) = self.flag(name)?;
        // SAFETY: the VM's own table says that the flag lies there; it is a ccstr by the caller's
        // promise, and the VM frees no value of a flag that was set on the command line.
        unsafe { read_name(address) }
    }

    /// Address and origin (JVMFlagOrigin, 0 is the default) of a VM flag.
    fn flag(self, name: &CStr) -> Option<(usize, i32)> {
        // A flag was called `Flag` before JDK 11 and `JVMFlag` since.
        let flag = c"JVMFlag";
        let size = self.type_size(flag)?;
        // SAFETY: the static fields hold what their declarations in
        // vmStructs.cpp say: a pointer to the array, and its length.
        let (flags, count) = unsafe {
            (
                *(self.address(flag, c"flags")? as *const usize),
                *(self.address(flag, c"numFlags")? as *const usize),
            )
        };
        let name_at = self.offset(&[(flag, c"_name")])?;
        let address_at = self.offset(&[(flag, c"_addr")])?;
        let bits_at = self.offset(&[(flag, c"_flags")])?;
        // The last entry is an end mark.
        for index in 0..count.saturating_sub(1) {
            let entry = flags + index * size;
            // SAFETY: `index` is below the length of the array.
            let Some(flag_name) = (unsafe { read_name(entry + name_at) }) else {
                break;
            };
            if flag_name == name {
                // SAFETY: as above. The low four bits are the origin.
                let (address, bits) = unsafe {
                    (
                        *((entry + address_at) as *const usize),
                        *((entry + bits_at) as *const i32),
                    )
                };
                return (address != 0).then_some((address, bits & 0xf));
            }
        }
        None
    }

    fn word(self, name: &CStr) -> Option<usize> {
        let address = self.library.symbol(name)?;
        // SAFETY: each of these symbols is an exported word (vmStructs.hpp).
        Some(unsafe { *address.cast::<usize>() })
    }
}

/// Reads a pointer to a C string at `address`.
///
/// # Safety
/// `address` holds null or a pointer to a NUL-terminated string that lives for ever.
unsafe fn read_name(address: usize) -> Option<&'static CStr> {
    // SAFETY: by the caller's promise.
    let name = unsafe { *(address as *const *const c_char) };
    if name.cast::<c_void>().is_null() {
        return None;
    }
    // SAFETY: by the caller's promise.
    Some(unsafe { CStr::from_ptr(name) })
}
