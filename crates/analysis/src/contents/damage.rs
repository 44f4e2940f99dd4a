//! The damage of a file.

use hprof_format::reader::Damage;
use serde::{Deserialize, Serialize};

/// The entries that are kept in full; files of random bytes would have millions.
const KEPT: usize = 1000;

/// One damaged place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamageEntry {
    /// Where, in bytes from the start of the uncompressed file, if that is known.
    pub offset: Option<u64>,
    /// The bytes that were not read because of it.
    pub lost_bytes: u64,
    /// The damage, as a sentence without a full stop.
    pub message: String,
    /// True if the file ends there, before the end of what it began.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// All damaged places.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamageLog {
    /// Their number.
    pub count: u64,
    /// The bytes that were not read, in all.
    pub lost_bytes: u64,
    /// The first of them, in the order of the file.
    pub entries: Vec<DamageEntry>,
}

impl DamageLog {
    /// Adds what a reader reports.
    pub fn add(&mut self, damage: Damage) {
        self.push(DamageEntry {
            offset: Some(damage.offset()),
            lost_bytes: damage.lost(),
            message: damage.to_string(),
            is_cut: damage.is_cut(),
        });
    }

    /// Adds a record of unknown kind.
    pub(super) fn unknown_record(&mut self, offset: u64, tag: u8, body: &[u8]) {
        let length = body.len();
        let message = format!(
            "at byte {offset}: a record of unknown kind (tag {tag:#04x}), {length} bytes skipped"
        );
        self.push(DamageEntry {
            offset: Some(offset),
            lost_bytes: length as u64,
            message,
            is_cut: false,
        });
    }

    /// Adds a remark without a place.
    pub fn note(&mut self, message: String) {
        self.push(DamageEntry {
            offset: None,
            lost_bytes: 0,
            message,
            is_cut: false,
        });
    }

    /// Adds a remark that explains the damage that was found before.
    pub fn note_first(&mut self, message: String) {
        let mut all = Self::default();
        all.note(message);
        all.merge(std::mem::take(self));
        *self = all;
    }

    pub(super) fn push(&mut self, entry: DamageEntry) {
        self.count += 1;
        self.lost_bytes = self.lost_bytes.saturating_add(entry.lost_bytes);
        if self.entries.len() < KEPT {
            self.entries.push(entry);
        }
    }

    /// Adds another log.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.lost_bytes = self.lost_bytes.saturating_add(other.lost_bytes);
        self.entries.extend(other.entries);
    }

    /// Puts the entries into the order of the file.
    pub fn sort(&mut self) {
        self.entries
            .sort_by_key(|entry| (entry.offset.is_none(), entry.offset));
        self.entries.truncate(KEPT);
    }

    /// True if nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
