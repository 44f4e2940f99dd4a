//! The kinds of damage in a file.

use thiserror::Error;

/// The length of a record's head, which is lost with its body.
const HEAD: u64 = super::file::RECORD_HEAD as u64;

/// Why a file cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// The file does not begin like HPROF.
    #[error("not an HPROF file: it does not begin with `JAVA PROFILE`")]
    NotHprof,
    /// The file is compressed.
    #[error("the file is compressed with gzip: decompress it first")]
    Gzip,
    /// The file is a text profile.
    #[error("the file is an HPROF profile in text format (format=a), not in binary format")]
    Text,
    /// The file ends within its header.
    #[error("the file ends within the HPROF header")]
    TooShort,
    /// A version of the format that is not known.
    #[error("unknown HPROF version `{0}`: 1.0.1, 1.0.2 and 1.0.3 are known")]
    Version(String),
    /// Identifiers of a width that is neither 4 nor 8.
    #[error("identifiers of {0} byte{s}: only 4 and 8 bytes are possible", s = if *.0 == 1 { "" } else { "s" })]
    IdSize(u32),
}

/// A damaged place in a file. Reading continues after it as far as possible.
///
/// All offsets and lengths are in bytes; offsets count from the start of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Damage {
    /// The file ends within the head of a record.
    #[error(
        "at byte {offset}: the file ends within the head of a record, after {found} of 9 bytes"
    )]
    RecordHead {
        /// Where the record starts.
        offset: u64,
        /// The bytes that are there.
        found: u64,
    },
    /// The file ends within the body of a record.
    #[error(
        "at byte {offset}: the file ends within a record (tag {tag:#04x}): \
         its body has {expected} bytes, {found} are there"
    )]
    RecordBody {
        /// Where the record starts.
        offset: u64,
        /// Its tag.
        tag: u8,
        /// The length the record states.
        expected: u64,
        /// The bytes that are there.
        found: u64,
    },
    /// A record's fields do not fit its length. The record is skipped.
    #[error(
        "at byte {offset}: a record (tag {tag:#04x}) of {length} bytes is too short for its fields"
    )]
    ShortRecord {
        /// Where the record starts.
        offset: u64,
        /// Its tag.
        tag: u8,
        /// The length the record states.
        length: u64,
    },
    /// A record head of zero bytes, as a crash leaves them.
    #[error("at byte {offset}: zero bytes instead of a record, {lost} bytes skipped")]
    ZeroFill {
        /// Where they start.
        offset: u64,
        /// The bytes from there to the next sound record, or to the end.
        lost: u64,
    },
    /// The bytes in the place of a record are none, or state an impossible length.
    #[error(
        "at byte {offset}: no record begins like this (tag {tag:#04x}, {length} bytes), \
         {lost} bytes skipped"
    )]
    NoRecord {
        /// Where it stands.
        offset: u64,
        /// The byte where the tag should be.
        tag: u8,
        /// The number where the length should be.
        length: u64,
        /// The bytes from there to the next sound record, or to the end.
        lost: u64,
    },
    /// A sub-record of unknown kind. As sub-records have no length, all up to a place where sound
    /// ones seem to begin is skipped, or the rest of the segment.
    #[error("at byte {offset}: unknown sub-record (tag {tag:#04x}), {lost} bytes skipped")]
    SubRecordTag {
        /// Where the sub-record starts.
        offset: u64,
        /// Its tag.
        tag: u8,
        /// The bytes skipped.
        lost: u64,
    },
    /// A sub-record with a type code that means nothing; likewise.
    #[error("at byte {offset}: unknown type {code} in a sub-record, {lost} bytes skipped")]
    Type {
        /// Where the sub-record starts.
        offset: u64,
        /// The code.
        code: u8,
        /// The bytes skipped.
        lost: u64,
    },
    /// A sub-record reaches beyond the end of its segment, or of the file.
    #[error(
        "at byte {offset}: a sub-record (tag {tag:#04x}) needs at least {expected} bytes, \
         more than are there; {lost} bytes skipped"
    )]
    SubRecordBody {
        /// Where the sub-record starts.
        offset: u64,
        /// Its tag.
        tag: u8,
        /// The length it needs, as far as that is known.
        expected: u64,
        /// The bytes skipped.
        lost: u64,
    },
    /// The file ends between two sub-records, before the end of their segment.
    #[error("at byte {offset}: the file ends {missing} bytes before the end of the segment")]
    SegmentCut {
        /// The end of the file.
        offset: u64,
        /// The bytes that the segment lacks.
        missing: u64,
    },
}

impl Damage {
    /// True if the file ends here, before the end of the record or segment that it began.
    pub fn is_cut(&self) -> bool {
        matches!(
            self,
            Self::RecordHead { .. } | Self::RecordBody { .. } | Self::SegmentCut { .. }
        )
    }

    /// Where the damage is.
    pub fn offset(&self) -> u64 {
        match *self {
            Self::RecordHead { offset, .. }
            | Self::RecordBody { offset, .. }
            | Self::ShortRecord { offset, .. }
            | Self::ZeroFill { offset, .. }
            | Self::NoRecord { offset, .. }
            | Self::SubRecordTag { offset, .. }
            | Self::Type { offset, .. }
            | Self::SubRecordBody { offset, .. }
            | Self::SegmentCut { offset, .. } => offset,
        }
    }

    /// The bytes of the file that were not read because of the damage.
    pub fn lost(&self) -> u64 {
        match *self {
            Self::RecordHead { found, .. } => found,
            Self::RecordBody { found, .. } => HEAD + found,
            Self::ShortRecord { length, .. } => HEAD + length,
            Self::ZeroFill { lost, .. }
            | Self::NoRecord { lost, .. }
            | Self::SubRecordBody { lost, .. }
            | Self::SubRecordTag { lost, .. }
            | Self::Type { lost, .. } => lost,
            Self::SegmentCut { .. } => 0,
        }
    }
}
