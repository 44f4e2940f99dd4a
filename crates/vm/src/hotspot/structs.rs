//! HotSpot's description of its own data: the tables that `libjvm` exports for
//! the Serviceability Agent (`vmStructs.hpp`). Offsets found here hold for the
//! very VM that runs, whatever its version or build.

use std::ffi::{CStr, c_char, c_void};

use super::releases::layout::{
    AGENT_ARGUMENTS, BoolFlag, Constant, FLAG_ORIGIN, Field, MAX_ARGUMENTS, TextFlag, Type,
    WordFlag,
};
use crate::{Fault, VmLibrary};

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
        if Fault::NoExports.is_wanted() {
            return None;
        }
        library.symbol(c"gHotSpotVMStructs")?;
        library.symbol(c"gHotSpotVMTypes")?;
        Some(Self { library })
    }

    /// Finds a field, under the first of its names that this VM has.
    pub fn field(self, field: Field) -> Option<FieldLocation> {
        let entry = self.field_entry(field)?;
        let is_static_at = self.word(c"gHotSpotVMStructEntryIsStaticOffset")?;
        let offset_at = self.word(c"gHotSpotVMStructEntryOffsetOffset")?;
        let address_at = self.word(c"gHotSpotVMStructEntryAddressOffset")?;
        // SAFETY: an entry of the table, whose members lie where the VM says.
        Some(unsafe {
            if *((entry + is_static_at) as *const i32) != 0 {
                FieldLocation::Static(*((entry + address_at) as *const usize))
            } else {
                FieldLocation::Offset(*((entry + offset_at) as *const u64) as usize)
            }
        })
    }

    /// The type of a field as the VM declares it.
    pub(crate) fn declared_type(self, field: Field) -> Option<&'static CStr> {
        let entry = self.field_entry(field)?;
        let type_at = self.word(c"gHotSpotVMStructEntryTypeStringOffset")?;
        // SAFETY: an entry of the table, whose members lie where the VM says.
        unsafe { read_name(entry + type_at) }
    }

    /// The address of a field's entry, under the first of its names that this VM has.
    fn field_entry(self, field: Field) -> Option<usize> {
        let names = field.name();
        let entries = self.word(c"gHotSpotVMStructs")?;
        let stride = self.word(c"gHotSpotVMStructEntryArrayStride")?;
        let type_name_at = self.word(c"gHotSpotVMStructEntryTypeNameOffset")?;
        let field_name_at = self.word(c"gHotSpotVMStructEntryFieldNameOffset")?;
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
                return Some(entry);
            }
            entry += stride;
        }
    }

    /// The offset of a field in its object.
    pub fn offset(self, field: Field) -> Option<usize> {
        match self.field(field)? {
            FieldLocation::Offset(offset) => Some(offset),
            FieldLocation::Static(_) => None,
        }
    }

    /// The address of a static field.
    pub fn address(self, field: Field) -> Option<usize> {
        match self.field(field)? {
            FieldLocation::Static(address) => Some(address),
            FieldLocation::Offset(_) => None,
        }
    }

    /// The size of a VM type in bytes.
    pub fn type_size(self, of: Type) -> Option<usize> {
        let size_at = self.word(c"gHotSpotVMTypeEntrySizeOffset")?;
        let entry = of.name().iter().find_map(|name| {
            self.named_entry(
                c"gHotSpotVMTypes",
                c"gHotSpotVMTypeEntryArrayStride",
                c"gHotSpotVMTypeEntryTypeNameOffset",
                name,
            )
        })?;
        // SAFETY: the size member lies where the VM says.
        Some(unsafe { *((entry + size_at) as *const u64) } as usize)
    }

    /// The value of a constant of the VM.
    pub(crate) fn int_constant(self, constant: Constant) -> Option<i32> {
        let value_at = self.word(c"gHotSpotVMIntConstantEntryValueOffset")?;
        let entry = self.named_entry(
            c"gHotSpotVMIntConstants",
            c"gHotSpotVMIntConstantEntryArrayStride",
            c"gHotSpotVMIntConstantEntryNameOffset",
            constant.name(),
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

    /// Returns whether the VM lists its flags.
    pub fn lists_flags(self) -> bool {
        self.type_size(Type::Flag).is_some()
    }

    /// The address of a flag, a byte, when it still has its default value; `None` when the user has set
    /// it or there is no such flag.
    pub fn default_bool_flag(self, flag: BoolFlag) -> Option<*mut u8> {
        let (address, origin) = self.flag(flag.name())?;
        (origin == 0).then_some(address as *mut u8)
    }

    /// The address of a flag, a word, when it still has its default value; `None` when the user has set
    /// it or there is no such flag.
    pub fn default_word_flag(self, flag: WordFlag) -> Option<*mut usize> {
        let (address, origin) = self.flag(flag.name())?;
        (origin == 0).then_some(address as *mut usize)
    }

    /// The value of a flag; `None` when there is no such flag.
    pub fn bool_flag(self, flag: BoolFlag) -> Option<bool> {
        let (address, _) = self.flag(flag.name())?;
        // SAFETY: the VM's own table says that the flag lies there; it is of type bool, a byte.
        Some(unsafe { *(address as *const u8) } != 0)
    }

    /// Returns whether the VM has a flag, and not with its default value.
    pub fn is_set(self, flag: TextFlag) -> bool {
        self.flag(flag.name())
            .is_some_and(|(_, origin)| origin != 0)
    }

    /// The value of a flag, if it has one.
    fn text_flag(self, flag: TextFlag) -> Option<&'static CStr> {
        let (address, _) = self.flag(flag.name())?;
        // SAFETY: the VM's own table says that the flag lies there; it is of type ccstr, and the VM frees
        // no value of a flag that was set on the command line.
        unsafe { read_name(address) }
    }

    /// How many agents the VM was started with; `None` where the VM does not list its arguments.
    pub fn agents_at_start(self) -> Option<usize> {
        let loads_agent = |argument: &CStr| {
            let starts = |start: &CStr| argument.to_bytes().starts_with(start.to_bytes());
            AGENT_ARGUMENTS.iter().any(|start| starts(start))
        };
        let arguments = self.arguments()?;
        Some(arguments.filter(|argument| loads_agent(argument)).count())
    }

    /// The VM's arguments, those of environment variables first; `None` where the VM does not list them.
    fn arguments(self) -> Option<impl DoubleEndedIterator<Item = &'static CStr>> {
        let count = self.address(Field::VmArgumentCount)?;
        let array = self.address(Field::VmArguments)?;
        // SAFETY: the static fields hold what their declarations in vmStructs.cpp say: an int, and an
        // array of that many texts, which the VM makes before it loads agents and keeps.
        let (count, array) = unsafe { (*(count as *const i32), *(array as *const usize)) };
        if array == 0 || !(0..MAX_ARGUMENTS).contains(&count) {
            return None;
        }
        let places = (0..count as usize).map(move |nth| array + nth * size_of::<usize>());
        // SAFETY: `places` are those of the array.
        Some(places.filter_map(|place| unsafe { read_name(place) }))
    }

    /// Returns whether the collector moves objects while the program runs: ZGC and Shenandoah.
    pub fn moves_objects_concurrently(self) -> bool {
        [BoolFlag::UseZgc, BoolFlag::UseShenandoah]
            .iter()
            .any(|&flag| self.bool_flag(flag) == Some(true))
    }

    /// Returns whether the VM ends, in one way or another, at the first `OutOfMemoryError`.
    pub fn ends_at_out_of_memory(self) -> bool {
        [BoolFlag::ExitOnOutOfMemory, BoolFlag::CrashOnOutOfMemory]
            .iter()
            .any(|&flag| self.bool_flag(flag) == Some(true))
    }

    /// The option with which the VM ends where it cannot map its class data: an AOT cache (JEP 483), or a class data
    /// archive.
    pub fn insists_on_class_data(self) -> Option<&'static str> {
        let mode = self.text_flag(TextFlag::AotMode);
        if mode.is_some_and(|mode| mode == c"on") {
            return Some("-XX:AOTMode=on");
        }
        let is_choice = |argument: &&CStr| argument.to_bytes().starts_with(b"-Xshare:");
        let choice = self.arguments()?.rfind(is_choice);
        (choice? == c"-Xshare:on").then_some("-Xshare:on")
    }

    /// Returns whether the program's code takes memory for objects from the heap itself, without the VM, where threads
    /// have no allocation buffers: with collectors other than G1, ZGC and Shenandoah, before JDK 17.
    pub fn allocates_without_buffers(self) -> bool {
        self.bool_flag(BoolFlag::UseTlab) == Some(false)
            && self.bool_flag(BoolFlag::UseG1) == Some(false)
            && !self.moves_objects_concurrently()
    }

    /// Returns whether the VM records or makes an AOT cache in this run (JEP 483, JEP 514).
    pub fn makes_aot_cache(self) -> bool {
        self.is_set(TextFlag::AotCacheOutput)
            || self
                .text_flag(TextFlag::AotMode)
                .is_some_and(|mode| mode == c"record" || mode == c"create")
    }

    /// Address and origin (JVMFlagOrigin, 0 is the default) of a VM flag.
    fn flag(self, name: &CStr) -> Option<(usize, i32)> {
        let size = self.type_size(Type::Flag)?;
        // SAFETY: the static fields hold what their declarations in
        // vmStructs.cpp say: a pointer to the array, and its length.
        let (flags, count) = unsafe {
            (
                *(self.address(Field::Flags)? as *const usize),
                *(self.address(Field::FlagCount)? as *const usize),
            )
        };
        let name_at = self.offset(Field::FlagName)?;
        let address_at = self.offset(Field::FlagAddress)?;
        let bits_at = self.offset(Field::FlagBits)?;
        // The last entry is an end mark.
        for index in 0..count.saturating_sub(1) {
            let entry = flags + index * size;
            // SAFETY: `index` is below the length of the array.
            let Some(flag_name) = (unsafe { read_name(entry + name_at) }) else {
                break;
            };
            if flag_name == name {
                // SAFETY: as above.
                let (address, bits) = unsafe {
                    (
                        *((entry + address_at) as *const usize),
                        *((entry + bits_at) as *const i32),
                    )
                };
                return (address != 0).then_some((address, bits & FLAG_ORIGIN));
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
