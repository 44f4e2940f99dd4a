//! One newtype per kind of serial number and identifier.
//!
//! HPROF knows *serials*, 32 bits wide and printed in decimal, and
//! *identifiers*, 4 or 8 bytes wide in the binary format and printed in
//! lower-case hexadecimal. Each kind is a name space of its own: the same
//! number may mean a string in one field and an object in another. A file
//! written here starts each kind at a base of its own, as the JDK's agent did,
//! so that a mixed-up field shows at first sight.

use std::fmt;

macro_rules! serial {
    ($(#[$doc:meta])* $name:ident, base $base:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The lowest number this crate's writers and the JDK's agent use.
            /// Files of other producers start elsewhere, often at 1.
            pub const BASE: u32 = $base;

            /// Wraps a raw serial number.
            pub const fn new(raw: u32) -> Self {
                Self(raw)
            }

            /// The raw serial number.
            pub const fn get(self) -> u32 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

macro_rules! identifier {
    ($(#[$doc:meta])* $name:ident, base $base:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The first identifier of this kind in a file of this crate's
            /// writers and of the JDK's agent. Other producers use addresses.
            pub const BASE: u64 = $base;

            /// The identifier for "none".
            pub const NULL: Self = Self(0);

            /// Wraps a raw identifier.
            pub const fn new(raw: u64) -> Self {
                Self(raw)
            }

            /// The raw identifier.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// True for identifier 0, which means "none" in every kind
            /// except frames of Android files.
            pub const fn is_null(self) -> bool {
                self.0 == 0
            }
        }

        impl fmt::LowerHex for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::LowerHex::fmt(&self.0, f)
            }
        }
    };
}

serial! {
    /// Serial number of a thread. [`ThreadSerial::BASE`] itself means "unknown
    /// thread"; real threads follow from 200001, the first being the thread that
    /// initialised the VM. 0 means "no thread" in binary records.
    ThreadSerial, base 200_000
}

serial! {
    /// Serial number of a trace. [`TraceSerial::BASE`] itself is the system trace,
    /// [`TraceSerial::SYSTEM`].
    TraceSerial, base 300_000
}

serial! {
    /// Serial number of a loaded class in the binary format.
    ClassSerial, base 100_000
}

identifier! {
    /// Identifier of a string (`UTF8` record) in the binary format.
    StringId, base 0xa000_0001
}

identifier! {
    /// Identifier of a frame in the binary format. Android files use 0 for a real frame.
    FrameId, base 0x7000_0001
}

identifier! {
    /// Identifier of an object, array or class in either format.
    ObjectId, base 0x5000_0001
}

impl StringId {
    /// The identifier of the first string that fills room in a file. The next ones have those before it.
    pub(crate) const FILLER: u64 = 0xb000_0000;
    /// The first identifier of the strings that no record refers to.
    pub(crate) const MARKS: u64 = 0xb000_0001;
}

impl ObjectId {
    /// True for an identifier that this crate's users make up for what no heap dump has named. Objects of a VM lie at multiples
    /// of eight.
    pub const fn is_made_up(self) -> bool {
        !self.0.is_multiple_of(8)
    }
}

impl ThreadSerial {
    /// Stands for a thread the profiler could not name.
    pub const UNKNOWN: Self = Self(Self::BASE);
}

impl TraceSerial {
    /// The trace without frames, to which everything of unknown origin refers.
    pub const SYSTEM: Self = Self(Self::BASE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serials_print_decimal_and_identifiers_hexadecimal() {
        assert_eq!(TraceSerial::SYSTEM.to_string(), "300000");
        assert_eq!(ThreadSerial::new(200_001).to_string(), "200001");
        assert_eq!(format!("{:x}", ObjectId::new(ObjectId::BASE)), "50000001");
    }

    #[test]
    fn only_zero_is_null() {
        assert!(StringId::NULL.is_null());
        assert!(!StringId::new(u64::MAX).is_null());
        assert_eq!(FrameId::new(u64::MAX).get(), u64::MAX);
    }
}
