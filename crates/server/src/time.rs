//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01 UTC.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, utoipa::ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = i64)]
pub struct Millis(pub i64);

impl Millis {
    /// Now, by the system's clock.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self(since.map_or(0, |since| since.as_millis() as i64))
    }

    /// The milliseconds from an earlier time to this one; 0 if it is not earlier.
    pub fn since(self, earlier: Self) -> u64 {
        u64::try_from(self.0 - earlier.0).unwrap_or(0)
    }
}
